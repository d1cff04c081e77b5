"""A Triton kernel a repository might hold: one configuration fits, one does not."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 256}, num_warps=4), triton.Config({"BLOCK": 256}, num_warps=32)], key=[]
)
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """out = 2 x."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + place, tl.load(x_ptr + place, mask=place < n) * 2, mask=place < n)


def double(x: Any, out: Any) -> None:
    """Launch it."""
    double_kernel[(1,)](x, out, x.numel())
