"""One row times matrices, in Triton, with what stands before and after it in a decoder: for decoding one token.

Reading the weights once is all the time there is. So a kernel asks for its part of them before it waits for the kernel
before it (programmatic dependent launch, Hopper and later), and norm, gate, bias and residual cost no pass of their
own. This module needs Triton: import it inside a function.

Several matrices are one base pointer and distances to it: a pointer chosen by a branch would lose what is known about
its alignment, and with it the wide loads.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc,assignment"
# ruff: noqa: N803, RUF005
from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait


@triton.jit
def _part(place, in_rows, column, columns, EVEN: tl.constexpr):
    """A block of a matrix. Read once, so it is the first to leave the cache."""
    if EVEN:
        return tl.load(place + column[None, :], eviction_policy="evict_first")
    inside = in_rows[:, None] & (column < columns)[None, :]
    return tl.load(place + column[None, :], mask=inside, other=0.0, eviction_policy="evict_first")


@triton.jit
def _values(ptr, column, columns, EVEN: tl.constexpr):
    if EVEN:
        return tl.load(ptr + column).to(tl.float32)
    return tl.load(ptr + column, mask=column < columns, other=0.0).to(tl.float32)


@triton.jit
def _active(gate, GATE: tl.constexpr):
    if GATE == "silu":
        return gate / (1.0 + tl.exp(-gate))
    if GATE == "gelu_erf":
        return gate * 0.5 * (1.0 + tl.erf(gate * 0.7071067811865476))
    # (1 + tanh(u)) / 2 is the logistic function of 2u.
    return gate / (1.0 + tl.exp(-1.5957691216057308 * (gate + 0.044715 * gate * gate * gate)))


@triton.jit
def _normed(
    x_ptr, norm_ptr, column, columns, squares, HAS_NORM: tl.constexpr, NORM_PLUS: tl.constexpr, EVEN: tl.constexpr
):
    """A piece of the row times the norm's weight, and its squares added to those before it."""
    x = _values(x_ptr, column, columns, EVEN)
    squares += x * x
    if HAS_NORM:
        if NORM_PLUS == 0.0:
            x = x * _values(norm_ptr, column, columns, EVEN)
        else:
            x = x * (_values(norm_ptr, column, columns, EVEN) + NORM_PLUS)
    return x, squares


