"""Attention by hand, repeated keys and values, causal masks and casts: found in models of many structures."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.rewrites.dtype_copies import weight_as
from kernel_pytorch.models.rewrites.repeat_kv import grouped_attention
from kernel_pytorch.perf.ladder.rungs.surgery import RUNGS

from .checks import check_tree, compiled_calls, farthest, outputs, refereed
from .models import Buffered, Decoder, GrowingCache, Interleaved

SDPA = functional.scaled_dot_product_attention
BY_NAME = {rung.name: rung for rung in RUNGS}


def climbed(model: nn.Module, inputs: Inputs, *names: str) -> nn.Module:
    for name in names:
        assert BY_NAME[name].find(model, inputs)
        model = BY_NAME[name].apply(model, inputs, {})
    return model


def ids(**more: Any) -> Inputs:
    torch.manual_seed(1)
    return Inputs((), {"input_ids": torch.randint(0, 50, (2, 12)), **more})


def padded() -> Inputs:
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 7:] = 0
    return ids(attention_mask=mask)


@pytest.mark.parametrize("inputs", [ids(), padded(), ids(past_key_values=GrowingCache())])
def test_attention_behind_an_interface_becomes_sdpa_without_repeats(inputs: Inputs) -> None:
    model = Decoder().eval()
    tree = climbed(model, inputs, "qkv_fusion", "gate_up_fusion", "sdpa", "repeat_kv")
    check_tree(model, tree, inputs, trains=not inputs.kwargs.get("past_key_values"))
    called = compiled_calls(tree, ids())[1] if len(inputs.kwargs) == 1 else []
    assert not called or (SDPA in called and functional.softmax not in called and "expand" not in called)


def test_it_trains_with_dropout() -> None:
    model, inputs = Decoder(dropout=0.5).train(), ids()
    tree = climbed(model, inputs, "sdpa")
    torch.manual_seed(0)
    one = inputs.call(tree).logits
    two = inputs.call(tree).logits
    assert farthest([one], [two]) > 1e-3
    assert tree.eval() is tree and farthest(outputs(tree, inputs), refereed(model.eval(), inputs)) < 1e-5


def test_a_hook_that_wants_the_attention_weights_gets_them() -> None:
    model, inputs = Decoder().eval(), ids()
    tree: Any = climbed(model, inputs, "sdpa")
    seen = []
    tree.blocks[0].attention.register_forward_hook(lambda module, args, output: seen.append(output[1]))
    assert farthest(outputs(tree, inputs), refereed(model, inputs)) < 1e-5
    assert seen[0].shape == (2, 4, 12, 12)


class KeepsWeights(nn.Module):
    """Attention weights that are used: returned by the model, added up, or kept in an attribute."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.decoder = way, Decoder()
        self.kept: Tensor | None = None

    def forward(self, x: Tensor) -> Any:
        tables = (torch.ones(1, 1, x.shape[1], 8), torch.zeros(1, 1, x.shape[1], 8))
        y, weights = self.decoder.blocks[0].attention(x, tables=tables)
        if self.way == "kept":
            self.kept = weights
        return (y, weights) if self.way == "returned" else y + weights.sum() if self.way == "added" else y


@pytest.mark.parametrize("way", ["returned", "added", "kept"])
def test_attention_weights_that_are_used_stay(way: str) -> None:
    with pytest.raises(NotApplicable, match="also used elsewhere"):
        climbed(KeepsWeights(way).eval(), Inputs((torch.randn(2, 6, 32),)), "sdpa")


