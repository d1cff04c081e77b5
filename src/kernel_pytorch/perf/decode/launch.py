"""Launching the kernels of decoding: shapes to block sizes, and whether kernels may overlap."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

# Columns of a block: narrow ones where two of them hold the row, wide ones where three have to.
NARROW, WIDE = 1024, 2048
# Rows per program and warps, by measurement on an H200 over the shapes of a 1.1B decoder.
ROWS, FEW_ROWS, WARPS, ATTENTION_WARPS = 4, 2, 4, 4
MANY = 16384
KEYS, MOST_PARTS = 128, 16


@lru_cache(maxsize=8)
def can_overlap(device: Any) -> bool:
    """Programmatic dependent launch: NVIDIA from Hopper on."""
    import torch

    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= (9, 0)


def _extra(overlaps: bool) -> dict[str, Any]:
    # Triton for AMD does not know the option.
    return {"launch_pdl": True} if overlaps else {}


def _block(columns: int) -> int:
    import triton

    return min(NARROW if columns <= 2 * NARROW else WIDE, int(triton.next_power_of_2(columns)))


def row_products(
    x: Any, weights: list[Any], norm: Any, epsilon: float, bias: Any, residual: Any, overlaps: bool
) -> Any:
    """See `ops`: the Triton form."""
    import triton

    from kernel_pytorch.perf.decode.row_kernels import row_times_matrices

    rows = [one.shape[0] for one in weights]
    columns = x.shape[-1]
    out = x.new_empty((1, sum(rows)))
    overlaps = overlaps and can_overlap(x.device)
    block_rows = FEW_ROWS if max(rows) >= MANY else ROWS
    block = _block(columns)
    counts = [*rows, *[0] * (3 - len(rows))]
    # In elements, from the first matrix.
    distances = [(one.data_ptr() - weights[0].data_ptr()) // one.element_size() for one in weights[1:]]
    blocks = triton.cdiv(columns, block)
    row_times_matrices[(sum(triton.cdiv(count, block_rows) for count in rows),)](
        x,
        x if norm is None else norm,
        weights[0],
        x if bias is None else bias,
        x if residual is None else residual,
        out,
        *distances,
        *[0] * (2 - len(distances)),
        *counts,
        columns,
        epsilon,
        HAS_NORM=norm is not None,
        HAS_BIAS=bias is not None,
        HAS_RESIDUAL=residual is not None,
        MATRICES=len(weights),
        OVERLAPS=overlaps,
        BLOCK_ROWS=block_rows,
        BLOCK=block,
        BLOCKS=blocks,
        EVEN=columns % block == 0 and all(count % block_rows == 0 for count in rows),
        num_warps=WARPS,
        **_extra(overlaps),
    )
    return out


def row_gated(x: Any, gate: Any, up: Any, norm: Any, epsilon: float, overlaps: bool) -> Any:
    """See `ops`: the Triton form."""
    import triton

    from kernel_pytorch.perf.decode.row_kernels import row_times_gated

    rows, columns = gate.shape
    out = x.new_empty((1, rows))
    overlaps = overlaps and can_overlap(x.device)
    block = _block(columns)
    row_times_gated[(triton.cdiv(rows, FEW_ROWS),)](
        x,
        x if norm is None else norm,
        gate,
        up,
        out,
        rows,
        columns,
        epsilon,
        HAS_NORM=norm is not None,
        OVERLAPS=overlaps,
        BLOCK_ROWS=FEW_ROWS,
        BLOCK=block,
        BLOCKS=triton.cdiv(columns, block),
        EVEN=columns % block == 0 and rows % FEW_ROWS == 0,
        num_warps=WARPS,
        **_extra(overlaps),
    )
    return out


def attend(q: Any, keys: Any, values: Any, bias: Any, cos: Any, sin: Any, scale: float, overlaps: bool) -> Any:
    """See `ops`: the Triton form."""
    return _attend(q, None, None, keys, values, None, bias, cos, sin, scale, overlaps)


def attend_and_store(
    q: Any,
    k: Any,
    v: Any,
    keys: Any,
    values: Any,
    position: Any,
    bias: Any,
    cos: Any,
    sin: Any,
    scale: float,
    overlaps: bool,
) -> Any:
    """See `ops`: the Triton form."""
    return _attend(q, k, v, keys, values, position, bias, cos, sin, scale, overlaps)


def _attend(
    q: Any,
    k: Any,
    v: Any,
    keys: Any,
    values: Any,
    position: Any,
    bias: Any,
    cos: Any,
    sin: Any,
    scale: float,
    overlaps: bool,
) -> Any:
    import torch
    import triton

    from kernel_pytorch.perf.decode.attention_kernel import one_query_attention

    batch, heads, _, size = q.shape
    shared, length = keys.shape[1], keys.shape[2]
    group = heads // shared
    out = q.new_empty((batch, heads, 1, size))
    overlaps = overlaps and can_overlap(q.device)
    writes = k is not None
    shift = None if bias is None else bias.expand(batch, heads, 1, length)
    block = min(KEYS, max(16, triton.next_power_of_2(length)))
    group_block = max(16, triton.next_power_of_2(group))
    parts = min(MOST_PARTS, triton.next_power_of_2(triton.cdiv(length, block)))
    pieces = batch * shared * parts
    totals = torch.empty(pieces * group_block * size if parts > 1 else 1, dtype=torch.float32, device=q.device)
    tops = torch.empty(pieces * 2 * group_block if parts > 1 else 1, dtype=torch.float32, device=q.device)
    one_query_attention[(shared, parts, batch)](
        q,
        k if writes else q,
        v if writes else q,
        q if cos is None else cos,
        q if sin is None else sin,
        keys,
        values,
        position if writes else q,
        q if shift is None else shift,
        out,
        totals,
        tops,
        _arrived(keys, parts),
        q.stride(0),
        q.stride(1),
        k.stride(0) if writes else 0,
        k.stride(1) if writes else 0,
        v.stride(0) if writes else 0,
        v.stride(1) if writes else 0,
        keys.stride(0),
        keys.stride(1),
        0 if shift is None else shift.stride(0),
        0 if shift is None else shift.stride(1),
        0 if shift is None else shift.stride(3),
        length,
        scale,
        ROTATES=cos is not None,
        WRITES=writes,
        HAS_BIAS=shift is not None,
        SHARED=shared,
        GROUP=group,
        GROUP_BLOCK=group_block,
        SIZE=size,
        BLOCK=block,
        PARTS=parts,
        OVERLAPS=overlaps,
        num_warps=ATTENTION_WARPS,
        **_extra(overlaps),
    )
    return out


_counters: dict[Any, Any] = {}


def _arrived(keys: Any, parts: int) -> Any:
    """Counters of the parts that are done, one per head of a cache. Calls that share a cache may not overlap anyway.

    They are never set back: a kernel that finds a multiple of `parts` knows that it is the last."""
    import torch

    key = (keys.device, keys.data_ptr(), keys.shape[0] * keys.shape[1], parts)
    if key not in _counters:
        _counters[key] = torch.zeros(key[2], dtype=torch.int32, device=keys.device)
    return _counters[key]
