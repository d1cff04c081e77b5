"""Operators that only move data: no FLOPs, every element read and written."""

from __future__ import annotations

import math

from kernel_pytorch.perf.roofline.forms import Streamed, access_of
from kernel_pytorch.perf.roofline.shapes import DTYPES, Tensor, tensor, tensors
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

_CHOSEN = Streamed("copy", "strided")  # whole rows, wherever they lie


def copy(signature: Signature) -> Work | None:
    """copy_: destination, source; the types may differ."""
    target, source = tensor(signature, 0), tensor(signature, 1)
    if target is None or source is None:
        return None
    form = Streamed("copy", access_of((target, source)))
    return Work(0, source.bytes + target.count * target.element_bytes, target.arithmetic, form=form)


def clone(signature: Signature) -> Work | None:
    """clone, contiguous: read once, written once."""
    x = tensor(signature, 0)
    if x is None:
        return None
    return Work(0, x.bytes + x.count * x.element_bytes, x.arithmetic, form=Streamed("copy", access_of((x,))))


def cat(signature: Signature) -> Work | None:
    """cat, stack: every input read and written once."""
    parts = tensors(signature)
    if not parts:
        return None
    moved = sum(part.bytes + part.count * part.element_bytes for part in parts)
    plain = all(access_of((part, Tensor(part.shape, part.dtype))) == "same" for part in parts)
    return Work(0, moved, parts[0].arithmetic, form=Streamed("copy", "strided" if plain else "transposed"))


def index_select(signature: Signature) -> Work | None:
    """index_select: input, dim, index. Only the chosen rows are read. The axis is that of an embedding (0)."""
    x, index = tensor(signature, 0), tensor(signature, 2)
    if x is None or index is None or not x.shape:
        return None
    chosen = index.count * (x.count // x.shape[0])
    return Work(0, 2 * chosen * x.element_bytes + index.bytes, x.arithmetic, form=_CHOSEN)


def embedding(signature: Signature) -> Work | None:
    """embedding: weight, indices."""
    weight, index = tensor(signature, 0), tensor(signature, 1)
    if weight is None or index is None:
        return None
    chosen = index.count * weight.shape[-1]
    return Work(0, 2 * chosen * weight.element_bytes + index.bytes, weight.arithmetic, form=_CHOSEN)


def fill(signature: Signature) -> Work | None:
    """fill_, zero_: written once."""
    x = tensor(signature, 0)
    if x is None:
        return None
    return Work(0, x.count * x.element_bytes, x.arithmetic, form=Streamed("elementwise", access_of((x,))))


def gather(signature: Signature) -> Work | None:
    """gather: input, dim, index: one element read and written per index."""
    x, index = tensor(signature, 0), tensor(signature, 2)
    if x is None or index is None:
        return None
    return Work(0, index.bytes + 2 * math.prod(index.shape) * x.element_bytes, DTYPES[x.dtype][1], form=_CHOSEN)


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
}
