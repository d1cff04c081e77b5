"""Triton kernels of the aggressive level: RMS norm, and SiLU times a gate. Forward only.

They live inside functions because importing Triton takes time and it need not be there.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import Any

# One program holds a whole row; longer rows would spill registers.
LONGEST_ROW = 16384


def why_not(model: Any) -> str | None:
    """The reason why Triton kernels cannot serve this model, or None."""
    if not any(item.device.type == "cuda" for item in model.parameters()):
        return "Triton kernels need the model on a GPU"
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    return None


def rms_norm(x: Any, weight: Any, eps: float, weight_first: bool = False) -> Any:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis, computed in fp32.

    `weight_first` False: the normalised row is rounded to x's dtype before the weight (as in Llama's code)."""
    import torch
    import triton

    row = x.shape[-1]
    rows = x.reshape(-1, row)
    rows = rows if rows.stride(-1) == 1 else rows.contiguous()
    out = torch.empty_like(rows, memory_format=torch.contiguous_format)
    block = triton.next_power_of_2(row)
    warps = min(max(block // 512, 1), 16)
    _kernels()["rms_norm"][(rows.shape[0],)](
        out, rows, weight, rows.stride(0), row, eps, BLOCK=block, ROUND_FIRST=not weight_first, num_warps=warps
    )
    return out.view(x.shape)


def silu_times(gate: Any, up: Any) -> Any:
    """silu(gate) * up, computed in fp32, with silu rounded to the inputs' dtype as torch does."""
    import torch
    import triton

    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    block = 1024
    _kernels()["silu_times"][(triton.cdiv(gate.numel(), block),)](out, gate, up, gate.numel(), BLOCK=block)
    return out


@lru_cache(maxsize=1)
def _kernels() -> dict[str, Any]:
    import triton
    from triton import language as tl

    @triton.jit  # type: ignore[untyped-decorator]
    def rms_norm_kernel(out, x, weight, stride, length, eps, BLOCK: tl.constexpr, ROUND_FIRST: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
        row = tl.program_id(0).to(tl.int64)
        columns = tl.arange(0, BLOCK)
        inside = columns < length
        values = tl.load(x + row * stride + columns, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(values * values, axis=0) / length + eps)
        factor = tl.load(weight + columns, mask=inside, other=0.0)
        normal = values * scale
        if ROUND_FIRST:
            normal = normal.to(out.dtype.element_ty).to(tl.float32)
        result = normal * factor.to(tl.float32)
        tl.store(out + row * length + columns, result.to(out.dtype.element_ty), mask=inside)

    @triton.jit  # type: ignore[untyped-decorator]
    def silu_times_kernel(out, gate, up, length, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
        places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = places < length
        left = tl.load(gate + places, mask=inside, other=0.0).to(tl.float32)
        right = tl.load(up + places, mask=inside, other=0.0).to(tl.float32)
        silu = (left / (1.0 + tl.exp(-left))).to(out.dtype.element_ty).to(tl.float32)
        tl.store(out + places, (silu * right).to(out.dtype.element_ty), mask=inside)

    return {"rms_norm": rms_norm_kernel, "silu_times": silu_times_kernel}
