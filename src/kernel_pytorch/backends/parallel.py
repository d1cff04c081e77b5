"""A prepared model over several processes: DDP or FSDP2, with the state dict's keys as they were."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.distributed import join
from kernel_pytorch.backends.notices import say_once
from kernel_pytorch.backends.prepare import Preparation, preparation_of, remember
from kernel_pytorch.core.errors import AMDBackendError, AMDConfigurationError
from kernel_pytorch.models.blocks import listed_layers

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.backends.device_backend import DeviceBackend

KINDS = ("ddp", "fsdp")
_PREFIX = "module."


def check_kind(kind: str | None) -> None:
    """Raise AMDConfigurationError for anything but None, "ddp" and "fsdp"."""
    if kind is not None and kind not in KINDS:
        raise AMDConfigurationError("parallel", kind, f"None or one of {', '.join(KINDS)}")


def start(kind: str | None, backend: DeviceBackend) -> str | None:
    """Join the job. None where there is nothing to spread over: one process."""
    if kind is None:
        return None
    if join(backend, parallel=kind).world_size == 1:
        say_once(f"parallel={kind!r} has no effect with one process: torchrun --nproc-per-node N starts several")
        return None
    return kind


def spread(
    model: nn.Module, backend: DeviceBackend, kind: str, compile_arguments: Mapping[str, object] | None
) -> nn.Module:
    """Put a prepared model over the processes of the job. Every rank calls this with the same model."""
    done = preparation_of(model)
    assert done is not None, "prepare comes before spread"
    try:
        result = _ddp(model, backend, compile_arguments) if kind == "ddp" else _fsdp(model, backend, compile_arguments)
    except (RuntimeError, ValueError, TypeError) as error:
        raise AMDBackendError(f"{type(model).__name__} could not be spread with {kind}: {error}") from error
    compiled = compile_arguments is not None
    remember(result, Preparation(done.device, done.precision, done.memory_format, compiled, kind))
    return result


def _ddp(model: nn.Module, backend: DeviceBackend, compile_arguments: Mapping[str, object] | None) -> nn.Module:
    from torch.nn.parallel import DistributedDataParallel

    if compile_arguments is not None:
        model.compile(**compile_arguments)
    ids = [backend.device.index] if backend.device.type == "cuda" else None
    wrapped = DistributedDataParallel(model, device_ids=ids)
    wrapped.register_state_dict_post_hook(_without_prefix)
    wrapped.register_load_state_dict_pre_hook(_with_prefix)
    return wrapped


def _fsdp(model: nn.Module, backend: DeviceBackend, compile_arguments: Mapping[str, object] | None) -> nn.Module:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh(backend.device.type, (dist.get_world_size(),))
    low = backend.precision.dtype if backend.precision.is_low else None
    # Gradients are summed in fp32: in bf16 the sum over many ranks loses the small ones.
    reduce_in = torch.float32 if low is not None else None
    inner = MixedPrecisionPolicy(param_dtype=low, reduce_dtype=reduce_in)
    outer = MixedPrecisionPolicy(param_dtype=low, reduce_dtype=reduce_in, output_dtype=reduce_in)
    for block in listed_layers(model):
        fully_shard(block, mesh=mesh, mp_policy=inner)
    fully_shard(model, mesh=mesh, mp_policy=outer)
    if compile_arguments is not None:
        model.compile(**compile_arguments)
    return model


def _without_prefix(module: Any, state_dict: MutableMapping[str, Any], prefix: str, local_metadata: Any) -> None:
    """Checkpoints carry the keys of the bare model, as they do on one device."""
    _rename(state_dict, prefix + _PREFIX, prefix)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        _rename(metadata, prefix + _PREFIX, prefix)


def _with_prefix(module: nn.Module, state_dict: MutableMapping[str, Any], prefix: str, *_: object) -> None:
    own = {f"{prefix}{_PREFIX}{name}" for name in module.module.state_dict()}
    for key in list(state_dict):
        if key.startswith(prefix) and key not in own:
            renamed = prefix + _PREFIX + key[len(prefix) :]
            if renamed in own:
                state_dict[renamed] = state_dict.pop(key)


def _rename(table: MutableMapping[str, object], old: str, new: str) -> None:
    for key in list(table):
        if key.startswith(old):
            table[new + key[len(old) :]] = table.pop(key)
