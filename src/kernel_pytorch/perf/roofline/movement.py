"""Operators that only move data: no FLOPs, every element read and written."""

from __future__ import annotations

import math
from dataclasses import replace

from kernel_pytorch.perf.roofline.forms import Rows, Streamed
from kernel_pytorch.perf.roofline.loops import divided, streamed
from kernel_pytorch.perf.roofline.shapes import DTYPES, Tensor, argument, integers, tensor, tensors
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

_CHOSEN = Streamed("copy", "strided")  # whole rows, wherever they lie


def copy(signature: Signature) -> Work | None:
    """copy_: destination, source; the types may differ."""
    target, source = tensor(signature, 0), tensor(signature, 1)
    if target is None or source is None:
        return None
    # Same types: the runtime's copy does it where both lie alike, which converts nothing.
    form = streamed("copy" if target.dtype == source.dtype else "cast", (target, source), results=0)
    return Work(0, source.bytes + target.count * target.element_bytes, target.arithmetic, form=form)


def clone(signature: Signature) -> Work | None:
    """clone, contiguous: read once, written once."""
    x = tensor(signature, 0)
    if x is None:
        return None
    return Work(0, x.bytes + x.count * x.element_bytes, x.arithmetic, form=streamed("copy", (x,)))


def cat(signature: Signature) -> Work | None:
    """cat, stack: every input read and written once."""
    parts = tensors(signature)
    if not parts:
        return None
    moved = sum(part.bytes + part.count * part.element_bytes for part in parts)
    # Parts that lie anyhow are gone through an element at a time; all others several at once.
    forms = [streamed("copy", (Tensor(part.shape, part.dtype), part), results=0) for part in parts]
    rough = [(part, form) for part, form in zip(parts, forms, strict=True) if form.access != "same"]
    steps = sum(divided(part.count, len(part.shape) - 1) for part, _ in rough)
    access = "transposed" if any(form.access == "transposed" for _, form in rough) else "strided"
    return Work(0, moved, parts[0].arithmetic, form=Streamed("copy", access, steps, sum(one.lines for one in forms)))


def index_select(signature: Signature) -> Work | None:
    """index_select: input, dim, index. Only the chosen rows are read. The axis is that of an embedding (0)."""
    x, index = tensor(signature, 0), tensor(signature, 2)
    if x is None or index is None or not x.shape:
        return None
    chosen = index.count * (x.count // x.shape[0])
    return Work(0, 2 * chosen * x.element_bytes + index.bytes, x.arithmetic, form=_one_by_one(chosen))


def embedding(signature: Signature) -> Work | None:
    """embedding: weight, indices."""
    weight, index = tensor(signature, 0), tensor(signature, 1)
    if weight is None or index is None:
        return None
    chosen = index.count * weight.shape[-1]
    return Work(0, 2 * chosen * weight.element_bytes + index.bytes, weight.arithmetic, form=_one_by_one(chosen))


def _one_by_one(chosen: int) -> Streamed:
    """torch finds the row of each element, and where it lies in source and result."""
    return Streamed("copy", "strided", divided(chosen, 3))


def fill(signature: Signature) -> Work | None:
    """fill_, zero_: written once."""
    x = tensor(signature, 0)
    if x is None:
        return None
    return Work(0, x.count * x.element_bytes, x.arithmetic, form=streamed("elementwise", (x,), results=0))


def gather(signature: Signature) -> Work | None:
    """gather: input, dim, index: one element read and written per index.

    Where one index holds for a whole row, each row gets a workgroup, however short it is.
    """
    x, index = tensor(signature, 0), tensor(signature, 2)
    if x is None or index is None:
        return None
    whole_rows = index.stored_count < index.count
    form = replace(_CHOSEN, groups=index.stored_count) if whole_rows else _CHOSEN
    return Work(0, index.bytes + 2 * math.prod(index.shape) * x.element_bytes, DTYPES[x.dtype][1], form=form)


def max_pool(signature: Signature) -> Work | None:
    """max_pool2d_with_indices: input, kernel, stride (the kernel's, if empty): each result with its index."""
    x, kernel, stride = tensor(signature, 0), integers(signature, 1), integers(signature, 2)
    if x is None or not kernel:
        return None
    results = x.count // math.prod(stride or kernel)
    moved = x.bytes + results * (x.element_bytes + 8)
    return Work(results * math.prod(kernel), moved, x.arithmetic, form=_CHOSEN)


def max_pool_backward(signature: Signature) -> Work | None:
    """max_pool2d_with_indices_backward: gradient, input, ..., indices: the input's gradient is cleared and added to."""
    gradient, x = tensor(signature, 0), tensor(signature, 1)
    if gradient is None or x is None:
        return None
    moved = gradient.bytes + 8 * gradient.count + 2 * x.count * x.element_bytes
    return Work(gradient.count, moved, x.arithmetic, form=_CHOSEN)


def nearest(signature: Signature) -> Work | None:
    """upsample_nearest2d: input, size of the result."""
    x, size = tensor(signature, 0), integers(signature, 1)
    if x is None or not size:
        return None
    results = x.shape[0] * x.shape[1] * math.prod(size)
    return Work(0, x.bytes + results * x.element_bytes, x.arithmetic, form=Streamed("elementwise", "broadcast"))


def random(signature: Signature) -> Work | None:
    """normal_, uniform_ and their like: written once, with many instructions for each element."""
    x = tensor(signature, 0)
    if x is None:
        return None
    return Work(10 * x.count, x.count * x.element_bytes, x.arithmetic, form=streamed("function", (x,), results=0))


def scan(signature: Signature) -> Work | None:
    """cumsum: input, dim."""
    x = tensor(signature, 0)
    if x is None or not argument(signature, 1).lstrip("-").isdigit() or not x.shape:
        return None
    row = x.shape[int(argument(signature, 1))]
    moved = x.bytes + x.count * x.element_bytes
    return Work(x.count, moved, x.arithmetic, form=Rows("reduction", x.count // row if row else 0, row))


def loss(signature: Signature) -> Work | None:
    """mse_loss: the squares. Their mean is an operator of its own, which this one calls."""
    x, y = tensor(signature, 0), tensor(signature, 1)
    if x is None or y is None:
        return None
    moved = x.bytes + y.bytes + x.count * x.element_bytes
    return Work(3 * x.count, moved, x.arithmetic, form=streamed("elementwise", (x, y)))


def loss_backward(signature: Signature) -> Work | None:
    """mse_loss_backward: gradient, input, target."""
    given = [one for one in (tensor(signature, i) for i in range(3)) if one is not None]
    if len(given) != 3:
        return None
    x = given[1]
    moved = sum(one.bytes for one in given) + x.count * x.element_bytes
    return Work(3 * x.count, moved, x.arithmetic, form=streamed("elementwise", given))


MODELS: dict[str, Model] = {
    "copy_": copy,
    "clone": clone,
    "contiguous": clone,
    "cat": cat,
    "stack": cat,
    "index_select": index_select,
    "embedding": embedding,
    "fill_": fill,
    "zero_": fill,
    "gather": gather,
    "max_pool2d_with_indices": max_pool,
    "max_pool2d_with_indices_backward": max_pool_backward,
    "upsample_nearest2d": nearest,
    **dict.fromkeys(("normal_", "uniform_", "bernoulli_", "random_", "exponential_"), random),
    "cumsum": scan,
    "mse_loss": loss,
    "mse_loss_backward": loss_backward,
}
