"""The run level's training step: loss and gradients of an entry point, compared between the stood-in machines."""

from __future__ import annotations

from typing import Any

import torch

from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.core.findings import Status
from kernel_pytorch.verify.run_level import _judged
from kernel_pytorch.verify.stand_in_worker import _summary, _training_step


def answer(model: Any) -> dict[str, Any]:
    """What the worker says of one run."""
    torch.manual_seed(1)
    x = torch.randn(4, 8)
    with torch.no_grad():
        outputs = [model(x)]
    trained, why_not = _training_step(Subject("step", model, (x,)))
    tensors = [tensor.double() for tensor in (*outputs, *trained)]
    return {
        "not_finite": sum(int((~torch.isfinite(tensor)).sum()) for tensor in tensors),
        "growth_mb": 0.0,
        "iterations": 1,
        "summary": [_summary(tensor) for tensor in tensors],
        "gates": "",
        "backward": why_not or "forward and backward",
    }


def linear() -> Any:
    torch.manual_seed(0)
    return torch.nn.Linear(8, 8)


class Halved(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient / 2


def test_equal_steps_pass_and_say_that_both_passes_ran() -> None:
    plain = answer(linear())
    result = _judged("step", answer(linear()), plain)
    assert result.status is Status.PASS and "forward and backward" in result.detail


def test_a_wrong_gradient_fails_though_the_outputs_are_equal() -> None:
    model = linear()
    broken = torch.nn.Sequential(model)
    broken.register_forward_hook(lambda module, args, output: Halved.apply(output))
    plain, other = answer(torch.nn.Sequential(linear())), answer(broken)
    assert other["summary"][0] == plain["summary"][0]
    result = _judged("step", other, plain)
    assert result.status is Status.FAIL and "other results" in result.detail


def test_a_gradient_that_is_not_finite_fails() -> None:
    model = linear()
    model.register_forward_hook(lambda module, args, output: torch.sqrt(output * 0))
    assert _judged("step", answer(model), None).status is Status.FAIL


def test_what_has_no_gradient_is_forward_only() -> None:
    result = _judged("step", answer(lambda x: x.round().long()), None)
    assert result.status is Status.PASS and "forward only: no output of the model has a gradient" in result.detail
