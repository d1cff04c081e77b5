"""Elementwise operators and reductions: one FLOP per element, every tensor across the bus once."""

from __future__ import annotations

import math

from kernel_pytorch.perf.roofline.forms import Rows
from kernel_pytorch.perf.roofline.functions import INSTRUCTIONS
from kernel_pytorch.perf.roofline.loops import streamed
from kernel_pytorch.perf.roofline.shapes import Tensor, argument, integers, tensor, tensors
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

_UNARY = """abs neg sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sigmoid relu gelu silu mish elu
selu leaky_relu hardswish hardsigmoid hardtanh softplus erf reciprocal square floor ceil round trunc sign clamp
clamp_min clamp_max bitwise_not logical_not isnan isinf isfinite pow threshold"""
_BINARY = """add sub rsub mul div maximum minimum atan2 fmod remainder pow eq ne lt le gt ge logical_and logical_or
bitwise_and bitwise_or bitwise_xor threshold_backward gelu_backward silu_backward tanh_backward sigmoid_backward
masked_fill"""
_TERNARY = "where addcmul addcdiv lerp"
ELEMENTWISE = frozenset(f"{_UNARY} {_BINARY} {_TERNARY}".split())
_REDUCING = "sum mean amax amin prod any all max min argmax argmin var std"
# The position of `dim`, 1 but for the vector norm, whose order comes before it.
REDUCTIONS = {**dict.fromkeys(_REDUCING.split(), 1), "linalg_vector_norm": 2}
_TRUTHS = "eq ne lt le gt ge logical_and logical_or logical_not isnan isinf isfinite"
_COMPARISONS = frozenset(_TRUTHS.split())
_CHOOSING = frozenset({"masked_fill", "where"})
_INDEX_RESULTS = frozenset({"argmax", "argmin"})
_BOOLEAN_RESULTS = frozenset({"any", "all"})
_FLOPS_PER_ELEMENT = {"var": 3, "std": 3, "addcmul": 3, "addcdiv": 3, "lerp": 3, "linalg_vector_norm": 2}


def model(operator: str) -> Model | None:
    """The model of an elementwise operator or a reduction, in place or not; None for others."""
    plain = operator[:-1] if operator.endswith("_") and not operator.endswith("__") else operator
    if plain in ELEMENTWISE:
        return _elementwise
    return _reduction if plain in REDUCTIONS else None


def _plain(signature: Signature) -> str:
    name = signature.name.removeprefix("aten::")
    return name[:-1] if name.endswith("_") else name


def _elementwise(signature: Signature) -> Work | None:
    inputs = [one for one in tensors(signature) if one.shape or _is_only(signature)]
    if not inputs:
        return None
    name = _plain(signature)
    shape = _broadcast([one.shape for one in inputs])
    count = math.prod(shape)
    widest = max(
        inputs, key=lambda one: (one.arithmetic.startswith("fp") or one.arithmetic == "bf16", one.element_bytes)
    )
    written = 1 if name in _COMPARISONS else widest.element_bytes
    flops = _FLOPS_PER_ELEMENT.get(name, 1) * count
    what = "function" if name in INSTRUCTIONS else "elementwise"
    form = streamed(what, inputs, function=INSTRUCTIONS.get(name, 0), masked=name in _CHOOSING)
    return Work(flops, sum(one.bytes for one in inputs) + count * written, widest.arithmetic, form=form)


def _is_only(signature: Signature) -> bool:
    """A scalar tensor counts only where nothing larger is there."""
    return all(not one.shape for one in tensors(signature))


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    length = max(map(len, shapes))
    padded = [(1,) * (length - len(shape)) + shape for shape in shapes]
    return tuple(0 if 0 in axis else max(axis) for axis in zip(*padded, strict=True))


def _reduction(signature: Signature) -> Work | None:
    x = tensor(signature, 0)
    if x is None:
        return None
    name = _plain(signature)
    outputs = _reduced_count(signature, x, REDUCTIONS[name])
    size = 8 if name in _INDEX_RESULTS else 1 if name in _BOOLEAN_RESULTS else x.element_bytes
    shared = name not in _INDEX_RESULTS
    form = Rows("reduction", outputs, x.count // outputs if outputs else 0, shared)
    return Work(_FLOPS_PER_ELEMENT.get(name, 1) * x.count, x.bytes + outputs * size, x.arithmetic, form=form)


def _reduced_count(signature: Signature, x: Tensor, dim_at: int) -> int:
    """Elements left: `dim` is a list, a single number, or missing for a full reduction. keepdim does not matter."""
    dims = integers(signature, dim_at)
    if dims is None:
        text = argument(signature, dim_at)
        dims = (int(text),) if text.lstrip("-").isdigit() else ()
    if not dims:
        return 1
    gone = {dim % len(x.shape) for dim in dims} if x.shape else set()
    return math.prod(n for axis, n in enumerate(x.shape) if axis not in gone)
