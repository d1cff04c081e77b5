"""The xformers and padding adapters against what their libraries define."""

from __future__ import annotations

import pytest
import torch

from kernel_pytorch.port.templates import rocm_padding as padding
from kernel_pytorch.port.templates import rocm_xformers as xformers


def by_hand(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor, scale: float) -> torch.Tensor:
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale + bias
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


def test_layout_bias_and_scale() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 5, 3, 8), torch.randn(2, 7, 3, 8), torch.randn(2, 7, 3, 8)
    bias = torch.randn(2, 3, 5, 7)
    out = xformers.memory_efficient_attention(q, k, v, bias, scale=0.3)
    torch.testing.assert_close(out, by_hand(q, k, v, bias, 0.3))
    single = xformers.memory_efficient_attention(q[:, :, 0], k[:, :, 0], v[:, :, 0], bias[:, 0], scale=0.3)
    torch.testing.assert_close(single, by_hand(q[:, :, :1], k[:, :, :1], v[:, :, :1], bias[:, :1], 0.3)[:, :, 0])


def test_lower_triangular_is_top_left() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 3, 2, 8), torch.randn(1, 5, 2, 8), torch.randn(1, 5, 2, 8)
    bias = torch.full((3, 5), float("-inf")).triu(1)
    out = xformers.memory_efficient_attention(q, k, v, attn_bias=xformers.LowerTriangularMask())
    torch.testing.assert_close(out, by_hand(q, k, v, bias, 8**-0.5))


def test_other_masks_are_refused_by_name() -> None:
    class BlockDiagonalMask:
        pass

    x = torch.zeros(1, 2, 1, 8)
    with pytest.raises(NotImplementedError, match="BlockDiagonalMask"):
        xformers.memory_efficient_attention(x, x, x, attn_bias=BlockDiagonalMask())
    with pytest.raises(NotImplementedError, match="grouped heads"):
        xformers.memory_efficient_attention(x[None], x[None], x[None])


def test_unpad_and_pad_are_inverse_and_differentiable() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 4, 2, 5, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]])
    tokens, indices, ends, longest, used = padding.unpad_input(x, mask)
    assert tokens.shape == (7, 2, 5) and ends.tolist() == [0, 2, 6, 7] and ends.dtype is torch.int32
    assert longest == 4 and used.tolist() == [2, 4, 1]
    assert len(padding.unpad_input_of_four(x, mask)) == 4
    back = padding.pad_input(tokens, indices, 3, 4)
    torch.testing.assert_close(back, x * mask[:, :, None, None])
    back.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.ones_like(x) * mask[:, :, None, None])
