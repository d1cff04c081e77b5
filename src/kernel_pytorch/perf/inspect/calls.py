"""Library calls as the roofline's operator models want them: names, shapes, types."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from kernel_pytorch.perf.inspect.capture import Call
from kernel_pytorch.perf.inspect.view import LaunchStep
from kernel_pytorch.perf.roofline.work import Work, work_of
from kernel_pytorch.perf.trace.recording import Signature

if TYPE_CHECKING:
    from torch import Tensor

_TRACE_NAMES = {
    "torch.float32": "float", "torch.float64": "double", "torch.float16": "c10::Half",
    "torch.bfloat16": "c10::BFloat16", "torch.float8_e4m3fn": "c10::Float8_e4m3fn",
    "torch.float8_e4m3fnuz": "c10::Float8_e4m3fnuz", "torch.float8_e5m2": "c10::Float8_e5m2",
    "torch.float8_e5m2fnuz": "c10::Float8_e5m2fnuz", "torch.int8": "signed char", "torch.uint8": "unsigned char",
    "torch.bool": "bool", "torch.int16": "short", "torch.int32": "int", "torch.int64": "long int",
}  # fmt: skip


def call_step(call: Call) -> tuple[LaunchStep, Work | None]:
    """A library call as a step, and its work where the operator is modelled."""
    import torch

    name = call.operator._schema.name
    tensors = [value for value in call.args if isinstance(value, torch.Tensor)]
    work = call_work(torch, call)
    shapes = tuple(_shape(value) for value in call.args if isinstance(value, torch.Tensor))
    dtype = str(tensors[0].dtype).removeprefix("torch.") if tensors else ""
    step = LaunchStep(
        "extern",
        name,
        graph=call.graph,
        shapes=shapes,
        dtype=dtype,
        flops=work.flops if work else None,
        bytes=work.bytes if work else None,
        matrix=work.matrix if work else False,
        arithmetic=work.arithmetic if work else "fp32",
    )
    return step, work


def call_work(torch: ModuleType, call: Call) -> Work | None:
    """FLOPs and bytes, by the same models as `kpt profile` uses."""
    schema = call.operator._schema.arguments
    values = list(call.args) + [call.kwargs.get(one.name) for one in schema[len(call.args) :]]
    signature = Signature(
        call.operator._schema.name,
        tuple(tuple(value.shape) if isinstance(value, torch.Tensor) else () for value in values),
        tuple(_TRACE_NAMES.get(str(value.dtype), "") if isinstance(value, torch.Tensor) else "" for value in values),
        tuple(tuple(value.stride()) if isinstance(value, torch.Tensor) else () for value in values),
        tuple("" if isinstance(value, torch.Tensor) or value is None else str(value) for value in values),
    )
    return work_of(signature)


def _shape(tensor: Tensor) -> str:
    return "x".join(str(size) for size in tensor.shape) or "scalar"
