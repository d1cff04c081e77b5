"""Checkpoints that go from one vendor's GPU to another's, to the CPU and back.

Keys never change through `prepare_model`, and torch's own `load_state_dict` casts between fp32, fp16 and bf16.
What is left is FP8: the same bits mean half the value on gfx942 (e4m3fnuz) of what they mean elsewhere (e4m3fn).
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from kernel_pytorch.core.errors import AMDBackendError
from kernel_pytorch.core.hardware import target

SCALE_ENDINGS = ("_scale", ".scale", "_scale_inv")
_NEGATIVE_ZERO = 0x80  # in e4m3fn; the only NaN in e4m3fnuz
_LARGEST = (0x7F, 0xFF)  # +-NaN in e4m3fn; +-240 in e4m3fnuz


def portable_state_dict(model: Any) -> dict[str, Any]:
    """The whole state dict as CPU tensors under the keys of the bare model: DDP and FSDP are looked through.

    With FSDP every rank must call it; ranks other than 0 get an empty one."""
    from torch.distributed.tensor import DTensor

    bare = model.module if type(model).__name__ == "DistributedDataParallel" else model
    state = bare.state_dict()
    if any(isinstance(value, DTensor) for value in state.values()):
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

        return dict(get_model_state_dict(bare, options=StateDictOptions(full_state_dict=True, cpu_offload=True)))
    return {key: value.detach().cpu() if hasattr(value, "detach") else value for key, value in state.items()}


def load_portable_state_dict(model: Any, state: Mapping[str, Any], target_name: str | None = None) -> None:
    """Load a portable state dict; with `target_name` FP8 tensors are brought into that target's format first.

    With FSDP every rank must call it, rank 0 with the whole state dict."""
    from torch.distributed.tensor import DTensor

    bare = model.module if type(model).__name__ == "DistributedDataParallel" else model
    adapted = adapt_fp8(state, target_name) if target_name is not None else dict(state)
    if any(isinstance(value, DTensor) for value in bare.state_dict().values()):
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(bare, adapted, options=options)
        return
    bare.load_state_dict(adapted)


def adapt_fp8(state: Mapping[str, Any], target_name: str) -> dict[str, Any]:
    """`state` with every FP8 tensor in the format of the target, bit for bit the same numbers.

    The bits stay and the scale beside the tensor (`weight_scale` of `weight`, and the like) doubles or halves.
    Raises AMDBackendError naming the tensor where there is no scale, where the target has no FP8, or where a value
    has no counterpart."""
    import torch

    row = target(target_name)
    adapted = dict(state)
    for key, tensor in state.items():
        if getattr(tensor, "dtype", None) not in (torch.float8_e4m3fn, torch.float8_e4m3fnuz):
            continue
        if row.fp8_format is None:
            raise AMDBackendError(f"{key} is FP8, which {row.name} ({row.arch}) does not have: dequantise it first")
        wanted = getattr(torch, f"float8_{row.fp8_format}")
        if tensor.dtype == wanted:
            continue
        scale_key = _scale_key(key, state)
        to_fnuz = wanted == torch.float8_e4m3fnuz
        adapted[key] = _converted(key, tensor, to_fnuz).view(wanted)
        # The bits are worth half as much in e4m3fnuz, and every one of these names multiplies ("_scale_inv", as
        # DeepSeek writes it, is the inverse of the scale the quantiser used).
        adapted[scale_key] = state[scale_key] * (2.0 if to_fnuz else 0.5)
    return adapted


def refuse_raw_fp8(
    module: Any,
    state_dict: MutableMapping[str, Any],
    prefix: str,
    local_metadata: Any,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """A hook of `load_state_dict`: torch would copy FP8 numbers into another format without their scale.

    It raises rather than adds to `error_msgs`, which torch reports only after it has copied everything."""
    import torch

    kinds = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for name, parameter in own.items():
        stored = state_dict.get(prefix + name)
        dtype = getattr(stored, "dtype", None)
        if dtype in kinds and parameter.dtype != dtype:
            raise AMDBackendError(
                f"{prefix + name} is {dtype} in the checkpoint and {parameter.dtype} in the model: without its scale "
                "the numbers would be wrong. Dequantise it, or load through load_portable_state_dict(..., target)"
            )


def _scale_key(key: str, state: Mapping[str, Any]) -> str:
    found = next((key + ending for ending in SCALE_ENDINGS if key + ending in state), None)
    if found is None:
        tried = ", ".join(key + ending for ending in SCALE_ENDINGS)
        raise AMDBackendError(f"{key} is FP8 in another GPU's format and has no scale beside it (looked for {tried})")
    return found


def _converted(key: str, tensor: Any, to_fnuz: bool) -> Any:
    import torch

    bits = tensor.view(torch.uint8).clone()
    at_the_edge = (bits == _LARGEST[0]) | (bits == _LARGEST[1])
    if bool(at_the_edge.any()):
        what = "NaN" if to_fnuz else "values of 240 in e4m3fnuz, which e4m3fn cannot hold after the change of scale"
        raise AMDBackendError(f"{key} holds {what}: requantise it instead")
    if to_fnuz:
        bits[bits == _NEGATIVE_ZERO] = 0
    elif bool((bits == _NEGATIVE_ZERO).any()):
        raise AMDBackendError(f"{key} holds NaN: requantise it instead")
    return bits
