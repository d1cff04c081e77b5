"""Weights in 8 and 4 bits as rungs, by the operator's plain form on the CPU: opt-in, accuracy shown, faults found."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.ledger import KEPT, NOT_TRIED, ROLLED_BACK
from kernel_pytorch.perf.ladder.optimize import optimize
from kernel_pytorch.perf.ladder.rung import ModelRung
from kernel_pytorch.perf.ladder.rungs import narrow_weights
from kernel_pytorch.perf.narrow import launch, linear
from kernel_pytorch.perf.narrow.formats import INT4, Narrow, narrowed
from kernel_pytorch.perf.narrow.linear import NarrowLinear
from tests.perf.ladder.made import FakeMeasure

RUNGS = {one.name.removesuffix("_weights"): one for one in narrow_weights.RUNGS}
SMALL = {"smallest": 1, "format": "float8_e4m3fn"}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(256, 256), nn.Linear(256, 256, bias=False)
        self.odd, self.last = nn.Linear(256, 200), nn.Linear(200, 48)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.odd(x + self.second(torch.relu(self.first(x)))))


@pytest.fixture
def model() -> nn.Module:
    """Rows of different sizes, so that the scale of another one shows."""
    torch.manual_seed(0)
    made = Net()
    for one in made.parameters():
        one.data *= torch.rand(one.shape[0], *[1] * (one.dim() - 1)) + 0.5
    return made.bfloat16().eval()


@pytest.fixture
def inputs() -> Inputs:
    return Inputs((torch.randn(2, 3, 256).bfloat16(),), {})


def on_cpu(kind: str, **changes: Any) -> ModelRung:
    """The rung without the question which GPU it is."""
    found = {"choices": lambda model, inputs, kept: (SMALL,), "find": lambda model, inputs: "all", **changes}
    return replace(RUNGS[kind], **found)


def climbed(model: nn.Module, inputs: Inputs, rung: ModelRung, allow: set[str]) -> Any:
    result = optimize(model, inputs.args, ladder=(rung,), measure=FakeMeasure(), budget_s=120, allow=allow)
    return result.ledger.entry(rung.name)


@pytest.mark.parametrize("kind", RUNGS)
def test_kept_with_its_accuracy_and_only_where_it_is_asked_for(kind: str, model: nn.Module, inputs: Inputs) -> None:
    untouched = climbed(model, inputs, on_cpu(kind), set())
    assert untouched.outcome == NOT_TRIED and f"{kind}-weights" in untouched.reason
    other = climbed(model, inputs, on_cpu(kind), {"fp8"})
    assert other.outcome == NOT_TRIED  # 8 bits for inputs is another permission
    kept = climbed(model, inputs, on_cpu(kind), {f"{kind}-weights"})
    assert kept.outcome == KEPT, kept.reason
    assert "apart from the original's (root mean square)" in kept.reason


def test_the_head_and_what_does_not_fit_stay(model: nn.Module, inputs: Inputs) -> None:
    assert narrow_weights.taken(model, "int8", 1) == ("first", "second", "odd")
    wide = nn.Sequential(nn.Linear(200, 64), nn.Linear(256, 64), nn.Linear(64, 2)).half()
    assert narrow_weights.taken(wide, "int4", 1) == ("1",)
    tree = RUNGS["int4"].apply(model, inputs, SMALL)
    assert {path for path, one in tree.named_modules() if isinstance(one, NarrowLinear)} == {"first", "second", "odd"}
    assert not any(isinstance(one, NarrowLinear) for one in model.modules())
    assert list(tree.state_dict()) == list(model.state_dict()) and tree.first.weight is model.first.weight


def test_many_rows_are_multiplied_by_the_weight_as_it_is(model: nn.Module, inputs: Inputs) -> None:
    tree = RUNGS["int4"].apply(model, inputs, SMALL)
    many, few = torch.randn(17, 256).bfloat16(), torch.randn(16, 256).bfloat16()
    with torch.no_grad():
        assert torch.equal(tree(many), model(many))
        assert not torch.equal(tree(few), model(few))


def test_where_it_does_not_apply(monkeypatch: pytest.MonkeyPatch, model: nn.Module, inputs: Inputs) -> None:
    with pytest.raises(NotApplicable, match="not on a GPU"):
        RUNGS["int8"].find(model, inputs)
    monkeypatch.setattr(narrow_weights, "vendor_of", lambda model: "amd")
    monkeypatch.setattr(narrow_weights, "SMALLEST", 1)
    monkeypatch.setattr(narrow_weights.taken, "__defaults__", (1,))
    assert "3 linear layers with weights in int8" in RUNGS["int8"].find(model, inputs)
    with pytest.raises(NotApplicable, match="16 rows or fewer"):
        RUNGS["int8"].find(model, Inputs((torch.randn(64, 256).bfloat16(),), {}))
    with pytest.raises(NotApplicable, match="float32"):
        RUNGS["int8"].find(Net().eval(), inputs)
    with pytest.raises(NotApplicable, match="200 columns"):
        RUNGS["int4"].find(nn.Sequential(nn.Linear(200, 64), nn.Linear(64, 2)).half().eval(), inputs)
    with pytest.raises(NotApplicable, match="train mode"):
        RUNGS["int8"].find(model.train(), inputs)


# -- planted faults


def wrong_scale(weight: torch.Tensor, kind: str, fp8: Any = None) -> Narrow:
    made = narrowed(weight, kind, fp8)
    scales = made.scales.clone()
    scales.view(scales.shape[0], -1)[3, -1] *= 1.2
    return replace(made, scales=scales)


def other_group(weight: torch.Tensor, kind: str, fp8: Any = None) -> Narrow:
    made = narrowed(weight, kind, fp8)
    return replace(made, scales=made.scales.roll(1, -1))


def other_half(weight: torch.Tensor, kind: str, fp8: Any = None) -> Narrow:
    made = narrowed(weight, kind, fp8)
    return replace(made, bits=(made.bits >> 4) | (made.bits << 4))


@pytest.mark.parametrize(
    ("kind", "fault"),
    [(kind, wrong_scale) for kind in RUNGS] + [(kind, other_group) for kind in RUNGS] + [(INT4, other_half)],
)
def test_bits_that_are_not_the_weight_are_found(
    monkeypatch: pytest.MonkeyPatch, model: nn.Module, inputs: Inputs, kind: str, fault: Any
) -> None:
    monkeypatch.setattr(linear, "narrowed", fault)
    found = climbed(model, inputs, on_cpu(kind), {f"{kind}-weights"})
    assert found.outcome == ROLLED_BACK and "times as far from the original" in found.reason


def product_with(change: Any) -> Any:
    """The operator with a fault in what it multiplies."""

    def product(x: Any, bits: Any, scales: Any, bias: Any, kind: str) -> Any:
        return launch.plainly(x, *change(bits, scales), bias, kind)

    return SimpleNamespace(product=product)


KERNEL_FAULTS = {
    "a scale of a neighbour": lambda bits, scales: (bits, scales.roll(1, -1)),
    "halves in the other order": lambda bits, scales: ((bits >> 4) | (bits << 4), scales),
    "a scale too large by a twentieth": lambda bits, scales: (bits, scales * 1.05),
    "the last group left out": lambda bits, scales: (bits, scales * (torch.arange(scales.shape[-1]) < 1)),
}


@pytest.mark.parametrize("fault", KERNEL_FAULTS)
def test_a_kernel_that_multiplies_other_bits_is_found(
    monkeypatch: pytest.MonkeyPatch, model: nn.Module, inputs: Inputs, fault: str
) -> None:
    launch.register()
    monkeypatch.setattr(torch.ops, "kpt_narrow", product_with(KERNEL_FAULTS[fault]))
    found = climbed(model, inputs, on_cpu(INT4), {"int4-weights"})
    assert found.outcome == ROLLED_BACK and "WrongWeights" in found.reason, found.reason
