"""`optimize(model)` without an example: what can be proven part by part is done, the rest is left alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.rewrites import norm_folding
from kernel_pytorch.models.rewrites.joint_linear import JointLinear, JointWeights

from .models import ConvNet, TiedTransformer


def optimized(model: nn.Module, level: str = "balanced", **options: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    optimizer = AMDOptimizer(**options)
    assert optimizer.optimize(model, level) is model
    return optimizer.get_optimization_summary()


def names(summary: dict[str, Any], key: str = "optimizations_applied") -> list[str]:
    return [item["name"] for item in summary[key]]


def with_statistics(model: nn.Module) -> nn.Module:
    """Batch norms that have seen data: without, folding is next to nothing."""
    torch.manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
            for parameter in module.parameters():
                nn.init.normal_(parameter)
    return model.eval()


def same_as_before(model: nn.Module, before: nn.Module, *inputs: Tensor) -> None:
    with torch.no_grad():
        torch.testing.assert_close(model(*inputs), before(*inputs), rtol=1e-4, atol=1e-5)


class TwoInputs(nn.Module):
    """Queries of one sequence, keys and values of another."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(8, 8)

    def forward(self, x: Tensor, memory: Tensor, scale: float = 0.5) -> Tensor:
        weights = self.drop((self.q(x) @ self.k(memory).transpose(-1, -2) * scale).softmax(-1))
        return self.out(weights @ self.v(memory))


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.layer(x))
        return self.left(x) + self.right(x)


def test_a_conv_net() -> None:
    model = with_statistics(ConvNet())
    before = copy.deepcopy(model)
    summary = optimized(model)
    assert names(summary) == ["dropout removal", "batch norm folding"] and summary["optimizations_undone"] == []
    folded = summary["optimizations_applied"][1]
    assert folded["checked"] is True and folded["effect_is"] == "expected" and 0 < folded["largest_difference"] < 1e-4
    assert summary["checked_with"].startswith("random data of each rewritten part's own shapes")
    for size in (8, 12):
        same_as_before(model, before, torch.randn(2, 3, size, size))


def test_folded_weights_are_used() -> None:
    model = with_statistics(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.1)))
    before = copy.deepcopy(model)
    calls: list[str] = []
    assert names(optimized(model)) == ["dropout removal", "batch norm folding"]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        same_as_before(model, copy.deepcopy(model), torch.randn(1, 3, 5, 5))
    calls += [item.key for item in profile.key_averages()]
    assert not any("batch_norm" in call for call in calls)
    same_as_before(model, before, torch.randn(1, 3, 5, 5))


def test_a_model_that_begins_with_an_embedding() -> None:
    model = TiedTransformer(0.1).eval()
    before = copy.deepcopy(model)
    summary = optimized(model)
    assert names(summary) == ["dropout removal", "projection fusion"]
    assert len(summary["optimizations_applied"][1]["where"]) == 4  # q, k, v and gate, up of both blocks
    reasons = {item["name"]: item["reason"] for item in summary["optimizations_not_applied"]}
    assert reasons["attention"] == "needs example_inputs to be checked by"
    same_as_before(model, before, torch.randint(32, (2, 6)))


def test_a_model_with_two_inputs() -> None:
    model = TwoInputs().eval()
    before = copy.deepcopy(model)
    summary = optimized(model)
    assert names(summary) == ["dropout removal", "projection fusion"]
    assert summary["optimizations_applied"][1]["where"] == ["k, v"]
    assert isinstance(model.k, JointLinear) and type(model.q) is nn.Linear
    x, memory = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    same_as_before(model, before, x, memory)
    with torch.no_grad():  # calls of other kinds take the model's own forward
        torch.testing.assert_close(model(x, memory, 2.0), before(x, memory, 2.0))
        torch.testing.assert_close(model(x, memory=memory), before(x, memory=memory))


def test_training_switches_everything_back() -> None:
    model = with_statistics(ConvNet())
    before = copy.deepcopy(model)
    optimized(model)
    for one in (model, before):
        one.train()
        one.dropout.p = 0.0
    torch.testing.assert_close(model(torch.ones(2, 3, 8, 8)), before(torch.ones(2, 3, 8, 8)))


class DependsOnValues(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv1d(2, 2, 3), nn.BatchNorm1d(2), nn.Dropout()

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.norm(self.conv(x))) if x.sum() > 0 else x


