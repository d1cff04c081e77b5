"""Bytes of device memory as numbers: which type they have, by the kernel's signature or by trying, and how far two
contents are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_pytorch.verify.golden.archive import TensorRef
from kernel_pytorch.verify.golden.record import as_double
from kernel_pytorch.verify.golden.tensor_comparison import TensorComparison, compare_tensor
from kernel_pytorch.verify.golden.tolerance import EPSILON, Sums
from kernel_pytorch.verify.kernels.names import element_type, parameter_types
from kernel_pytorch.verify.kernels.record import LaunchRecord

BYTES_OF = {
    "float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2, "uint8": 1,
    "float8_e4m3fn": 1, "float8_e4m3fnuz": 1, "float8_e5m2": 1, "float8_e5m2fnuz": 1,
}  # fmt: skip
_SAMPLED = 1 << 20
_MOST = 0.98  # of the words must look like values of a type
# Bits of a word, bits of its exponent, and how far from 1.0 exponents of usual values lie.
_FLOAT_FORMS = {"float32": (32, 8, 40), "float64": (64, 11, 120), "float16": (16, 5, 13), "bfloat16": (16, 8, 40)}


@dataclass(frozen=True)
class ContentResult:
    """Two contents compared. `equal` counts elements with the same bits; `assumed` says where the type is from."""

    dtype: str
    assumed: str
    elements: int
    equal: int
    comparison: TensorComparison


def declared_type(launch: LaunchRecord, buffer: str) -> str | None:
    """What the kernel's signature says its pointer into this buffer points to."""
    types = parameter_types(launch.symbol)
    found = {
        element_type(types[pointer.argument])
        for pointer in launch.arguments
        if pointer.buffer == buffer and pointer.offset == 0 and pointer.argument < len(types)
    }
    return found.pop() if len(found) == 1 else None


def plausible_types(content: bytes) -> tuple[str, ...]:
    """The types whose usual values these bytes could be, most likely first; bytes are always one of them."""
    sample = content[:_SAMPLED]
    found = [name for name in _FLOAT_FORMS if _looks_like_float(sample, name)]
    for name, limit in (("int32", 2**24), ("int64", 2**40)):
        words = as_tensor(sample, name)
        if words.numel() and float((words.abs() < limit).double().mean()) >= _MOST:
            found.append(name)
    return (*found, "uint8")


def _looks_like_float(sample: bytes, name: str) -> bool:
    bits, exponent_bits, spread = _FLOAT_FORMS[name]
    words = as_tensor(sample, {16: "int16", 32: "int32", 64: "int64"}[bits])
    if not words.numel():
        return False
    bias = (1 << exponent_bits - 1) - 1
    mantissa_bits = bits - 1 - exponent_bits
    exponents = (words.long() >> mantissa_bits) & ((1 << exponent_bits) - 1)
    zero = (words == 0) | (words == -(1 << bits - 1))
    return float((zero | ((exponents - bias).abs() <= spread)).double().mean()) >= _MOST


def as_tensor(content: bytes, dtype: str) -> Any:
    """The whole elements in some bytes."""
    import torch

    size = BYTES_OF[dtype]
    whole = bytearray(content[: len(content) // size * size])
    kind = getattr(torch, dtype)
    return torch.frombuffer(whole, dtype=torch.uint8).view(kind) if whole else torch.empty(0, dtype=kind)


def best_type(launch: LaunchRecord, buffer: str, *contents: bytes) -> str:
    """The type to judge a buffer by when there is nothing to try it against."""
    declared = declared_type(launch, buffer)
    if declared is not None:
        return declared
    common = [set(plausible_types(content)) for content in contents]
    return next(name for name in plausible_types(contents[0]) if all(name in one for one in common))


def relative_error(here: bytes, reference: bytes, dtype: str) -> float:
    """Norm of the difference over the norm of the reference, as that type; infinite where one is not finite."""
    left, right = as_double(as_tensor(here, dtype)), as_double(as_tensor(reference, dtype))
    size = min(left.numel(), right.numel())
    difference = float((left[:size] - right[:size]).norm())
    norm = float(right[:size].norm())
    found = difference / norm if norm else difference
    return found if found == found else float("inf")


def compare_contents(
    declared: str | None, declared_here: str | None, here: bytes, reference: bytes, noise: float, sums: Sums
) -> ContentResult:
    """Compare as the declared type, else as each type both contents could have, until one agrees.

    8-bit floats of the two vendors have other bits for the same values: each side is read as its own type.
    """
    if declared is not None:
        is_small = declared.startswith("float8") and declared_here is not None and declared_here.startswith("float8")
        own = declared_here if is_small else None
        return _compared(declared, "the kernel's signature", here, reference, noise, sums, own)
    on_both = set(plausible_types(here))
    candidates = [name for name in plausible_types(reference) if name in on_both]
    first: ContentResult | None = None
    for name in candidates:
        result = _compared(name, "its values", here, reference, noise, sums)
        if result.comparison.ok:
            return result
        first = first or result
    assert first is not None  # bytes are always plausible
    return first


def _compared(
    dtype: str, assumed: str, here: bytes, reference: bytes, noise: float, sums: Sums, dtype_here: str | None = None
) -> ContentResult:
    left, right = as_tensor(here, dtype_here or dtype), as_tensor(reference, dtype)
    exact = {8: "int64", 4: "int32", 2: "int16", 1: "uint8"}[BYTES_OF[dtype]]
    bits, other_bits = as_tensor(here, exact), as_tensor(reference, exact)
    size = min(bits.numel(), other_bits.numel())
    if dtype_here not in (None, dtype):
        bits, other_bits = left.float(), right.float()  # equal values are as equal as these can be
    equal = int((bits[:size] == other_bits[:size]).sum())
    found = compare_tensor(
        left, right, TensorRef("", dtype, tuple(right.shape)), noise if dtype in EPSILON else 0.0, sums
    )
    return ContentResult(dtype, assumed, right.numel(), equal, found)
