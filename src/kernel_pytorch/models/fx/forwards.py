"""A rewritten forward in place of a module's own, valid only for the kind of call it was made from.

Nothing is wrapped: class, submodules, parameters and the keys of the state dict stay as they are. A call of another
kind (other None or constant arguments, train instead of eval) takes the module's own forward.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.boundary import boundary_of
from kernel_pytorch.models.fx.live_values import FREE, facts_of

if TYPE_CHECKING:
    from torch import fx, nn

Key = tuple[Any, ...]
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


def signature_of(value: Any, tensors: list[Any]) -> Key:
    """What kind of arguments these are, with every tensor and every unknown object taken out into `tensors`."""
    import torch

    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return ("tensor",)
    if isinstance(value, _CONSTANTS) or type(value) in (torch.dtype, torch.device):
        return ("constant", type(value).__name__, value)
    if type(value) in (tuple, list):
        return (type(value).__name__, *[signature_of(item, tensors) for item in value])
    if type(value) is dict:
        return ("dict", *[(name, signature_of(item, tensors)) for name, item in value.items()])
    # A cache of keys and values, for one: the graph may call it, and is given up where it looks inside.
    tensors.append(value)
    return ("object", type(value))


# The kinds of calls with so many tensors and nothing else. A table, since Dynamo cannot see through a cache.
_OF_TENSORS: tuple[Key, ...] = tuple(("tuple", ("tuple", *[("tensor",)] * count), ("dict",)) for count in range(9))


def arguments_of(key: Key, tensors: list[Any]) -> Any:
    """The reverse of `signature_of`; takes its tensors from the front of the list."""
    kind = key[0]
    if kind in ("tensor", "object"):
        return tensors.pop(0)
    if kind == "constant":
        return key[2]
    if kind == "dict":
        return {name: arguments_of(item, tensors) for name, item in key[1:]}
    items = [arguments_of(item, tensors) for item in key[1:]]
    return tuple(items) if kind == "tuple" else items


@dataclass(frozen=True)
class Variant:
    """A forward for one kind of call. `function` takes the module and the tensors of the call."""

    training: bool
    key: Key
    function: Callable[..., Any]
    graph: fx.Graph
    only_while_eval: tuple[Any, ...] = ()
    facts: tuple[Any, ...] | None = None
    """Ranks, or shapes, dtypes and devices it holds for; None where the forward does not depend on them."""
    dependence: int = FREE
    only_without_hooks: bool = False
    """An output that nobody uses is left out; a hook might."""

    def fits(self, module: nn.Module, tensors: list[Any]) -> bool:
        """May it serve this call, which is of its kind?"""
        if self.only_without_hooks and (module._forward_hooks or module._backward_hooks):
            return False
        if any(item.training for item in self.only_while_eval):
            return False
        return self.dependence == FREE or self.facts == facts_of(tensors, self.dependence)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variant:
        # The function takes its module as an argument, so that the copy of the module may share it.
        guards = tuple(copy.deepcopy(module, memo) for module in self.only_while_eval)
        return replace(self, only_while_eval=guards)


class RewrittenForward:
    """The forward of an optimised module: a variant where one fits the call, else the module's own forward."""

    def __init__(self, module: nn.Module, variants: tuple[Variant, ...] = ()) -> None:
        self.module = module
        self.variants = variants

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        tensors: list[Any] = []
        if not kwargs and len(args) < len(_OF_TENSORS) and all(isinstance(item, torch.Tensor) for item in args):
            # The usual call. Without this, reading the arguments takes longer than some rewrites save.
            key, tensors = _OF_TENSORS[len(args)], list(args)
        else:
            key = signature_of((args, kwargs), tensors)
        training = self.module.training
        for variant in self.variants:
            if variant.training == training and variant.key == key and variant.fits(self.module, tensors):
                return variant.function(self.module, *tensors)
        return type(self.module).forward(self.module, *args, **kwargs)

    def variant_for(self, training: bool, key: Key, tensors: list[Any]) -> Variant | None:
        """The variant that such a call takes now, or would take were it not for a module in train mode."""
        for item in self.variants:
            if (item.training, item.key) == (training, key) and item.facts == facts_of(tensors, item.dependence):
                return item
        return None

    def with_variant(self, variant: Variant) -> RewrittenForward:
        """The same with one more variant, in place of the one for the same kind of call. Special ones come first."""
        others = tuple(
            item
            for item in self.variants
            if (item.training, item.key, item.facts) != (variant.training, variant.key, variant.facts)
        )
        both = sorted((variant, *others), key=lambda item: -item.dependence)
        return RewrittenForward(self.module, tuple(both))

    def __deepcopy__(self, memo: dict[int, Any]) -> RewrittenForward:
        return RewrittenForward(copy.deepcopy(self.module, memo), copy.deepcopy(self.variants, memo))

    def __getstate__(self) -> dict[str, Any]:
        # Generated code does not pickle. Without variants it is the module's own forward, which is the same function.
        return {"module": self.module, "variants": ()}


def current_forward(module: nn.Module) -> Any:
    """The forward put on this module (inside the precision boundary of `prepare_model`), or None for its own."""
    boundary = boundary_of(module)
    return boundary.inner if boundary is not None else module.__dict__.get("forward")


def set_forward(module: nn.Module, forward: Any) -> None:
    """Put a forward on the module, inside its precision boundary if it has one; None gives back its own."""
    boundary = boundary_of(module)
    if boundary is not None:
        boundary.inner = forward
        boundary.__wrapped__ = forward if forward is not None else type(module).forward.__get__(module)
    elif forward is None:
        module.__dict__.pop("forward", None)
    else:
        module.__dict__["forward"] = forward


def is_plain(module: nn.Module) -> bool:
    """May this module's call be replaced by its arithmetic: no hooks, and no forward of anyone else's on it?

    A forward of ours computes the same as the module's own."""
    forward = module.__dict__.get("forward")
    return (forward is None or type(forward).__module__.startswith("kernel_pytorch.models.")) and not (
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )
