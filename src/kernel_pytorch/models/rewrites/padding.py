"""Columns of a batch that hold padding only, left out: a batch padded to 512 whose longest row has 90 tokens.

Only where the model's result does not depend on them, which is shown on the example: the results agree when the
columns are cut, and still when there is more padding. A result with a value for each token is not the same without
its padding, so such models are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.comparison import distance, tensors_in
from kernel_pytorch.models.example_run import run_once
from kernel_pytorch.models.fx.forwards import current_forward, set_forward
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs, copied_inputs
from kernel_pytorch.models.precision import tolerance_of
from kernel_pytorch.models.tree import shallow_tree

if TYPE_CHECKING:
    from torch import nn

MULTIPLE = 16
"""Lengths are rounded up to this, so that few different shapes are compiled."""


@dataclass(frozen=True)
class Padding:
    """Where the mask is among the arguments, and what is as long as it."""

    mask: str | int
    cut: tuple[str | int, ...]
    length: int
    longest: int


class WithoutPadding:
    """A forward that cuts what is padding in every row off its arguments."""

    def __init__(self, module: nn.Module, inner: Any, padding: Padding) -> None:
        self.module, self.inner, self.padding = module, inner, padding

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from torch import compiler

        inputs = Inputs(args, kwargs)
        if not compiler.is_compiling():  # reading the mask would break the graph
            inputs = trimmed(inputs, self.padding)
        if self.inner is not None:
            return self.inner(*inputs.args, **inputs.kwargs)
        return type(self.module).forward(self.module, *inputs.args, **inputs.kwargs)


def find(model: nn.Module, inputs: Inputs) -> Padding:
    """What can be cut. Raises NotApplicable."""
    padding = _structure(inputs)
    expected = _run(model, inputs)
    tolerance = tolerance_of(item.dtype for item in model.parameters())
    # More padding shows what does not depend on it by accident.
    for example in (inputs, _padded(inputs, padding)):
        got = _run(model, trimmed(example, padding))
        whole = expected if example is inputs else _run(model, example)
        if [item.shape for item in got] != [item.shape for item in whole]:
            raise NotApplicable("the result has values for padding")
        for place, (old, new) in enumerate(zip(whole, got, strict=True)):
            found = distance(old, new, *tolerance, f"output {place}")
            if not found.is_acceptable:
                raise NotApplicable(f"the result depends on padding: {found.where} differs by {found.error:.3g}")
    return padding


def skip(model: nn.Module, padding: Padding) -> nn.Module:
    """A new tree that cuts its arguments."""
    tree = shallow_tree(model)
    set_forward(tree, WithoutPadding(tree, current_forward(tree), padding))
    return tree


def trimmed(inputs: Inputs, padding: Padding) -> Inputs:
    """The arguments up to the longest row, rounded up. Reading the mask waits for the device."""
    mask = _get(inputs, padding.mask)
    if mask is None or mask.dim() != 2 or mask.shape[1] <= MULTIPLE:
        return inputs
    used = (mask != 0).any(dim=0)
    longest = int(used.nonzero().max()) + 1 if bool(used.any()) else 1
    length = min(-(-longest // MULTIPLE) * MULTIPLE, mask.shape[1])
    if length == mask.shape[1]:
        return inputs

    def cut(key: str | int, value: Any) -> Any:
        fits = key in padding.cut and hasattr(value, "dim") and value.dim() >= 2 and value.shape[1] == mask.shape[1]
        return value[:, :length] if fits else value

    args = tuple(cut(place, value) for place, value in enumerate(inputs.args))
    return Inputs(args, {name: cut(name, value) for name, value in inputs.kwargs.items()})


def _structure(inputs: Inputs) -> Padding:
    from torch import Tensor

    named: dict[str | int, Any] = dict(enumerate(inputs.args))
    named.update(inputs.kwargs.items())
    tensors = {key: value for key, value in named.items() if isinstance(value, Tensor) and value.dim() >= 2}
    for key, mask in tensors.items():
        if mask.dim() != 2 or not bool(((mask == 0) | (mask == 1)).all()) or not bool((mask == 0).any()):
            continue
        alike = tuple(name for name, value in tensors.items() if value.shape[:2] == mask.shape)
        if len(alike) < 2:
            continue
        used = (mask != 0).any(dim=0)
        longest = int(used.nonzero().max()) + 1 if bool(used.any()) else 0
        length = -(-longest // MULTIPLE) * MULTIPLE
        if longest > 0 and length < mask.shape[1]:
            return Padding(key, alike, mask.shape[1], longest)
    raise NotApplicable("no mask among the inputs marks columns of the batch as padding in every row")


def _padded(inputs: Inputs, padding: Padding) -> Inputs:
    """The same with other values where the mask says padding: they must not matter either."""
    mask = _get(inputs, padding.mask)

    def filled(key: str | int, value: Any) -> Any:
        if key not in padding.cut or key == padding.mask:
            return value
        hidden = (mask == 0).view(*mask.shape, *[1] * (value.dim() - 2))
        return value.masked_fill(hidden, 1)

    args = tuple(filled(place, value) for place, value in enumerate(inputs.args))
    return Inputs(args, {name: filled(name, value) for name, value in inputs.kwargs.items()})


def _get(inputs: Inputs, key: str | int) -> Any:
    if isinstance(key, str):
        return inputs.kwargs.get(key)
    return inputs.args[key] if key < len(inputs.args) else None


def _run(model: nn.Module, inputs: Inputs) -> list[Any]:
    return list(tensors_in(run_once(shallow_tree(model), copied_inputs(inputs))))
