"""A few rows times a weight, in Triton: the weight as it is or in 8 or 4 bits, read once for all rows.

This module needs Triton: import it inside a function. KIND is "plain", "int8", "fp8" or "int4" (see `formats`).
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _halves(packed):
    """Columns c and c + 64 of a group of int4."""
    return (packed & 15).to(tl.float32) - 8.0, (packed >> 4).to(tl.float32) - 8.0


@triton.jit
def one_row_times_narrow(
    x_ptr,
    weight_ptr,
    scale_ptr,
    bias_ptr,
    out_ptr,
    rows,
    columns,
    HAS_BIAS: tl.constexpr,
    KIND: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """out[n] = scale[n] * (weight[n] . x) + bias[n]; with int4 every 128 columns have a scale. BLOCK counts bytes."""
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    in_rows = row < rows
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK_ROWS, BLOCK), tl.float32)
    width = columns
    if KIND == "int4":
        width = columns // 2
    place = weight_ptr + row.to(tl.int64)[:, None] * width
    for start in range(0, width, BLOCK):
        at = start + lane
        inside = in_rows[:, None] & (at < width)[None, :]
        part = tl.load(place + at[None, :], mask=inside, other=0.0, eviction_policy="evict_first")
        if KIND == "int4":
            low, high = _halves(part)
            group = at // 64
            first = group * 128 + at % 64
            x_low = tl.load(x_ptr + first, mask=at < width, other=0.0).to(tl.float32)
            x_high = tl.load(x_ptr + first + 64, mask=at < width, other=0.0).to(tl.float32)
            scales = scale_ptr + row[:, None] * (columns // 128) + group[None, :]
            scale = tl.load(scales, mask=inside, other=0.0).to(tl.float32)
            total += (low * x_low[None, :] + high * x_high[None, :]) * scale
        else:
            x = tl.load(x_ptr + at, mask=at < width, other=0.0).to(tl.float32)
            total += part.to(tl.float32) * x[None, :]
    result = tl.sum(total, axis=1)
    if KIND == "int8" or KIND == "fp8":
        result *= tl.load(scale_ptr + row, mask=in_rows, other=0.0).to(tl.float32)
    if HAS_BIAS:
        result += tl.load(bias_ptr + row, mask=in_rows, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, result.to(out_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def few_rows_times_narrow(
    x_ptr,
    weight_ptr,
    scale_ptr,
    bias_ptr,
    out_ptr,
    count,
    rows,
    columns,
    HAS_BIAS: tl.constexpr,
    KIND: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The same for up to 16 rows of x, by matrix units. BLOCK counts columns; with int4 it is a group of 128."""
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    in_rows = row < rows
    number = tl.arange(0, 16)
    in_count = number < count
    kind = x_ptr.dtype.element_ty
    total = tl.zeros((16, BLOCK_ROWS), tl.float32)
    x_place = x_ptr + number[:, None] * columns
    if KIND == "int4":
        byte = tl.arange(0, BLOCK // 2)
        place = weight_ptr + row.to(tl.int64)[:, None] * (columns // 2)
        for group in range(columns // BLOCK):
            inside = in_rows[:, None] & (byte < BLOCK // 2)[None, :]
            at = group * (BLOCK // 2) + byte
            part = tl.load(place + at[None, :], mask=inside, other=0.0, eviction_policy="evict_first")
            low, high = _halves(part)
            first = x_place + group * BLOCK + byte[None, :]
            x_low = tl.load(first, mask=in_count[:, None], other=0.0)
            x_high = tl.load(first + BLOCK // 2, mask=in_count[:, None], other=0.0)
            sums = tl.dot(x_low, tl.trans(low.to(kind))) + tl.dot(x_high, tl.trans(high.to(kind)))
            scale = tl.load(scale_ptr + row * (columns // BLOCK) + group, mask=in_rows, other=0.0).to(tl.float32)
            total += sums * scale[None, :]
    else:
        column = tl.arange(0, BLOCK)
        place = weight_ptr + row.to(tl.int64)[:, None] * columns
        for start in range(0, columns, BLOCK):
            at = start + column
            inside = (at < columns)[None, :]
            part = tl.load(
                place + at[None, :], mask=in_rows[:, None] & inside, other=0.0, eviction_policy="evict_first"
            )
            x = tl.load(x_place + at[None, :], mask=in_count[:, None] & inside, other=0.0)
            total += tl.dot(x, tl.trans(part.to(kind)))
        if KIND != "plain":
            total *= tl.load(scale_ptr + row, mask=in_rows, other=0.0).to(tl.float32)[None, :]
    if HAS_BIAS:
        total += tl.load(bias_ptr + row, mask=in_rows, other=0.0).to(tl.float32)[None, :]
    out = out_ptr + number[:, None] * rows + row[None, :]
    tl.store(out, total.to(out_ptr.dtype.element_ty), mask=in_count[:, None] & in_rows[None, :])
