"""Graph capture as the last step of level aggressive, with a stand-in for the device's graphs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch

from kernel_pytorch.backends import graphs
from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.backends.amd.rewrites import ALL_REWRITES, graph_capture
from kernel_pytorch.backends.graph_recorder import Recording, RecordingFailed

from .models import ConvNet, Remembering, TiedTransformer

IDS = torch.randint(32, (2, 6))
ALWAYS = replace(graph_capture.REWRITE, available=lambda model, job: None, only_if_faster=False)


class Tape:
    """Records by remembering the function, and runs it again to replay."""

    fails = False

    def record(self, function: Any, args: Any, kwargs: Any, warm_up: int) -> Recording:
        if self.fails:
            raise RecordingFailed("RuntimeError: a synchronisation")
        outputs = function(*args, **kwargs)
        return Recording(lambda: outputs.copy_(function(*args, **kwargs)), outputs)

    def turn(self) -> Any:
        return nullcontext()


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tape]:
    made = Tape()
    monkeypatch.setattr(graphs, "one_gpu", lambda tensors, modules: torch.device("cpu"))
    monkeypatch.setattr(graphs, "shared_pool", lambda device: made)
    yield made


def optimized(model: Any, example: Any, **options: Any) -> dict[str, Any]:
    optimizer = AMDOptimizer(rewrites=[*ALL_REWRITES[:-1], ALWAYS])
    optimizer.optimize(model, "aggressive", example, **options)
    return optimizer.get_optimization_summary()


@pytest.mark.parametrize(("make", "example"), [(TiedTransformer, IDS), (ConvNet, torch.randn(2, 3, 8, 8))])
def test_the_optimized_model_is_replayed(tape: Tape, make: Any, example: torch.Tensor) -> None:
    model = make().eval()
    keys = list(model.state_dict())
    with torch.no_grad():
        before = model(example)
        summary = optimized(model, example)
        assert summary["optimizations_applied"][-1]["name"] == "graph capture"
        captured = model._compiled_call_impl
        count = captured.replays
        torch.testing.assert_close(model(example), before, rtol=1e-4, atol=1e-5)
        assert captured.replays == count + 1 and list(model.state_dict()) == keys
        next(model.parameters()).mul_(1.5)
        twin = make().eval()
        twin.load_state_dict(model.state_dict())
        torch.testing.assert_close(model(example), twin(example), rtol=1e-4, atol=1e-5)
        duplicate = copy.deepcopy(model)
        assert duplicate._compiled_call_impl is None, "a copy has weights of its own"
        torch.testing.assert_close(duplicate(example), twin(example), rtol=1e-4, atol=1e-5)


def test_training_goes_on_after_it(tape: Tape) -> None:
    model = TiedTransformer().eval()
    optimized(model, IDS)
    model.train()
    loss = model(IDS).sum()
    loss.backward()
    assert all(item.grad is not None for item in model.parameters())


@pytest.mark.parametrize("make", [Remembering, TiedTransformer])
def test_a_model_no_graph_can_stand_for_is_left_without_one(tape: Tape, make: Any) -> None:
    tape.fails = make is TiedTransformer
    model = make().eval()
    example = IDS if make is TiedTransformer else torch.randn(2, 16)
    (undone,) = [item for item in optimized(model, example)["optimizations_undone"] if item["name"] == "graph capture"]
    reason = "a synchronisation" if tape.fails else "changes its attribute 'last'"
    assert undone["reason"].startswith("without effect: ") and reason in undone["reason"]
    assert model._compiled_call_impl is None


def test_when_it_is_not_tried() -> None:
    def reason(model: Any, **options: Any) -> str:
        optimizer = AMDOptimizer()
        optimizer.optimize(model, "aggressive", IDS, measure=True, **options)
        found = optimizer.get_optimization_summary()["optimizations_not_applied"]
        return next(item["reason"] for item in found if item["name"] == "graph capture")

    assert reason(TiedTransformer().eval()) == "graphs need the model on a GPU"
    assert reason(TiedTransformer().train()) == "the model is in train mode: graphs are for inference"
    assert reason(TiedTransformer().eval(), graphs=False) == "graphs=False was asked for"
