"""Making a model ready for a device: move, precision, memory format, compile. Whole, or not at all."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.backends.checkpoints import refuse_raw_fp8
from kernel_pytorch.core.errors import AMDBackendError, AMDConfigurationError
from kernel_pytorch.models.boundary import remove_boundary, set_boundary
from kernel_pytorch.models.precision import Precision, precision_name

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

MEMORY_FORMATS = ("auto", "contiguous", "channels_last")


@dataclass(frozen=True)
class Preparation:
    """What was done to a model. `precision` is the one it has now, which its own weights may have decided."""

    device: torch.device
    precision: Precision
    memory_format: str
    compiled: bool
    parallel: str | None = None


_prepared: weakref.WeakKeyDictionary[nn.Module, Preparation] = weakref.WeakKeyDictionary()


def preparation_of(model: nn.Module) -> Preparation | None:
    """What `prepare_model` did to this model, or None if it did not see it."""
    return _prepared.get(model)


def remember(model: nn.Module, preparation: Preparation) -> None:
    """Note what was done to a model."""
    _prepared[model] = preparation


def check_model(model: nn.Module) -> None:
    """Raise AMDBackendError, with the reason, for a model that cannot be moved to a device."""
    import torch
    from torch.nn.parameter import is_lazy

    if not isinstance(model, torch.nn.Module):
        raise AMDBackendError(f"prepare_model takes a torch.nn.Module, not {type(model).__name__}")
    for name, tensor in _tensors(model):
        if is_lazy(tensor):
            raise AMDBackendError(f"{name} is a lazy parameter without a shape yet: run one batch through the model")
        if tensor.device.type == "meta":
            raise AMDBackendError(
                f"{name} lies on the meta device and has no values: model.to_empty(device=...) and load a checkpoint"
            )


def prepare(
    model: nn.Module,
    *,
    device: torch.device,
    precision: Precision,
    memory_format: str,
    compile_arguments: Mapping[str, object] | None,
    low_precision_by: str = "boundary",
) -> nn.Module:
    """Prepare `model` in place and give it back. On any failure the model is as it was, and the error says why.

    `low_precision_by` is "policy" where something else (FSDP) casts: then weights and forward are left alone.
    """
    check_model(model)
    if memory_format not in MEMORY_FORMATS[1:]:
        raise AMDConfigurationError("memory_format", memory_format, f"one of {', '.join(MEMORY_FORMATS)}")
    with _restored_on_error(model):
        remove_boundary(model)
        model.to(device)
        effective = effective_precision(model, precision)
        if low_precision_by == "boundary" and effective.is_low:
            if not effective.mixed:
                cast_weights(model, effective.dtype)
            _check_forward_can_be_replaced(model)
            set_boundary(model, effective, device.type)
        _set_memory_format(model, memory_format)
        _guard_loading(model)
        if compile_arguments is not None:
            model.compile(**compile_arguments)
    remember(model, Preparation(device, effective, memory_format, compile_arguments is not None))
    return model


def effective_precision(model: nn.Module, precision: Precision) -> Precision:
    """The precision this model is run in: what was chosen, unless its own weights are of 16 bits already.

    Mixed precision is for training; a model in eval mode gets weights of that precision, which autocast would
    otherwise make anew on every call."""
    own = _uniform_low_dtype(model)
    if own is not None:
        name = own if not precision.is_low or precision.mixed else precision.name
        return Precision(name, False, "the model's own weights" if name == own else precision.reason)
    if precision.mixed and not model.training:
        return Precision(precision.name, False, f"{precision.reason}; in eval mode the weights are cast")
    return precision


def cast_weights(model: nn.Module, dtype: torch.dtype) -> None:
    """Cast floating parameters and buffers. Batch norms keep fp32: their running averages do not survive 8 bits
    of mantissa, and their kernels take fp32 statistics. FP8 tensors stay: without their scales a cast is wrong."""
    import torch

    kinds = (torch.float32, torch.float16, torch.bfloat16, torch.float64)

    def cast(tensor: Tensor) -> Tensor:
        return tensor.to(dtype) if tensor.dtype in kinds else tensor

    for module in model.modules():
        if not isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module._apply(cast, recurse=False)


def has_convolutions(model: nn.Module) -> bool:
    """Does the model hold a two-dimensional convolution, for which channels_last exists?"""
    import torch

    return any(isinstance(module, (torch.nn.Conv2d, torch.nn.ConvTranspose2d)) for module in model.modules())


def parameter_bytes(model: nn.Module, device: torch.device) -> int:
    """Bytes of parameters and buffers that are not on `device` yet."""
    return sum(
        tensor.numel() * tensor.element_size() for _, tensor in _tensors(model) if tensor.device.type != device.type
    )


def _uniform_low_dtype(model: nn.Module) -> str | None:
    names = {precision_name(parameter.dtype) for parameter in model.parameters() if parameter.is_floating_point()}
    only = names.pop() if len(names) == 1 else None
    return only if only in ("fp16", "bf16") else None


def _set_memory_format(model: nn.Module, memory_format: str) -> None:
    import torch

    if memory_format == "channels_last":
        model.to(memory_format=torch.channels_last)


def _check_forward_can_be_replaced(model: nn.Module) -> None:
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        raise AMDBackendError(
            "a scripted model's forward is fixed, so its inputs cannot be cast at the boundary: prepare the model "
            "before torch.jit.script, or choose default_precision='fp32'"
        )


def _guard_loading(model: nn.Module) -> None:
    hooks = model._load_state_dict_pre_hooks.values()
    if not any(getattr(hook, "hook", hook) is refuse_raw_fp8 for hook in hooks):
        model.register_load_state_dict_pre_hook(refuse_raw_fp8)


def _tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()


@contextmanager
def _restored_on_error(model: nn.Module) -> Iterator[None]:
    forward = model.__dict__.get("forward")
    compiled = model.__dict__.get("_compiled_call_impl")
    # Scripted modules keep their tables in C++ and change the tensors in them in place.
    plain = [module for module in model.modules() if isinstance(module._parameters, dict)]
    tables = [(module, dict(module._parameters), dict(module._buffers)) for module in plain]
    contents = [
        (parameter, parameter.data, parameter.grad, parameter.grad.data if parameter.grad is not None else None)
        for parameter in model.parameters()
    ]
    hooks = dict(model._load_state_dict_pre_hooks)
    try:
        yield
    except Exception as error:
        for module, parameters, buffers in tables:
            module._parameters.update(parameters)
            module._buffers.update(buffers)
        for parameter, data, gradient, gradient_data in contents:
            # A gradient is refused while its dtype or device is not the parameter's, and torch converts it in place.
            parameter.grad = None
            parameter.data = data
            if gradient is not None:
                gradient.data = gradient_data
                parameter.grad = gradient
        model.__dict__.pop("forward", None)
        if forward is not None:
            model.__dict__["forward"] = forward
        if compiled is None:
            model.__dict__.pop("_compiled_call_impl", None)
        else:
            model.__dict__["_compiled_call_impl"] = compiled
        model._load_state_dict_pre_hooks.clear()
        model._load_state_dict_pre_hooks.update(hooks)
        if isinstance(error, AMDBackendError):
            raise
        raise AMDBackendError(
            f"{type(model).__name__} could not be prepared and was left as it was: {error}",
            {"cause": type(error).__name__},
        ) from error
