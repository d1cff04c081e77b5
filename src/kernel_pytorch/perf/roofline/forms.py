"""What shape of work an operator has, as far as its time depends on it: bytes and FLOPs alone do not tell.

A product of 1 x N takes another kernel than one of N x N, and a copy that transposes is slower than one that does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.perf.roofline.shapes import Tensor


@dataclass(frozen=True)
class Product:
    """`batch` products of (m, k) with (k, n)."""

    batch: int
    m: int
    n: int
    k: int


@dataclass(frozen=True)
class Attended:
    """Attention of `batch` x `heads` x `queries` rows over `keys` keys of `head` numbers each."""

    batch: int
    heads: int
    queries: int
    keys: int
    head: int


@dataclass(frozen=True)
class Convolved:
    """A convolution as the product it amounts to. `backward` counts gradients: 0 is the forward pass."""

    product: Product
    taps: int
    backward: int = 0


@dataclass(frozen=True)
class Streamed:
    """Every element once. `access` is how the tensors lie to each other, see `access_of`."""

    what: str  # "elementwise", "function" (exp, tanh: many instructions), "copy", "softmax", "generated pointwise", ...
    access: str


@dataclass(frozen=True)
class HostCopy:
    """A copy between the host's memory and the GPU's: the link counts, not the GPU."""


@dataclass(frozen=True)
class Rows:
    """Each of `rows` rows of `length` elements becomes a figure, or is scaled by one."""

    what: str  # "row norm", "fused norm", "channel norm", "long softmax" or "reduction"
    rows: int
    length: int


Form = Product | Attended | Convolved | Streamed | HostCopy | Rows


def access_of(tensors: Sequence[Tensor]) -> str:
    """How tensors that are walked together lie to each other.

    "same": alike, so that each lane loads several neighbours at once. "broadcast": one of them is smaller than the
    result. "strided": the rows lie differently. "transposed": even the direction of the rows differs.
    """
    large = [one for one in tensors if one.count > 1]
    if not large:
        return "same"
    most = max(one.count for one in large)
    if any(one.stored_count < most for one in large):
        return "broadcast"
    steps = {_steps(one) for one in large}
    if len(steps) == 1:
        return "same"
    fastest = {min(range(len(one)), key=one.__getitem__) if one else 0 for one in steps}
    return "transposed" if len(fastest) > 1 else "strided"


def _steps(one: Tensor) -> tuple[int, ...]:
    """The strides of the axes that have more than one element; those of a contiguous tensor where none are known."""
    strides = one.strides
    if len(strides) != len(one.shape):
        strides = tuple(math.prod(one.shape[axis + 1 :]) for axis in range(len(one.shape)))
    return tuple(step for size, step in zip(one.shape, strides, strict=True) if size > 1)
