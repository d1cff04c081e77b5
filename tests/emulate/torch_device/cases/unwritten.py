"""Kernels that read tensors which nobody wrote, and some that read what an operator or a kernel wrote."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):  # noqa: N803
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + place, tl.load(x + place, mask=place < n), mask=place < n)


@triton.jit
def copy_of_nothing(x, y, n, BLOCK: tl.constexpr):  # noqa: N803
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + place, tl.load(x + place, mask=place < n), mask=place < n)


def launch(kernel, x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, x.numel(), BLOCK=64)
    return y


def test_written_memory():
    """Everything here was written, by operators of several kinds or by a kernel."""
    half = torch.empty(64, device="cuda")
    half[:32] = 1
    half[32:].fill_(2)
    out = torch.empty(64, device="cuda")
    torch.add(half, 1, out=out)
    drawn = torch.empty(64, device="cuda").normal_()
    grown = torch.empty(0, device="cuda").resize_(64)  # what resize_ leaves counts as written: it keeps old content
    moved = torch.empty(64, device="cuda").copy_(torch.arange(64.0))
    listed = [torch.empty(64, device="cuda")]
    torch._foreach_zero_(listed)
    for x in (half, out, drawn, grown, moved, *listed, torch.zeros(64, device="cuda"), torch.ones(64).cuda()):
        launch(copy, launch(copy, x))
    for _ in range(3):  # memory that was used before, given out again
        torch.empty(64, device="cuda").fill_(1)
        launch(copy, torch.full((64,), 3.0, device="cuda"))


def test_memory_that_nobody_wrote():
    torch.ones(64, device="cuda")  # its memory may be given out again: that it was written once is not enough
    launch(copy_of_nothing, torch.empty(64, device="cuda"))
    partly = torch.empty(64, device="cuda")
    partly[:60] = 1
    launch(copy_of_nothing, partly)
