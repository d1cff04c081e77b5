"""Casting at the edge of a model, so that fp32 inputs work with a model that computes in 16 bits.

A `Boundary` stands in place of the model's `forward`. Nothing is wrapped: the class, the submodules and the keys
of the state dict stay as they are, and the model can still be copied, pickled and compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from kernel_pytorch.models.precision import Precision

if TYPE_CHECKING:
    from torch import nn

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


class Boundary:
    """The forward of a prepared model.

    Mixed: runs the model under torch.autocast. Otherwise: casts floating inputs to the model's precision. Either
    way floating outputs come back in the dtype the inputs had, so that a loss against fp32 targets works; with no
    floating input (token ids) a mixed model answers in fp32 and another as it computed.
    """

    def __init__(self, module: nn.Module, precision: Precision, device_type: str) -> None:
        self.module = module
        self.precision = precision
        self.device_type = device_type
        self.mixed = precision.mixed
        self.dtype = precision.dtype
        # Some libraries put a forward of their own on the instance: theirs is the one to call.
        self.inner = module.__dict__.get("forward")
        self.__wrapped__ = self.inner if self.inner is not None else type(module).forward.__get__(module)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        import torch

        given = _first_floating(args, kwargs)
        if self.mixed:
            with torch.autocast(self.device_type, dtype=self.dtype):
                result = self._forward(*args, **kwargs)
            wanted = given if given is not None else torch.float32
        else:
            args, kwargs = self._cast_inputs(args, kwargs)
            result = self._forward(*args, **kwargs)
            wanted = given if given is not None else self.dtype
        return result if wanted == self.dtype else _cast_from(result, self.dtype, wanted)

    def _cast_inputs(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        import torch

        if len(args) == 1 and not kwargs and isinstance(args[0], torch.Tensor):
            return ((args[0].to(self.dtype),) if _castable(args[0]) else args), kwargs
        cast: tuple[tuple[object, ...], dict[str, object]] = _cast((args, kwargs), self.dtype)
        return cast

    def _forward(self, *args: object, **kwargs: object) -> Any:
        if self.inner is not None:
            return self.inner(*args, **kwargs)
        return type(self.module).forward(self.module, *args, **kwargs)

    def __getstate__(self) -> dict[str, object]:
        # A bound method pickles as "the forward of that module", which by then is this object.
        return {name: value for name, value in self.__dict__.items() if name != "__wrapped__"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__wrapped__ = self.inner if self.inner is not None else type(self.module).forward.__get__(self.module)


def boundary_of(model: nn.Module) -> Boundary | None:
    """The boundary a model has, if it was prepared with one."""
    found = getattr(model, "__dict__", {}).get("forward")
    return found if isinstance(found, Boundary) else None


def set_boundary(model: nn.Module, precision: Precision, device_type: str) -> Boundary:
    """Put a boundary around `model`, in place of the one it may have."""
    remove_boundary(model)
    boundary = Boundary(model, precision, device_type)
    model.__dict__["forward"] = boundary
    return boundary


def remove_boundary(model: nn.Module) -> None:
    """Take the boundary off; the model's own forward is back."""
    boundary = boundary_of(model)
    if boundary is None:
        return
    if boundary.inner is not None:
        model.__dict__["forward"] = boundary.inner
    else:
        del model.__dict__["forward"]


def _castable(value: object) -> TypeGuard[Tensor]:
    import torch

    return isinstance(value, torch.Tensor) and value.dtype in (torch.float32, torch.float16, torch.bfloat16)


def _first_floating(args: tuple[object, ...], kwargs: dict[str, object]) -> torch.dtype | None:
    """The dtype of the first floating tensor. Tensors and constants are looked at as they are: taking every call of
    a training loop apart as a tree costs more than the rest of this file."""
    for value in (*args, *kwargs.values()):
        if _castable(value):
            return value.dtype
        if not _is_leaf(value):
            from torch.utils import _pytree

            found = next((leaf.dtype for leaf in _pytree.tree_leaves(value) if _castable(leaf)), None)
            if found is not None:
                return found
    return None


def _is_leaf(value: object) -> bool:
    import torch

    return value is None or isinstance(value, (torch.Tensor, bool, int, float, str))


def _cast(values: object, dtype: torch.dtype) -> Any:
    from torch.utils import _pytree

    return _pytree.tree_map(lambda leaf: leaf.to(dtype) if _castable(leaf) else leaf, values)


def _cast_from(values: object, have: torch.dtype, want: torch.dtype) -> Any:
    import torch
    from torch.utils import _pytree

    if isinstance(values, torch.Tensor):
        return values.to(want) if values.dtype == have else values
    return _pytree.tree_map(lambda leaf: leaf.to(want) if _castable(leaf) and leaf.dtype == have else leaf, values)
