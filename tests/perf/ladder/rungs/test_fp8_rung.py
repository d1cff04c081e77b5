"""Linear layers in 8-bit floating point, by the CPU's _scaled_mm: opt-in, accuracy shown, faults still found."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.fp8.linear import Fp8Linear
from kernel_pytorch.perf.ladder.ledger import KEPT, NOT_TRIED, ROLLED_BACK
from kernel_pytorch.perf.ladder.optimize import optimize
from kernel_pytorch.perf.ladder.rung import ModelRung
from kernel_pytorch.perf.ladder.rungs import fp8
from tests.perf.ladder.made import FakeMeasure, model_rung, with_forward

OPTIONS = {"format": "float8_e4m3fn", "scales": "row", "by": "torch"}


class Net(nn.Module):
    """Two layers that fit, one with odd sizes, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.odd = nn.Linear(32, 64), nn.Linear(64, 24, bias=False)
        self.second, self.head = nn.Linear(24, 32), nn.Linear(32, 48)
        self.third = nn.Linear(32, 32, bias=False)
        self.last = nn.Linear(32, 48)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.second(torch.relu(self.odd(torch.relu(self.first(x)))))
        return self.last(x + self.third(x))


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return Net().bfloat16().eval()


@pytest.fixture
def inputs() -> Inputs:
    return Inputs((torch.randn(5, 7, 32).bfloat16(),), {})


def on_cpu(**changes: Any) -> ModelRung:
    """The rung without the question which GPU it is."""
    choices = {"choices": lambda model, inputs, kept: (OPTIONS,), "find": lambda model, inputs: "all", **changes}
    return replace(fp8.FP8_LINEAR, **choices)


def share_apart(model: nn.Module, inputs: Inputs, **options: str) -> float:
    changed = fp8.FP8_LINEAR.apply(model, inputs, {**OPTIONS, **options})
    with torch.no_grad():
        before, after = inputs.call(model).float(), inputs.call(changed).float()
    return float((after - before).pow(2).mean().sqrt() / before.pow(2).mean().sqrt())


def test_layers_that_fit_but_not_the_head(model: nn.Module, inputs: Inputs) -> None:
    assert fp8.taken(model) == ("first", "head", "third")
    changed = fp8.FP8_LINEAR.apply(model, inputs, OPTIONS)
    assert {path for path, one in changed.named_modules() if isinstance(one, Fp8Linear)} == {"first", "head", "third"}
    assert not any(isinstance(one, Fp8Linear) for one in model.modules())
    assert list(changed.state_dict()) == list(model.state_dict())
    assert changed.first.weight is model.first.weight


@pytest.mark.parametrize("form", ["float8_e4m3fn", "float8_e4m3fnuz"])
@pytest.mark.parametrize("scales", ["row", "tensor"])
def test_outputs_stay_near(model: nn.Module, inputs: Inputs, form: str, scales: str) -> None:
    assert 1e-4 < share_apart(model, inputs, format=form, scales=scales) < fp8.ALLOWED


def test_a_scale_for_each_row_stands_rows_of_other_sizes(model: nn.Module, inputs: Inputs) -> None:
    """Small numbers of one format beside large ones of the same tensor become zeros."""
    with torch.no_grad():
        inputs.args[0][0] *= 1e5
        inputs.args[0][1:] *= 1e-3
        small = Inputs((inputs.args[0][1:],), {})
        by_row = fp8.FP8_LINEAR.apply(model, inputs, OPTIONS)
        by_tensor = fp8.FP8_LINEAR.apply(model, inputs, {**OPTIONS, "scales": "tensor"})
        exact = small.call(model.first).float()
        off = [float((one.first(inputs.args[0])[1:].float() - exact).abs().max()) for one in (by_row, by_tensor)]
    assert off[0] < off[1]


