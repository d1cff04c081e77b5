"""What torch.cuda's Python code calls and an emulated GPU does not have: a call says so in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_NOT_THERE = {
    "_cuda_getCurrentBlasHandle": "torch.cuda.current_blas_handle: a handle of hipBLAS is there in C++ extensions only",
    "_cuda_getCurrentSolverHandle": "a handle of hipSOLVER is there in C++ extensions only",
    "_cuda_jiterator_compile_and_launch_kernel": "torch.cuda.jiterator: write the kernel in Triton, or as HIP C++ "
    "with torch.utils.cpp_extension",
    "_cuda_cudaHostAllocator": "an allocator of pinned memory: use torch.empty(pin_memory=True)",
    "_cuda_customAllocator": "torch.cuda.memory.CUDAPluggableAllocator: memory is the emulated runtime's",
    "_cuda_getAllocator": "an allocator of the program's own: memory is the emulated runtime's",
    "_cuda_busy_wait_for_flag": "torch.cuda._busy_wait_for_flag of torch 2.10: wait for an event",
    "_cuda_clear_flag": "torch.cuda._clear_flag of torch 2.10: wait for an event",
    "_cuda_changeCurrentAllocator": "torch.cuda.memory.change_current_allocator: memory is the emulated runtime's",
}


def refused_names() -> dict[str, Callable[..., Any]]:
    """Name in torch._C -> a function that raises."""
    return {name: _refusal(why) for name, why in _NOT_THERE.items()}


def _refusal(why: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"an emulated GPU has not got this. {why}")

    return refuse
