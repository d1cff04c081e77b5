"""torch.compile as a step: when it is taken, with which settings, and that rewritten models stay compilable."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.backends.amd import optimizer as optimizer_module
from kernel_pytorch.backends.amd.rewrites import compiled
from kernel_pytorch.models import in_place
from kernel_pytorch.models.clock.in_turns import Comparison
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.rewrites import dropout_removal, norm_folding

from .models import ConvNet, GatedMLP, TiedTransformer


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Settings that reached torch.compile; a back end without code generation stands in for Inductor."""
    seen: list[dict[str, Any]] = []
    real = torch.compile

    def compile_(function: Any, **settings: Any) -> Any:
        seen.append(settings)
        return real(function, backend="eager")

    monkeypatch.setattr(torch, "compile", compile_)
    return seen


@pytest.mark.parametrize(
    ("make", "example"),
    [(ConvNet, torch.randn(2, 3, 8, 8)), (TiedTransformer, torch.randint(32, (2, 6)))],
)
@pytest.mark.parametrize("training", [False, True])
def test_a_rewritten_model_compiles_in_one_graph(make: Any, example: torch.Tensor, training: bool) -> None:
    torch._dynamo.reset()
    model = make().train(training)
    AMDOptimizer().optimize(model, "balanced", example)
    assert any("forward" in module.__dict__ for module in model.modules()) or (make is ConvNet and training)
    with torch.no_grad():
        if training:
            for module in model.modules():
                if isinstance(module, nn.Dropout):
                    module.p = 0.0
        expected = model(example)
        result = torch.compile(model, backend="eager", fullgraph=True)(example)
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)


def test_compiling_a_folded_model_is_compiling_the_original() -> None:
    """Weights folded inside a compiled graph would be folded anew on every call."""

    def operations(model: Any) -> list[str]:
        torch._dynamo.reset()
        seen: list[str] = []

        def backend(graph: Any, inputs: Any) -> Any:
            seen.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
            return graph.forward

        torch.compile(model, backend=backend)(example)
        return seen

    example = torch.randn(2, 3, 8, 8)
    model = ConvNet().eval()
    with torch.no_grad():
        before = operations(model)
        optimizer = AMDOptimizer()
        optimizer.optimize(model, "balanced", example)
        names = [item["name"] for item in optimizer.get_optimization_summary()["optimizations_applied"]]
        assert "batch norm folding" in names
        after = operations(model)
    assert [item for item in before if "dropout" not in item] == after


@pytest.mark.parametrize("slower", [False, True])
def test_steps_that_slow_the_compiled_model_are_taken_back(
    asked: list[dict[str, Any]], slower: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch._dynamo.reset()
    example, timed = torch.randn(2, 3, 8, 8), []

    def compare(model: nn.Module, inputs: Inputs, switch: Any) -> Comparison:
        states = []
        for on in (False, True):
            switch(on)
            inputs.call(model)
            states.append(sum("forward" in module.__dict__ for module in model.modules()))
        timed.append(states)
        again = len(timed) == 4  # dropout removal, folding, compile, and then the first two once more
        ratio, verdict = (1.3, "slower") if again and slower else (0.5, "faster")
        return Comparison(1.0, ratio, ratio, None, None, verdict, 10)

    monkeypatch.setattr(in_place, "compare_states", compare)
    model = ConvNet().eval()
    with torch.no_grad():
        expected = model(example)
    optimizer = AMDOptimizer(rewrites=[dropout_removal.REWRITE, norm_folding.REWRITE, compiled.REWRITE])
    optimizer.optimize(model, "balanced", example, compile=True, measure=True)
    summary = optimizer.get_optimization_summary()
    applied = [item["name"] for item in summary["optimizations_applied"]]
    assert len(timed) == 4 and timed[3][0] == 0 < timed[3][1], "all off, all on"
    assert applied == (["compile"] if slower else ["dropout removal", "batch norm folding", "compile"])
    assert bool(summary["fused_operations"]) is not slower
    assert any("forward" in module.__dict__ for module in model.modules()) is not slower
    reasons = [item["reason"] for item in summary["optimizations_undone"]]
    assert all("slower with compile" in reason for reason in reasons) and len(reasons) == (2 if slower else 0)
    assert model._compiled_call_impl is not None
    with torch.no_grad():
        torch.testing.assert_close(model(example), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_compiled_when_asked_and_compared(asked: list[dict[str, Any]], training: bool) -> None:
    torch._dynamo.reset()
    model, example = TiedTransformer(0.1).train(training), torch.randint(32, (2, 6))
    optimizer = AMDOptimizer()
    optimizer.optimize(model, "balanced", example, compile=True)
    applied = optimizer.get_optimization_summary()["optimizations_applied"]
    assert applied[-1]["name"] == "compile" and applied[-1]["checked"] and asked == [{}]
    assert model._compiled_call_impl is not None and model.training is training
    assert list(model.state_dict()) == list(TiedTransformer().state_dict())


@pytest.mark.parametrize(("level", "searches"), [("balanced", False), ("aggressive", True)])
def test_settings_on_rocm_capture_no_graphs(
    asked: list[dict[str, Any]], level: str, searches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch._dynamo.reset()
    monkeypatch.setattr(optimizer_module, "is_rocm", lambda: True)
    AMDOptimizer().optimize(GatedMLP().eval(), level, torch.randn(2, 16), compile=True)
    (settings,) = asked
    options = settings.get("options", {})
    assert "mode" not in settings and options.get("triton.cudagraphs", False) is False
    assert options.get("max_autotune", False) is searches


def test_a_graph_capturing_mode_on_rocm_is_refused_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer_module, "is_rocm", lambda: True)
    optimizer, model = AMDOptimizer(), GatedMLP().eval()
    optimizer.optimize(model, "balanced", torch.randn(2, 16), compile="reduce-overhead")
    undone = optimizer.get_optimization_summary()["optimizations_undone"]
    assert undone[0]["name"] == "compile" and "unreliable on ROCm" in undone[0]["reason"]
    assert model._compiled_call_impl is None


def test_a_compiler_that_fails_is_taken_off_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(function: Any, **settings: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("the compiler crashed")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    optimizer, model = AMDOptimizer(), GatedMLP().eval()
    optimizer.optimize(model, "balanced", torch.randn(2, 16), compile=True)
    undone = optimizer.get_optimization_summary()["optimizations_undone"]
    assert undone[0]["name"] == "compile" and "the compiler crashed" in undone[0]["reason"]
    assert model(torch.randn(2, 16)).shape == (2, 16)
