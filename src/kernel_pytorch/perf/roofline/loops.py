"""What a loop over tensors costs besides its bytes: where each element lies, conversions, lines that are half used.

The counts are those of torch's own kernels (TensorIterator's loops, cat, index_select), which divide the number of an
element into its place on each axis. Instructions go through the lanes at the rate of the hardware table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernel_pytorch.perf.roofline.forms import Streamed, access_of, strides_of
from kernel_pytorch.perf.roofline.shapes import Tensor

# Lanes that load together, and what a cache gives at once.
LANES, LINE_BYTES = 64, 128
# Of an element's place, for each axis: a division by multiplication, and its remainder...
_DIVISION = 5
# ... and, for each tensor besides, a product and a sum. What is left is the loop, the loads and the store.
_OFFSET = 2
_REST = 12
# Loops that torch wrote by hand (cat, index_select) divide by numbers the compiler does not know.
_LONG_DIVISION = 25
# Where types differ, the type of each element is looked up and converted one at a time.
_CONVERSION = 60
# Types between which torch has kernels that convert several elements at once.
_VECTORISED = frozenset({"float", "c10::Half", "c10::BFloat16"})


# A lane takes 16 bytes of elements after each other, but not more than 8.
_BYTES_OF_LANE, _MOST_OF_LANE = 16, 8


def streamed(
    what: str, tensors: Sequence[Tensor], results: int = 1, function: int = 0, masked: bool = False
) -> Streamed:
    """The form of a loop over tensors that are walked together, and over `results` more that take their layout.

    Where they do not lie alike, torch goes one element at a time and works out the place of each from its number.
    `function` are the instructions of what is computed for each element. `masked`: one of them chooses, and its truth
    values are no numbers that would be converted.
    """
    access, steps = access_of(tensors), function
    kinds = {one.dtype for one in tensors if one.shape and not (masked and one.dtype == "bool")}
    if len(kinds) > 1 and not kinds <= _VECTORISED:
        steps += _CONVERSION
    if access != "same":
        steps += len(merged_axes(tensors)) * (_DIVISION + _OFFSET * (len(tensors) + results)) + _REST
    size = max((one.element_bytes for one in tensors), default=1)
    depth = steps * min(_MOST_OF_LANE, _BYTES_OF_LANE // size or 1)
    return Streamed(what, access, math.prod(_result(tensors)) * steps, _lines(tensors, results), depth=depth)


def divided(elements: int, divisions: int) -> int:
    """The `steps` of a loop that was written by hand, with so many divisions for each element."""
    return elements * (divisions * _LONG_DIVISION + _REST)


def merged_axes(tensors: Sequence[Tensor]) -> list[int]:
    """The sizes of the axes that are left where neighbouring ones that follow each other in every tensor are one."""
    return [size for size, _ in _merged(tensors)]


def _merged(tensors: Sequence[Tensor]) -> list[tuple[int, list[int]]]:
    """Those axes, innermost first, each with its step in every tensor."""
    shape = _result(tensors)
    strides = [_padded(one, len(shape)) for one in tensors]
    axes = [(size, [one[axis] for one in strides]) for axis, size in enumerate(shape) if size > 1]
    # By where the first tensor, which is the result of a copy, has its neighbours.
    axes.sort(key=lambda one: tuple(one[1]))
    merged: list[tuple[int, list[int]]] = []
    for size, steps in axes:
        if merged and all(inner * merged[-1][0] == step for inner, step in zip(merged[-1][1], steps, strict=True)):
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        else:
            merged.append((size, steps))
    return merged


def _result(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape that they are all stretched to."""
    length = max((len(one.shape) for one in tensors), default=0)
    padded = [(1,) * (length - len(one.shape)) + one.shape for one in tensors]
    return tuple(0 if 0 in axis else max(axis) for axis in zip(*padded, strict=True))


def _padded(one: Tensor, length: int) -> tuple[int, ...]:
    """Its strides with those of missing axes, which are 0 as those of axes that are stretched."""
    known = tuple(0 if size == 1 else step for size, step in zip(one.shape, strides_of(one), strict=True))
    return (0,) * (length - len(known)) + known


def _lines(tensors: Sequence[Tensor], results: int) -> int:
    """Cache lines that all waves together ask for: of each tensor those that the first wave's elements lie in.

    A wave whose elements are neighbours needs a line or two; one that goes across the grain needs one for each.
    """
    axes = _merged(tensors)
    elements = math.prod(size for size, _ in axes)
    counts = []
    for place, one in enumerate(tensors):
        touched = set()
        for lane in range(min(LANES, elements)):
            offset, left = 0, lane
            for size, steps in axes:
                offset += left % size * steps[place]
                left //= size
            touched.add(offset * one.element_bytes // LINE_BYTES)
        counts.append(max(1, len(touched)))
    return math.ceil(elements / LANES) * (sum(counts) + results * min(counts, default=1))
