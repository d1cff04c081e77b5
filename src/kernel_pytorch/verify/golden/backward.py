"""One training step of a model, watched: the loss, and the gradients of parameters, of inputs and around every module.

The loss is the model's own where it gives one (an output called `loss`, or a single number). Otherwise it is the sum of
all outputs, each element times a fixed weight: equal on every machine, and blind to no element.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.verify.golden.observe import ROOT, Event, flat_tensors, observed

LOSS = Event(ROOT, 0, "loss")
WEIGHTS, INPUTS, GRAD_IN, GRAD_OUT = "gradients of parameters", "gradients of inputs", "gradient in", "gradient out"

# Gets an event and its gradients; may give back gradients to go on with instead.
Visit = Callable[[Event, "list[Any]"], "list[Any] | None"]
# Gets a module's inputs before it runs; may give back others (their gradients still reach whoever made the old ones).
Inputs = Callable[[Event, "list[Any]"], "list[Any] | None"]


class NoBackward(Exception):
    """The model has no backward pass to look at. Says why."""


def run_backward(
    model: Any, subject: Subject, visit: Visit, depth: int | None, inputs: Inputs = lambda event, tensors: None
) -> None:
    """A forward pass and a backward pass; `visit` sees the loss, then gradients as they are made."""
    import torch

    from kernel_pytorch.verify.golden.record import run_like

    own, leaves = _with_gradients(subject)
    parameters = [(name, one) for name, one in model.named_parameters() if one.requires_grad]

    def watch(event: Event, tensors: list[Any]) -> list[Any] | None:
        if event.phase == "out":
            for index, tensor in enumerate(tensors):
                if tensor.requires_grad:
                    tensor.register_hook(partial(_shown, visit, Event(event.module, event.call, f"{GRAD_OUT} {index}")))
            return None
        return [
            _own_input(tensor, new, partial(_shown, visit, Event(event.module, event.call, f"{GRAD_IN} {index}")))
            for index, (tensor, new) in enumerate(zip(tensors, inputs(event, tensors) or tensors, strict=True))
        ]

    try:
        with torch.enable_grad(), observed(model, watch, depth):
            loss = loss_of(run_like(model, own))
        if loss is None or not loss.requires_grad:
            raise NoBackward("no output of the model has a gradient")
        visit(LOSS, [loss.detach()])
        wanted = [*(one for _, one in parameters), *leaves]
        gradients = torch.autograd.grad(loss, wanted, allow_unused=True) if wanted else ()
    except RuntimeError as error:  # an operation without a derivative, an in-place change of what is needed again
        raise NoBackward(f"the backward pass fails ({error})") from error
    for module, found in _by_module(parameters, gradients).items():
        visit(Event(module, 0, WEIGHTS), found)
    visit(Event(ROOT, 0, INPUTS), [one for one in gradients[len(parameters) :] if one is not None])


def loss_of(output: Any) -> Any:
    """The number that the backward pass starts from; None where no output can have a gradient."""
    import torch

    named = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if isinstance(named, torch.Tensor) and named.numel() == 1:
        return named.reshape(())
    total = None
    for tensor in flat_tensors(output):
        if not tensor.requires_grad or not tensor.is_floating_point():
            continue
        flat = tensor.reshape(-1).to(torch.promote_types(tensor.dtype, torch.float32))
        # The golden angle: no two neighbours, rows or heads get the same weight.
        weight = torch.cos(torch.arange(flat.numel(), dtype=torch.float64) * 2.399963).to(flat)
        part = flat.sum() if flat.numel() == 1 else (flat * weight).sum() / flat.numel() ** 0.5
        total = part if total is None else total + part
    return total


def _with_gradients(subject: Subject) -> tuple[Subject, list[Any]]:
    """The subject with copies of its floating-point inputs that collect a gradient, and these copies."""
    import torch
    from torch.utils._pytree import tree_map

    leaves: list[Any] = []

    def fresh(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.element_size() < 2:
            return value
        leaves.append(value.detach().clone().requires_grad_())
        return leaves[-1]

    args, kwargs = tree_map(fresh, (subject.args, subject.kwargs))
    return Subject(subject.name, subject.function, args, kwargs), leaves


def _own_input(tensor: Any, new: Any, show: Callable[[Any], Any]) -> Any:
    """A copy for one module alone, so that its gradient is this module's and no other's."""
    if not tensor.requires_grad:
        return new
    copy = tensor.clone() if new is tensor else _replaced(tensor, new)
    copy.register_hook(show)
    return copy


def _replaced(tensor: Any, new: Any) -> Any:
    import torch

    class Replaced(torch.autograd.Function):  # type: ignore[misc]
        """Another value whose gradient goes where the old one's went."""

        @staticmethod
        def forward(ctx: Any, old: Any) -> Any:
            return new.detach().clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    return Replaced.apply(tensor)


def _shown(visit: Visit, event: Event, gradient: Any) -> Any:
    changed = visit(event, [gradient.detach()])
    return None if changed is None else changed[0]


def _by_module(parameters: list[tuple[str, Any]], gradients: Any) -> dict[str, list[Any]]:
    """The gradients of each module's own parameters; one that was not used has none."""
    found: dict[str, list[Any]] = {}
    for (name, _), gradient in zip(parameters, gradients, strict=False):
        if gradient is not None:
            found.setdefault(name.rpartition(".")[0] or ROOT, []).append(gradient)
    return found
