"""Nested tensors on an emulated GPU: the strided layout, the jagged layout, and what torch makes of them by itself."""

from __future__ import annotations

import torch
from torch.nn import functional

SHAPES = ((5, 8), (3, 8))


def _parts(device: str) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [torch.randn(shape).to(device) for shape in SHAPES]


def test_a_strided_one_is_of_the_device_and_computes_what_the_cpu_computes() -> None:
    found = torch.nested.nested_tensor(_parts("cuda"))
    wanted = torch.nested.nested_tensor(_parts("cpu"))
    assert found.device.type == "cuda" and found.is_nested and found.size(0) == 2
    for step in (
        lambda x: x * 2,
        lambda x: functional.relu(x),
        lambda x: functional.linear(x, torch.ones(4, 8, device=x.device)),
    ):
        for mine, theirs in zip(step(found).unbind(), step(wanted).unbind(), strict=True):
            assert mine.device.type == "cuda"
            torch.testing.assert_close(mine.cpu(), theirs)
    padded = torch.nested.to_padded_tensor(found, 0.0)
    assert padded.shape == (2, 5, 8) and padded.device.type == "cuda" and not padded.is_nested
    assert found.cpu().device.type == "cpu" and wanted.cuda().device.type == "cuda"


def test_it_is_written_in_place_in_the_same_memory() -> None:
    nested = torch.nested.nested_tensor(_parts("cuda"))
    values = nested.values()
    nested.mul_(0)
    assert values.abs().sum().item() == 0 and values.data_ptr() == nested.data_ptr()


def test_its_backward_pass() -> None:
    parts = [part.requires_grad_() for part in _parts("cuda")]
    torch.nested.to_padded_tensor(torch.nested.as_nested_tensor(parts), 0.0).square().sum().backward()
    for part in parts:
        torch.testing.assert_close(part.grad, 2 * part.detach())


def test_the_encoder_of_a_transformer_makes_one_of_a_padding_mask() -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2).eval()
    x, mask = torch.randn(2, 4, 16), torch.tensor([[False, False, False, True], [False, False, True, True]])
    with torch.no_grad():
        wanted = model(x, src_key_padding_mask=mask)
        found = model.cuda()(x.cuda(), src_key_padding_mask=mask.cuda())
    torch.testing.assert_close(found.cpu(), wanted, atol=1e-5, rtol=1e-5)


def test_attention_over_the_jagged_layout() -> None:
    def attended(device: str) -> torch.Tensor:
        parts = [part.view(-1, 2, 4) for part in _parts(device)]
        q = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
        heads = q.transpose(1, 2)
        out = functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2)
        out.values().sum().backward()
        assert q.grad is not None and q.grad.device.type == device
        return out.values()

    torch.testing.assert_close(attended("cuda").cpu(), attended("cpu"), atol=1e-5, rtol=1e-5)
