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
    """`batch` products of (m, k) with (k, n).

    `ragged`: rows of some matrix do not begin at multiples of 16 bytes, so that lanes load and store single elements.
    """

    batch: int
    m: int
    n: int
    k: int
    ragged: bool = False


@dataclass(frozen=True)
class Tile:
    """The tile of a kernel that converts weights of 4 bits to the 16 bits of its inputs, each time a tile reads them.

    `depth` is the length of its steps along K. Where it does not divide K, each step may have to wait for its loads.
    """

    rows: int
    columns: int
    depth: int
    waves: int = 4


@dataclass(frozen=True)
class Routed:
    """Products of a mixture of experts: `rows` rows in all go to `experts` experts, which each have their own weights.

    `experts` are those that get any row, `products` (n, k) of one product or of both. `summed`: the last product's
    rows are added up for each token, in the same kernel or in one that comes with it. `tile` is the kernel's own, where
    its name has it and it has to convert its weights.
    """

    experts: float
    rows: int
    products: tuple[tuple[int, int], ...]
    summed: bool = False
    joint: bool = False  # one kernel does both products
    tile: Tile | None = None


@dataclass(frozen=True)
class Collective:
    """`members` GPUs exchange data: `sent` bytes leave each of them over its links at least, whatever the algorithm."""

    what: str  # "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"
    members: int
    sent: float
    steps: int  # messages that must follow each other


@dataclass(frozen=True)
class Attended:
    """Attention of `batch` x `heads` x `queries` rows over `keys` keys of `head` numbers each."""

    batch: int
    heads: int
    queries: int
    keys: int
    head: int
    library: str = ""  # "aiter" where its kernels do it, which are faster than those that torch comes with


@dataclass(frozen=True)
class Convolved:
    """A convolution as the product it amounts to. `backward` counts gradients: 0 is the forward pass.

    `last`: the channels of a pixel lie next to each other, as the matrix units want them.
    """

    product: Product
    taps: int
    backward: int = 0
    last: bool = False


@dataclass(frozen=True)
class Streamed:
    """Every element once. `access` is how the tensors lie to each other, see `access_of`.

    The rest is over all elements, see loops.py: `steps` are instructions that only work out where an element lies,
    convert it or compute a function of it, `lines` cache lines that waves ask for, `groups` workgroups where each has
    next to nothing to do. `depth` are the instructions that one lane has to go through after each other.
    """

    what: str  # "elementwise", "function" (exp, tanh: many instructions), "copy", "cast" (to another type), ...
    access: str
    steps: int = 0
    lines: int = 0
    groups: int = 0
    depth: int = 0


@dataclass(frozen=True)
class HostCopy:
    """A copy between the host's memory and the GPU's: the link counts, not the GPU. It is faster one way.

    `pinned`: the host's memory stays where it is, so that the GPU can copy by itself. Not every profiler tells.
    """

    to_gpu: bool = True
    pinned: bool = False


@dataclass(frozen=True)
class Rows:
    """Each of `rows` rows of `length` elements becomes a figure, or is scaled by one."""

    what: str  # "row norm", "fused norm", "channel norm", "long softmax" or "reduction"
    rows: int
    length: int
    shared: bool = (
        False  # whether several workgroups share a long row, as in torch's sums; not where it looks for a place
    )
    groups: int = 0  # workgroups of a kernel of its own that scales what the first one summed up


Form = Product | Routed | Collective | Attended | Convolved | Streamed | HostCopy | Rows


def access_of(tensors: Sequence[Tensor]) -> str:
    """How tensors that are walked together lie to each other.

    "same": alike and without holes, so that each lane loads several neighbours at once. "broadcast": one of them is
    smaller than the result. "strided": the rows lie differently. "transposed": even the direction of the rows differs.
    """
    large = [one for one in tensors if one.count > 1]
    if not large:
        return "same"
    most = max(one.count for one in large)
    if any(one.stored_count < most for one in large):
        return "broadcast"
    steps = {_steps(one) for one in large}
    if len(steps) == 1:
        return "same" if _is_dense(large[0]) else "strided"
    fastest = {min(range(len(one)), key=one.__getitem__) if one else 0 for one in steps}
    return "transposed" if len(fastest) > 1 else "strided"


def strides_of(one: Tensor) -> tuple[int, ...]:
    """Those of a contiguous tensor where none are known."""
    if len(one.strides) == len(one.shape):
        return one.strides
    return tuple(math.prod(one.shape[axis + 1 :]) for axis in range(len(one.shape)))


def _is_dense(one: Tensor) -> bool:
    """Whether its elements lie without holes between them, in whatever order."""
    reach = sum((size - 1) * step for size, step in zip(one.shape, strides_of(one), strict=True))
    return reach + 1 == one.count


def _steps(one: Tensor) -> tuple[int, ...]:
    """The strides of the axes that have more than one element."""
    return tuple(step for size, step in zip(one.shape, strides_of(one), strict=True) if size > 1)
