"""Triton kernels of RMSNorm and LayerNorm, each with or without the sum of a residual before it. fp32 inside.

The backward pass keeps the sums of the weight's gradient in registers over all rows of a program, so that inputs are
read once; a second kernel adds the programs' sums up, in a fixed order. Rows too long for registers are read twice.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803
from __future__ import annotations

from functools import lru_cache
from typing import Any

# Triton looks names up in the module of a kernel; they are bound when the kernels are first asked for.
tl: Any = None
add_pairs: Any = None


@lru_cache(maxsize=1)
def norm_kernels() -> dict[str, Any]:
    """The kernels by name; Triton is imported here and not before."""
    global tl, add_pairs
    import triton
    from triton import language as tl

    @triton.jit
    def add_pairs(a, b, c, d):
        """Two sums in one reduction: half the barriers."""
        return a + c, b + d

    @triton.jit
    def norm_forward(
        y, h, mean, rstd, x, residual, weight, bias, rows, length, x_stride, residual_stride, eps, offset,
        CENTER: tl.constexpr, ROUND_FIRST: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """A whole row in registers. CENTER: LayerNorm. ROUND_FIRST: to x's dtype before the weight, as Llama does."""
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
        column = tl.arange(0, BLOCK)[None, :]
        inside = (row < rows) & (column < length)
        values = tl.load(x + row * x_stride + column, mask=inside, other=0.0).to(tl.float32)
        if residual is not None:
            values += tl.load(residual + row * residual_stride + column, mask=inside, other=0.0).to(tl.float32)
            total = values.to(h.dtype.element_ty)
            tl.store(h + row * length + column, total, mask=inside)
            values = total.to(tl.float32)
        if CENTER:
            center = tl.sum(values, axis=1, keep_dims=True) / length
            values = tl.where(inside, values - center, 0.0)
            tl.store(mean + row, center, mask=row < rows)
        scale = tl.rsqrt(tl.sum(values * values, axis=1, keep_dims=True) / length + eps)
        tl.store(rstd + row, scale, mask=row < rows)
        result = values * scale
        if ROUND_FIRST:
            result = result.to(y.dtype.element_ty).to(tl.float32)
        if weight is not None:
            result *= tl.load(weight + column, mask=column < length, other=0.0).to(tl.float32) + offset
        if bias is not None:
            result += tl.load(bias + column, mask=column < length, other=0.0).to(tl.float32)
        tl.store(y + row * length + column, result.to(y.dtype.element_ty), mask=inside)

    @triton.jit
    def norm_forward_long(
        y, h, mean, rstd, x, residual, weight, bias, rows, length, x_stride, residual_stride, eps, offset,
        CENTER: tl.constexpr, ROUND_FIRST: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """One row in pieces: a pass for the statistics, and one for the result, which finds the row in a cache."""
        row = tl.program_id(0).to(tl.int64)
        piece = tl.arange(0, BLOCK)
        center = 0.0
        spread = 0.0
        squares = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, length, BLOCK):
            column = start + piece
            inside = column < length
            values = tl.load(x + row * x_stride + column, mask=inside, other=0.0).to(tl.float32)
            if residual is not None:
                values += tl.load(residual + row * residual_stride + column, mask=inside, other=0.0).to(tl.float32)
                total = values.to(h.dtype.element_ty)
                tl.store(h + row * length + column, total, mask=inside)
                values = total.to(tl.float32)
            if CENTER:
                # Chan's formula joins mean and spread of two parts without the cancellation of E[x^2] - E[x]^2.
                count = tl.minimum(length - start, BLOCK).to(tl.float32)
                part = tl.sum(values, axis=0) / count
                apart = tl.where(inside, values - part, 0.0)
                shift = part - center
                center += shift * (count / (start + count))
                spread += tl.sum(apart * apart, axis=0) + shift * shift * (count * start / (start + count))
            else:
                squares += values * values
        if CENTER:
            tl.store(mean + row, center)
        else:
            spread = tl.sum(squares, axis=0)
        scale = tl.rsqrt(spread / length + eps)
        tl.store(rstd + row, scale)
        for start in range(0, length, BLOCK):
            column = start + piece
            inside = column < length
            values = tl.load(x + row * x_stride + column, mask=inside, other=0.0).to(tl.float32)
            if residual is not None:
                values += tl.load(residual + row * residual_stride + column, mask=inside, other=0.0).to(tl.float32)
                values = values.to(h.dtype.element_ty).to(tl.float32)
            result = (values - center) * scale
            if ROUND_FIRST:
                result = result.to(y.dtype.element_ty).to(tl.float32)
            if weight is not None:
                result *= tl.load(weight + column, mask=inside, other=0.0).to(tl.float32) + offset
            if bias is not None:
                result += tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
            tl.store(y + row * length + column, result.to(y.dtype.element_ty), mask=inside)

    @triton.jit
    def norm_backward(
        dx, dweight, dbias, dy, dh, x, mean, rstd, weight, rows, length, dy_stride, dh_stride, x_stride, offset,
        CENTER: tl.constexpr, ROUND_FIRST: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
        PREFETCH: tl.constexpr, HOLD: tl.constexpr,
    ):  # fmt: skip
        """Rows go round the programs. dweight and dbias are rows of fp32 sums, one of each program, or None.

        PREFETCH: the next row is asked for before this one is worked on. HOLD: the weight stays in registers."""
        program = tl.program_id(0)
        column = tl.arange(0, BLOCK)[None, :]
        within = column < length
        if HOLD and weight is not None:
            factor = tl.load(weight + column, mask=within, other=0.0).to(tl.float32) + offset
        weight_sum = tl.zeros((ROWS, BLOCK), tl.float32)
        bias_sum = tl.zeros((ROWS, BLOCK), tl.float32)
        step = tl.num_programs(0) * ROWS
        first = program * ROWS
        row = first.to(tl.int64) + tl.arange(0, ROWS)[:, None]
        if PREFETCH:
            inside = (row < rows) & within
            next_dy = tl.load(dy + row * dy_stride + column, mask=inside, other=0.0)
            next_x = tl.load(x + row * x_stride + column, mask=inside, other=0.0)
        for _ in range(first, rows, step):
            inside = (row < rows) & within
            if PREFETCH:
                gradient = next_dy.to(tl.float32)
                normal = next_x.to(tl.float32)
                later = row + step
                ahead = (later < rows) & within
                next_dy = tl.load(dy + later * dy_stride + column, mask=ahead, other=0.0)
                next_x = tl.load(x + later * x_stride + column, mask=ahead, other=0.0)
            else:
                gradient = tl.load(dy + row * dy_stride + column, mask=inside, other=0.0).to(tl.float32)
                normal = tl.load(x + row * x_stride + column, mask=inside, other=0.0).to(tl.float32)
            scale = tl.load(rstd + row, mask=row < rows, other=0.0)
            if CENTER:
                normal -= tl.load(mean + row, mask=row < rows, other=0.0)
                normal = tl.where(inside, normal, 0.0)
            normal *= scale
            if dweight is not None:
                if ROUND_FIRST:
                    weight_sum += gradient * normal.to(x.dtype.element_ty).to(tl.float32)
                else:
                    weight_sum += gradient * normal
            if dbias is not None:
                bias_sum += gradient
            if weight is not None:
                if HOLD:
                    gradient *= factor
                else:
                    gradient *= tl.load(weight + column, mask=within, other=0.0).to(tl.float32) + offset
            if CENTER:
                along, total = tl.reduce((gradient * normal, gradient), 1, add_pairs, keep_dims=True)
                result = (gradient - normal * (along / length) - total / length) * scale
            else:
                along = tl.sum(gradient * normal, axis=1, keep_dims=True)
                result = (gradient - normal * (along / length)) * scale
            if dh is not None:
                result += tl.load(dh + row * dh_stride + column, mask=inside, other=0.0).to(tl.float32)
            tl.store(dx + row * length + column, result.to(dx.dtype.element_ty), mask=inside)
            row += step
        place = program.to(tl.int64) * length + column
        if dweight is not None:
            if ROWS > 1:
                weight_sum = tl.sum(weight_sum, axis=0, keep_dims=True)
            tl.store(dweight + place, weight_sum, mask=within)
        if dbias is not None:
            if ROWS > 1:
                bias_sum = tl.sum(bias_sum, axis=0, keep_dims=True)
            tl.store(dbias + place, bias_sum, mask=within)

    @triton.jit
    def norm_backward_long(
        dx, dy, dh, x, mean, rstd, weight, length, dy_stride, dh_stride, x_stride, offset,
        CENTER: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """The gradient of one long row in pieces."""
        row = tl.program_id(0).to(tl.int64)
        piece = tl.arange(0, BLOCK)
        scale = tl.load(rstd + row)
        center = 0.0
        if CENTER:
            center = tl.load(mean + row)
        along = tl.zeros((BLOCK,), tl.float32)
        total = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, length, BLOCK):
            column = start + piece
            inside = column < length
            gradient = tl.load(dy + row * dy_stride + column, mask=inside, other=0.0).to(tl.float32)
            normal = (tl.load(x + row * x_stride + column, mask=inside, other=0.0).to(tl.float32) - center) * scale
            if weight is not None:
                gradient *= tl.load(weight + column, mask=inside, other=0.0).to(tl.float32) + offset
            along += gradient * normal
            total += gradient
        projection = tl.sum(along, axis=0) / length
        average = tl.sum(total, axis=0) / length
        for start in range(0, length, BLOCK):
            column = start + piece
            inside = column < length
            gradient = tl.load(dy + row * dy_stride + column, mask=inside, other=0.0).to(tl.float32)
            normal = (tl.load(x + row * x_stride + column, mask=inside, other=0.0).to(tl.float32) - center) * scale
            if weight is not None:
                gradient *= tl.load(weight + column, mask=inside, other=0.0).to(tl.float32) + offset
            result = gradient - normal * projection
            if CENTER:
                result -= average
            result *= scale
            if dh is not None:
                result += tl.load(dh + row * dh_stride + column, mask=inside, other=0.0).to(tl.float32)
            tl.store(dx + row * length + column, result.to(dx.dtype.element_ty), mask=inside)

    @triton.jit
    def weight_gradient_long(
        dweight, dbias, dy, x, mean, rstd, rows, length, dy_stride, x_stride,
        CENTER: tl.constexpr, ROUND_FIRST: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """Sums down the columns of long rows: program (i, j) adds every so many rows of column block i."""
        column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
        weight_sum = tl.zeros((ROWS, BLOCK), tl.float32)
        bias_sum = tl.zeros((ROWS, BLOCK), tl.float32)
        first = tl.program_id(1) * ROWS
        step = tl.num_programs(1) * ROWS
        row = first.to(tl.int64) + tl.arange(0, ROWS)[:, None]
        for _ in range(first, rows, step):
            inside = (row < rows) & (column < length)
            gradient = tl.load(dy + row * dy_stride + column, mask=inside, other=0.0).to(tl.float32)
            if dweight is not None:
                normal = tl.load(x + row * x_stride + column, mask=inside, other=0.0).to(tl.float32)
                if CENTER:
                    normal -= tl.load(mean + row, mask=row < rows, other=0.0)
                normal *= tl.load(rstd + row, mask=row < rows, other=0.0)
                if ROUND_FIRST:
                    normal = normal.to(x.dtype.element_ty).to(tl.float32)
                weight_sum += gradient * normal
            if dbias is not None:
                bias_sum += gradient
            row += step
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        part = tl.program_id(1).to(tl.int64) * length
        if dweight is not None:
            tl.store(dweight + part + place, tl.sum(weight_sum, axis=0), mask=place < length)
        if dbias is not None:
            tl.store(dbias + part + place, tl.sum(bias_sum, axis=0), mask=place < length)

    @triton.jit
    def sum_parts(
        weight_out, bias_out, weight_parts, bias_parts, parts, length, ROWS: tl.constexpr, BLOCK: tl.constexpr
    ):
        """The sums of all programs added up. Columns fastest, so that the order is the same at every run."""
        column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        weight_sum = tl.zeros((ROWS, BLOCK), tl.float32)
        bias_sum = tl.zeros((ROWS, BLOCK), tl.float32)
        for start in range(0, parts, ROWS):
            part = start + tl.arange(0, ROWS)[:, None]
            inside = (part < parts) & (column < length)
            if weight_parts is not None:
                weight_sum += tl.load(weight_parts + part.to(tl.int64) * length + column, mask=inside, other=0.0)
            if bias_parts is not None:
                bias_sum += tl.load(bias_parts + part.to(tl.int64) * length + column, mask=inside, other=0.0)
        if weight_parts is not None:
            total = tl.sum(weight_sum, axis=0).to(weight_out.dtype.element_ty)
            tl.store(weight_out + place, total, mask=place < length)
        if bias_parts is not None:
            total = tl.sum(bias_sum, axis=0).to(bias_out.dtype.element_ty)
            tl.store(bias_out + place, total, mask=place < length)

    return {
        kernel.__name__: kernel
        for kernel in (
            norm_forward,
            norm_forward_long,
            norm_backward,
            norm_backward_long,
            weight_gradient_long,
            sum_parts,
        )
    }
