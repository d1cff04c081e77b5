"""The gated activation between the two halves of a projection, as one Triton kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def _swiglu(x, y, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    gate = tl.load(x + row * 2 * width + column, mask=inside, other=0.0)
    value = tl.load(x + row * 2 * width + width + column, mask=inside, other=0.0)
    tl.store(y + row * width + column, gate * tl.sigmoid(gate) * value, mask=inside)


def swiglu(x: torch.Tensor) -> torch.Tensor:
    """`silu(a) * b`, where a and b are the halves of the last dimension."""
    rows, width = x.reshape(-1, x.shape[-1]), x.shape[-1] // 2
    y = torch.empty(*x.shape[:-1], width, device=x.device, dtype=x.dtype)
    block = min(1024, triton.next_power_of_2(width))
    _swiglu[(rows.shape[0], triton.cdiv(width, block))](rows.contiguous(), y, width, BLOCK=block)
    return y