def test_a_soft_cap_is_not_what_sdpa_computes() -> None:
    class Capped(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            scores = torch.tanh(q @ k.transpose(-2, -1) / 8.0) * 8.0
            return torch.softmax(scores, dim=-1) @ v

    with pytest.raises(NotApplicable, match="no attention that is written by hand"):
        climbed(Capped(), Inputs(tuple(torch.randn(3, 2, 4, 5, 8).unbind(0))), "sdpa")


def test_a_causal_buffer_becomes_a_flag_for_the_shapes_it_was_seen_with() -> None:
    model = Buffered().eval()
    inputs = Inputs((torch.randint(0, 50, (2, 12)),))
    tree = climbed(model, inputs, "sdpa", "causal_mask")
    check_tree(model, tree, inputs)
    assert "masked_fill" not in compiled_calls(tree, inputs)[1]
    longer = Inputs((torch.randint(0, 50, (3, 20)),))
    assert farthest(outputs(tree, longer), refereed(model, longer)) < 1e-5


def test_a_mask_from_the_inputs_is_never_taken_for_causal() -> None:
    class Masked(nn.Module):
        def forward(self, q: Tensor, mask: Tensor) -> Tensor:
            return SDPA(q, q, q, attn_mask=mask)

    q, mask = torch.randn(1, 2, 6, 8), torch.ones(6, 6, dtype=torch.bool).tril()
    with pytest.raises(NotApplicable, match="made from constants"):
        climbed(Masked(), Inputs((q, mask)), "causal_mask")


@pytest.mark.parametrize("interleave", [True, False])
def test_repeats_are_found_however_they_are_written(interleave: bool) -> None:
    model, inputs = Interleaved(interleave).eval(), Inputs((torch.randint(0, 50, (2, 12)),))
    tree = climbed(model, inputs, "repeat_kv")
    check_tree(model, tree, inputs)
    other = Inputs((torch.randint(0, 50, (1, 17)),))
    assert farthest(outputs(tree, other), refereed(model, other)) < 1e-5
    called = compiled_calls(tree, inputs)[1]
    assert "repeat_interleave" not in called and "expand" not in called


@pytest.mark.parametrize("length", [1, 5, 20])
@pytest.mark.parametrize("kind", ["none", "causal", "row", "square", "additive", "heads"])
def test_grouped_attention_is_attention_over_repeats(kind: str, length: int) -> None:
    torch.manual_seed(2)
    q, k, v = torch.randn(2, 6, length, 8), torch.randn(2, 2, 20, 8), torch.randn(2, 2, 20, 8)
    masks: dict[str, Tensor] = {
        "row": torch.rand(2, 1, 1, 20) > 0.3,
        "square": torch.rand(length, 20) > 0.3,
        "additive": torch.randn(2, 1, length, 20),
        "heads": torch.randn(2, 6, length, 20),
    }
    mask, is_causal = masks.get(kind), kind == "causal"
    wide = [item.repeat_interleave(3, dim=1).double() for item in (k, v)]
    bias = mask.double() if mask is not None and mask.is_floating_point() else mask
    expected = SDPA(q.double(), *wide, attn_mask=bias, is_causal=is_causal, scale=0.2)
    got = grouped_attention(q, k, v, mask, is_causal=is_causal, scale=0.2)
    assert (got.double() - expected).abs().max() < 1e-5


class Casts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8))

    def forward(self, x: Tensor) -> Tensor:
        y = x.float().transpose(0, 1).to(torch.bfloat16)
        return functional.linear(y, self.weight.to(torch.bfloat16)) + (x.float() + x.float() * 2).to(x.dtype).t()


def test_casts_without_need_go_bit_for_bit() -> None:
    model, inputs = Casts().eval(), Inputs((torch.randn(8, 8).bfloat16(),))
    tree = climbed(model, inputs, "dtype_copies")
    assert torch.equal(outputs(tree, inputs)[0], outputs(model, inputs)[0])
    what = BY_NAME["dtype_copies"].find(model, inputs)
    assert "and back" in what and "second cast" in what and "not in every call" in what
    with torch.no_grad():
        model.weight.mul_(2)
    assert torch.equal(outputs(tree, inputs)[0], outputs(model, inputs)[0])
    called = compiled_calls(tree, inputs)[1]
    assert called.count("float") == 1


def test_a_cast_weight_is_kept_until_it_changes_and_lets_gradients_through() -> None:
    weight = nn.Parameter(torch.randn(4))
    with torch.no_grad():
        first = weight_as(weight, torch.half)
        assert weight_as(weight, torch.half) is first
        weight.add_(1)
        assert torch.equal(weight_as(weight, torch.half), weight.half())
    assert weight_as(weight, torch.half).requires_grad