@triton.jit
def row_times_matrices(
    x_ptr,
    norm_ptr,
    weight_ptr,
    bias_ptr,
    residual_ptr,
    out_ptr,
    to_second,
    to_third,
    bias_to_second,
    bias_to_third,
    first_rows,
    second_rows,
    third_rows,
    columns,
    epsilon,
    HAS_NORM: tl.constexpr,
    NORM_PLUS: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
    MATRICES: tl.constexpr,
    OVERLAPS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
    EARLY: tl.constexpr,
    EVEN: tl.constexpr,
):
    """out[n] = residual[n] + bias[n] + weight[n] . rms_norm(x), for the rows of up to three matrices.

    The weights of the norm are those in memory plus NORM_PLUS."""
    block = tl.program_id(0)
    rows = first_rows
    offset = 0
    distance = tl.zeros((), tl.int64)
    bias_distance = tl.zeros((), tl.int64)
    if MATRICES > 1:
        first_blocks = tl.cdiv(first_rows, BLOCK_ROWS)
        second_blocks = tl.cdiv(second_rows, BLOCK_ROWS)
        in_second = block >= first_blocks
        in_third = block >= first_blocks + second_blocks
        rows = tl.where(in_third, third_rows, tl.where(in_second, second_rows, first_rows))
        offset = tl.where(in_third, first_rows + second_rows, tl.where(in_second, first_rows, 0))
        distance = tl.where(in_third, to_third, tl.where(in_second, to_second, 0)).to(tl.int64)
        bias_distance = tl.where(in_third, bias_to_third, tl.where(in_second, bias_to_second, 0)).to(tl.int64)
        block -= tl.where(in_third, first_blocks + second_blocks, tl.where(in_second, first_blocks, 0))
    row = block * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    in_rows = row < rows
    place = weight_ptr + distance + row.to(tl.int64)[:, None] * columns
    column = tl.arange(0, BLOCK)
    if OVERLAPS:
        gdc_launch_dependents()
    # On their way before the wait: nobody writes to weights between the first kernel of a call and this one.
    parts = ()
    for number in tl.static_range(EARLY):
        parts = parts + (_part(place, in_rows, number * BLOCK + column, columns, EVEN),)
    if OVERLAPS:
        gdc_wait()
    total = tl.zeros((BLOCK_ROWS, BLOCK), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for number in tl.static_range(EARLY):
        x, squares = _normed(x_ptr, norm_ptr, number * BLOCK + column, columns, squares, HAS_NORM, NORM_PLUS, EVEN)
        total += parts[number].to(tl.float32) * x[None, :]
    for number in range(EARLY, BLOCKS):
        there = number * BLOCK + column
        x, squares = _normed(x_ptr, norm_ptr, there, columns, squares, HAS_NORM, NORM_PLUS, EVEN)
        total += _part(place, in_rows, there, columns, EVEN).to(tl.float32) * x[None, :]
    result = tl.sum(total, axis=1)
    if HAS_NORM:  # a factor of the whole row: it can wait until after the sum
        result = result * tl.rsqrt(tl.sum(squares, axis=0) / columns + epsilon)
    if HAS_BIAS:
        result += tl.load(bias_ptr + bias_distance + row, mask=in_rows, other=0.0).to(tl.float32)
    if HAS_RESIDUAL:
        result += tl.load(residual_ptr + row, mask=in_rows, other=0.0).to(tl.float32)
    tl.store(out_ptr + offset + row, result.to(out_ptr.dtype.element_ty), mask=in_rows)


@triton.jit
def row_times_gated(
    x_ptr,
    norm_ptr,
    gate_ptr,
    up_ptr,
    out_ptr,
    rows,
    columns,
    epsilon,
    HAS_NORM: tl.constexpr,
    NORM_PLUS: tl.constexpr,
    GATE: tl.constexpr,
    OVERLAPS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
    EARLY: tl.constexpr,
    EVEN: tl.constexpr,
):
    """out[n] = active(gate[n] . rms_norm(x)) * (up[n] . rms_norm(x)), `active` being SiLU or GELU."""
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    in_rows = row < rows
    place = row.to(tl.int64)[:, None] * columns
    column = tl.arange(0, BLOCK)
    if OVERLAPS:
        gdc_launch_dependents()
    gate_parts = ()
    up_parts = ()
    for number in tl.static_range(EARLY):
        there = number * BLOCK + column
        gate_parts = gate_parts + (_part(gate_ptr + place, in_rows, there, columns, EVEN),)
        up_parts = up_parts + (_part(up_ptr + place, in_rows, there, columns, EVEN),)
    if OVERLAPS:
        gdc_wait()
    gates = tl.zeros((BLOCK_ROWS, BLOCK), tl.float32)
    ups = tl.zeros((BLOCK_ROWS, BLOCK), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for number in tl.static_range(EARLY):
        x, squares = _normed(x_ptr, norm_ptr, number * BLOCK + column, columns, squares, HAS_NORM, NORM_PLUS, EVEN)
        gates += gate_parts[number].to(tl.float32) * x[None, :]
        ups += up_parts[number].to(tl.float32) * x[None, :]
    for number in range(EARLY, BLOCKS):
        there = number * BLOCK + column
        x, squares = _normed(x_ptr, norm_ptr, there, columns, squares, HAS_NORM, NORM_PLUS, EVEN)
        gates += _part(gate_ptr + place, in_rows, there, columns, EVEN).to(tl.float32) * x[None, :]
        ups += _part(up_ptr + place, in_rows, there, columns, EVEN).to(tl.float32) * x[None, :]
    gate = tl.sum(gates, axis=1)
    up = tl.sum(ups, axis=1)
    if HAS_NORM:
        factor = tl.rsqrt(tl.sum(squares, axis=0) / columns + epsilon)
        gate = gate * factor
        up = up * factor
    result = _active(gate, GATE) * up
    tl.store(out_ptr + row, result.to(out_ptr.dtype.element_ty), mask=in_rows)
