"""Operators that only move data: no FLOPs, every element read and written."""

from __future__ import annotations

import math

from kernel_pytorch.perf.roofline.shapes import DTYPES, tensor, tensors
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature


def copy(signature: Signature) -> Work | None:
    """copy_: destination, source; the types may differ."""
    target, source = tensor(signature, 0), tensor(signature, 1)
    if target is None or source is None:
        return None
    return Work(0, source.bytes + target.count * target.element_bytes, target.arithmetic)


def clone(signature: Signature) -> Work | None:
    """clone, contiguous: read once, written once."""
    x = tensor(signature, 0)
    return None if x is None else Work(0, x.bytes + x.count * x.element_bytes, x.arithmetic)


def cat(signature: Signature) -> Work | None:
    """cat, stack: every input read and written once."""
    parts = tensors(signature)
    if not parts:
        return None
    moved = sum(part.bytes + part.count * part.element_bytes for part in parts)
    return Work(0, moved, parts[0].arithmetic)


def index_select(signature: Signature) -> Work | None:
    """index_select: input, dim, index. Only the chosen rows are read. The axis is that of an embedding (0)."""
    x, index = tensor(signature, 0), tensor(signature, 2)
    if x is None or index is None or not x.shape:
        return None
    chosen = index.count * (x.count // x.shape[0])
    return Work(0, 2 * chosen * x.element_bytes + index.bytes, x.arithmetic)


def embedding(signature: Signature) -> Work | None:
    """embedding: weight, indices."""
    weight, index = tensor(signature, 0), tensor(signature, 1)
    if weight is None or index is None:
        return None
    chosen = index.count * weight.shape[-1]
    return Work(0, 2 * chosen * weight.element_bytes + index.bytes, weight.arithmetic)


def fill(signature: Signature) -> Work | None:
    """fill_, zero_: written once."""
    x = tensor(signature, 0)
    return None if x is None else Work(0, x.count * x.element_bytes, x.arithmetic)


def gather(signature: Signature) -> Work | None:
    """gather: input, dim, index: one element read and written per index."""
    x, index = tensor(signature, 0), tensor(signature, 2)
    if x is None or index is None:
        return None
    return Work(0, index.bytes + 2 * math.prod(index.shape) * x.element_bytes, DTYPES[x.dtype][1])


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