class AsksForTypes(DependsOnValues):
    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.norm(self.conv(x))) if isinstance(x, Tensor) else x


class AsksForTypesElsewhere(DependsOnValues):
    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.norm(self.conv(first_of(x))))


def first_of(x: Any) -> Any:
    return x if isinstance(x, Tensor) else x[0]


class SwitchesGradients(DependsOnValues):
    def forward(self, x: Tensor) -> Tensor:
        return self.drop(in_double(self.norm, self.conv(x)))


def in_double(function: Any, x: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return function(x)


class Counts(DependsOnValues):
    seen: list[int] = []  # noqa: RUF012

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(1)
        return self.drop(self.norm(self.conv(x))) * len(self.seen)


class Catches(DependsOnValues):
    def forward(self, x: Tensor) -> Tensor:
        try:
            count = int(x.sum())
        except Exception:
            count = 0
        return self.drop(self.norm(self.conv(x))) * count


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (DependsOnValues, "control flow"),
        (AsksForTypes, "asks for the type"),
        (AsksForTypesElsewhere, "asks for the type"),
        (SwitchesGradients, "autocast"),
        (Counts, "something else each time"),
        (Catches, "`with` or a `try`"),
    ],
)
def test_a_model_that_cannot_be_traced_is_left_alone_and_says_why(kind: type[nn.Module], reason: str) -> None:
    model = kind().eval()
    state = {name: set(module.__dict__) for name, module in model.named_modules()}
    summary = optimized(model)
    assert names(summary) == [] and summary["optimizations_undone"] == []
    (why,) = [item for item in summary["optimizations_not_applied"] if item["name"] == "tracing"]
    assert reason in why["reason"] and why["where"] == "the model"
    assert {name: set(module.__dict__) for name, module in model.named_modules()} == state


def test_blocks_of_a_model_that_cannot_be_traced_are_still_rewritten() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = with_statistics(Gate())

        def forward(self, x: Tensor) -> Tensor:
            return self.block(x) if x.sum() > 0 else -self.block(x)

    model = Outer().eval()
    before = copy.deepcopy(model)
    assert names(optimized(model)) == ["batch norm folding", "projection fusion"]
    same_as_before(model, before, torch.randn(3, 4) - 5)


def test_a_fault_in_folding_is_caught_by_the_proof_of_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    real = norm_folding.fold

    def wrong(layer: Any, norm: Any) -> tuple[Any, Any]:
        weight, bias = real(layer, norm)
        return weight, bias * 1.01

    model = with_statistics(ConvNet())
    before = copy.deepcopy(model)
    monkeypatch.setattr(norm_folding, "fold", wrong)
    summary = optimized(model)
    assert names(summary) == ["dropout removal"] and names(summary, "optimizations_undone") == ["batch norm folding"]
    assert "differs by" in summary["optimizations_undone"][0]["reason"]
    same_as_before(model, before, torch.randn(2, 3, 8, 8))


@pytest.mark.parametrize("fault", ["order", "values"])
def test_a_fault_in_joining_is_caught_by_the_proof_of_the_part(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = JointWeights.join

    def wrong(self: JointWeights) -> None:
        real(self)
        if fault == "order" and self.weight is not None:
            self.weight = self.weight.flip(0)
        for layer in self.layers if fault == "values" else ():
            layer.weight.data *= 1.001

    model = TwoInputs().eval()
    monkeypatch.setattr(JointWeights, "join", wrong)
    summary = optimized(model)
    assert names(summary, "optimizations_undone") == ["projection fusion"]
    assert all(type(layer) is nn.Linear for layer in (model.q, model.k, model.v))


def test_a_rewrite_that_brings_no_part_is_not_trusted() -> None:
    def edit(traced: TracedForward) -> list[Change]:
        return [Change(traced.where or "the model", "nothing at all")]

    unproven = Rewrite("unproven", "conservative", "none", edit=edit, is_local=True)
    summary = optimized(with_statistics(ConvNet()), rewrites=[unproven])
    assert names(summary) == [] and "no part" in summary["optimizations_undone"][0]["reason"]


def test_without_permission_to_fuse_only_dropout_goes() -> None:
    from kernel_pytorch.core.config import AMDConfig

    summary = optimized(with_statistics(ConvNet()), config=AMDConfig(enable_operator_fusion=False))
    assert names(summary) == ["dropout removal"]
