"""How far two machines may differ before it counts: by type, by length of the sums, and by measured noise.

A result rounded to a type carries half a unit in the last place; a sum of K products carries about sqrt(K) roundings of
the accumulator. Matrix units accumulate 16-bit types in float32, so K matters for float32 and hardly for bfloat16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.verify.golden.archive import GoldenRecord

# Machine epsilon of the type as stored.
EPSILON = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e4m3fnuz": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "float8_e5m2fnuz": 2.0**-2,
}
_SAFETY = 4.0
_WORST_ELEMENT = 16.0  # of a million normally distributed errors the largest is about five standard deviations


@dataclass(frozen=True)
class Tolerance:
    """Norm-wise limit (error norm over reference norm) and limit of the worst element over the reference's RMS."""

    norm: float
    worst: float


@dataclass(frozen=True)
class Sums:
    """What lies behind a tensor: the longest sum, roundings in a row, and the precision of float32 products."""

    longest: int = 1
    steps: int = 1
    product_epsilon: float = 0.0


def tolerance(dtype: str, noise: float, sums: Sums) -> Tolerance:
    """The limit for one tensor."""
    epsilon = EPSILON.get(dtype)
    if epsilon is None:
        return Tolerance(0.0, 0.0)  # integers and booleans are equal or wrong
    accumulator = max(EPSILON["float64"], min(epsilon, EPSILON["float32"]))
    if dtype == "float32":
        epsilon = max(epsilon, sums.product_epsilon)
    # Half an epsilon is the most that one rounding can be off.
    rounding = 0.5 * (epsilon + accumulator * math.sqrt(max(sums.longest, 1))) * math.sqrt(sums.steps)
    norm = _SAFETY * rounding + 4.0 * noise
    return Tolerance(norm, norm * _WORST_ELEMENT)


def coarse_products(record: GoldenRecord, mode: str) -> float:
    """TF32's epsilon where the record was made with float32 products rounded to it, else 0."""
    settings = record.settings.get(mode, {})
    on_nvidia = bool(record.machine.get("cuda")) and record.machine.get("device", "").startswith("cuda")
    rounded = settings.get("cudnn_allow_tf32") == "True" or settings.get("float32_matmul_precision") != "highest"
    return 2.0**-10 if on_nvidia and rounded else 0.0


def backward_length(module: Any) -> int:
    """The same for the backward pass, which sums over what a module gives as well as over what it takes."""
    shapes = [tuple(parameter.shape) for parameter in module.parameters()]
    given = [int(math.prod((shape[0], *shape[2:]))) for shape in shapes if shape]
    return max([reduction_length(module), *given])


def reduction_length(module: Any) -> int:
    """The longest sum that a module's own code can make: from the shapes of its parameters, and of what is below."""
    longest = 1
    for parameter in module.parameters():
        shape = tuple(parameter.shape)
        if len(shape) == 1:
            longest = max(longest, shape[0])
        elif shape:
            longest = max(longest, math.prod(shape[1:]))
    return longest