def test_it_is_not_tried_without_being_asked_for(model: nn.Module, inputs: Inputs) -> None:
    result = optimize(model, inputs.args, ladder=(on_cpu(),), measure=FakeMeasure(), budget_s=60)
    assert result.ledger.entry("fp8_linear").outcome == NOT_TRIED
    assert "fp8" in result.ledger.entry("fp8_linear").reason


def test_kept_with_its_accuracy_and_what_comes_after_is_held_to_it(model: nn.Module, inputs: Inputs) -> None:
    same = model_rung("same", lambda tree, given, options: with_forward(tree, lambda y: y * 1.0))
    wrong = model_rung("wrong", lambda tree, given, options: with_forward(tree, lambda y: y * 1.2))
    settings = {"measure": FakeMeasure(), "budget_s": 120, "allow": {"fp8"}}
    result = optimize(model, inputs.args, ladder=(on_cpu(level=1), same, wrong), **settings)
    kept = result.ledger.entry("fp8_linear")
    assert kept.outcome == KEPT
    assert "apart from the original's (root mean square)" in kept.reason and "6% are allowed" in kept.reason
    assert result.ledger.entry("same").outcome == KEPT
    assert result.ledger.entry("wrong").outcome == ROLLED_BACK
    assert "wrong: outputs are" in result.ledger.entry("wrong").reason


def test_a_weight_that_is_off_is_found(model: nn.Module, inputs: Inputs) -> None:
    def off(tree: nn.Module, given: Inputs, options: Any) -> nn.Module:
        made = fp8.FP8_LINEAR.apply(tree, given, options)
        object.__setattr__(made.third, "narrow_scale", made.third.narrow_scale * 1.5)
        return made

    settings = {"measure": FakeMeasure(), "budget_s": 60, "allow": {"fp8"}}
    result = optimize(model, inputs.args, ladder=(on_cpu(apply=off),), **settings)
    assert result.ledger.entry("fp8_linear").outcome == ROLLED_BACK


@pytest.mark.parametrize(
    ("name", "expected"), [("gfx942:sramecc+", "float8_e4m3fnuz"), ("gfx950", "float8_e4m3fn"), ("gfx90a", "")]
)
def test_the_format_is_the_targets(
    monkeypatch: pytest.MonkeyPatch, model: nn.Module, inputs: Inputs, name: str, expected: str
) -> None:
    monkeypatch.setattr(fp8, "vendor_of", lambda model: "amd")
    monkeypatch.setattr(fp8, "_target_name", lambda model: name.partition(":")[0])
    if not expected:
        with pytest.raises(NotApplicable, match="gfx90a has no units for 8-bit"):
            fp8.FP8_LINEAR.find(model, inputs)
        return
    assert expected in fp8.FP8_LINEAR.find(model, inputs)
    assert [one["scales"] for one in fp8.FP8_LINEAR.choices(model, inputs, ())] == ["row", "tensor"]
    with pytest.raises(NotApplicable, match="train mode"):
        fp8.FP8_LINEAR.find(model.train(), inputs)


def test_aiters_operator_gets_rows_and_scales(
    monkeypatch: pytest.MonkeyPatch, model: nn.Module, inputs: Inputs
) -> None:
    """A stand-in with the arguments of aiter's gemm_a8w8_ck."""
    seen: list[Any] = []

    def gemm(rows: Any, weight: Any, x_scale: Any, w_scale: Any, out: Any, bias: Any, split: int) -> Any:
        seen.append((tuple(x_scale.shape), tuple(w_scale.shape)))
        result = (rows.float() * x_scale) @ (weight.float() * w_scale).t()
        return out.copy_(result if bias is None else result + bias.float())

    stand_in = SimpleNamespace(gemm_a8w8_ck=SimpleNamespace(default=gemm))
    monkeypatch.setattr(torch.ops, "aiter", stand_in, raising=False)
    monkeypatch.setattr(fp8, "_has_aiter", lambda: True)
    assert share_apart(model, inputs, by="aiter") < fp8.ALLOWED
    assert seen[0] == ((35, 1), (64, 1))
