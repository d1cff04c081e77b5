"""Checkpoints that go from one vendor's GPU to another's, to the CPU and back.

Keys never change through `prepare_model`, and torch's own `load_state_dict` casts between fp32, fp16 and bf16.
What is left is FP8: the same bits mean half the value on gfx942 (e4m3fnuz, e5m2fnuz) of what they mean elsewhere
(e4m3fn, e5m2).
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import AMDBackendError
from kernel_pytorch.core.hardware import target

if TYPE_CHECKING:
    from torch import Tensor, nn

SCALE_ENDINGS = ("_scale", ".scale", "_scale_inv")
_NEGATIVE_ZERO = 0x80  # elsewhere; the only NaN of the fnuz formats
# From these bits on, without the sign, a format has infinity and NaN where its fnuz twin has its largest numbers.
_FIRST_SPECIAL = {"e4m3": 0x7F, "e5m2": 0x7C}
_TWINS = {
    "float8_e4m3fn": "float8_e4m3fnuz",
    "float8_e4m3fnuz": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2fnuz",
    "float8_e5m2fnuz": "float8_e5m2",
}


def portable_state_dict(model: nn.Module) -> dict[str, Any]:
    """The whole state dict as CPU tensors under the keys of the bare model: DDP and FSDP are looked through.

    With FSDP every rank must call it; ranks other than 0 get an empty one."""
    from torch.distributed.tensor import DTensor

    bare = model.module if type(model).__name__ == "DistributedDataParallel" else model
    state = bare.state_dict()
    if any(isinstance(value, DTensor) for value in state.values()):
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

        return dict(get_model_state_dict(bare, options=StateDictOptions(full_state_dict=True, cpu_offload=True)))
    return {key: value.detach().cpu() if hasattr(value, "detach") else value for key, value in state.items()}


def load_portable_state_dict(model: nn.Module, state: Mapping[str, Any], target_name: str | None = None) -> None:
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
        name = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
        if name not in _TWINS:
            continue
        if row.fp8_format is None:
            raise AMDBackendError(f"{key} is FP8, which {row.name} ({row.arch}) does not have: dequantise it first")
        to_fnuz = row.fp8_format.endswith("fnuz")
        if name.endswith("fnuz") == to_fnuz:
            continue
        scale_key = _scale_key(key, state)
        adapted[key] = _converted(key, tensor, to_fnuz).view(getattr(torch, _TWINS[name]))
        # The bits are worth half as much in the fnuz formats, and every one of these names multiplies ("_scale_inv",
        # as DeepSeek writes it, is the inverse of the scale the quantiser used).
        adapted[scale_key] = _scaled(scale_key, state[scale_key], doubled=to_fnuz)
    return adapted


def refuse_raw_fp8(module: nn.Module, state_dict: MutableMapping[str, Any], prefix: str, *_: object) -> None:
    """A hook of `load_state_dict`: torch would copy FP8 numbers into another format without their scale.

    It raises rather than adds to `error_msgs`, which torch reports only after it has copied everything."""
    import torch

    kinds = tuple(getattr(torch, name) for name in _TWINS)
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


def _scaled(key: str, scale: Tensor, *, doubled: bool) -> Tensor:
    import torch

    if str(scale.dtype) == "torch.float8_e8m0fnu":  # a power of two by its exponent
        bits = scale.view(torch.uint8)
        if bool((bits >= 0xFE).any() if doubled else (bits == 0).any()):
            raise AMDBackendError(f"{key} leaves the range of {scale.dtype}: requantise the tensor it belongs to")
        return (bits + 1 if doubled else bits - 1).view(scale.dtype)
    changed = scale * (2.0 if doubled else 0.5)
    if not torch.equal(changed * (0.5 if doubled else 2.0), scale):
        raise AMDBackendError(f"{key} leaves the range of {scale.dtype}: store it in fp32")
    return changed


def _converted(key: str, tensor: Tensor, to_fnuz: bool) -> Tensor:
    import torch

    bits = tensor.view(torch.uint8).clone()
    special = _FIRST_SPECIAL["e4m3" if "e4m3" in str(tensor.dtype) else "e5m2"]
    if bool(((bits & 0x7F) >= special).any()):
        largest = 240 if special == 0x7F else 32768
        what = f"values of {largest} or more, which have no counterpart after the change of scale"
        what = "NaN or infinity" if to_fnuz else what
        raise AMDBackendError(f"{key} holds {what}: requantise it instead")
    if to_fnuz:
        bits[bits == _NEGATIVE_ZERO] = 0
    elif bool((bits == _NEGATIVE_ZERO).any()):
        raise AMDBackendError(f"{key} holds NaN: requantise it instead")
    return bits
