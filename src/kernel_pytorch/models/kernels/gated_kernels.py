"""Triton kernels of activation(gate) * up: SiLU, and GELU in its tanh and erf forms. fp32 inside."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803
from __future__ import annotations

from functools import lru_cache
from typing import Any

# Triton looks names up in the module of a kernel; they are bound when the kernels are first asked for.
tl: Any = None
activation: Any = None


@lru_cache(maxsize=1)
def gated_kernels() -> dict[str, Any]:
    """The kernels by name; Triton is imported here and not before."""
    global tl, activation
    import triton
    from triton import language as tl

    @triton.jit
    def activation(x, KIND: tl.constexpr):
        """The activation and its derivative. Saturates for large |x| instead of overflowing."""
        if KIND == "silu":
            part = tl.sigmoid(x)
            value = x * part
            slope = part + value * (1.0 - part)
        elif KIND == "gelu_tanh":
            # (1 + tanh(u)) / 2 is sigmoid(2u): no tanh that could overflow, and exact far down the left tail. Past 16,
            # where it is 0 or 1 to the last bit, the cube would overflow and the derivative be 0 * inf.
            near = tl.minimum(tl.maximum(x, -16.0), 16.0)
            square = near * near
            part = tl.sigmoid(1.5957691216057308 * near * (1.0 + 0.044715 * square))
            value = x * part
            inner = 1.5957691216057308 * (1.0 + 0.134145 * square)
            slope = part + near * part * (1.0 - part) * inner
        else:
            part = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
            value = x * part
            near = tl.minimum(tl.maximum(x, -16.0), 16.0)
            slope = part + near * 0.3989422804014327 * tl.exp(-0.5 * near * near)
        return value, slope

    @triton.jit
    def gated_forward(out, gate, up, length, tiles, gate_stride, up_stride, KIND: tl.constexpr, BLOCK: tl.constexpr):
        """out = activation(gate) * up. Program i has block i % tiles of row i // tiles."""
        program = tl.program_id(0)
        row = (program // tiles).to(tl.int64)
        start = (program % tiles).to(tl.int64) * BLOCK
        column = tl.arange(0, BLOCK)
        inside = column < length - start
        left = tl.load(gate + (row * gate_stride + start) + column, mask=inside, other=0.0).to(tl.float32)
        right = tl.load(up + (row * up_stride + start) + column, mask=inside, other=0.0).to(tl.float32)
        value, _slope = activation(left, KIND)
        tl.store(out + (row * length + start) + column, (value * right).to(out.dtype.element_ty), mask=inside)

    @triton.jit
    def gated_backward(
        dgate, dup, dout, gate, up, length, tiles, dout_stride, gate_stride, up_stride,
        KIND: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """Both gradients; the activation is computed again rather than kept."""
        program = tl.program_id(0)
        row = (program // tiles).to(tl.int64)
        start = (program % tiles).to(tl.int64) * BLOCK
        column = tl.arange(0, BLOCK)
        inside = column < length - start
        given = tl.load(dout + (row * dout_stride + start) + column, mask=inside, other=0.0).to(tl.float32)
        left = tl.load(gate + (row * gate_stride + start) + column, mask=inside, other=0.0).to(tl.float32)
        right = tl.load(up + (row * up_stride + start) + column, mask=inside, other=0.0).to(tl.float32)
        value, slope = activation(left, KIND)
        place = (row * length + start) + column
        tl.store(dgate + place, (given * right * slope).to(dgate.dtype.element_ty), mask=inside)
        tl.store(dup + place, (given * value).to(dup.dtype.element_ty), mask=inside)

    return {kernel.__name__: kernel for kernel in (gated_forward, gated_backward)}
