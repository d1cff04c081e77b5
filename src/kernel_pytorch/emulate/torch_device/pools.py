"""torch.cuda.MemPool. All memory of an emulated GPU comes from one place, so a pool is a name and nothing moves."""

from __future__ import annotations

import itertools
from typing import Any


def pool_names() -> dict[str, Any]:
    """The names that torch.cuda.memory and Inductor take from torch._C for pools."""
    numbers = itertools.count(1)

    class _MemPool:
        def __init__(self, allocator: Any = None, *_: Any, **__: Any) -> None:
            import torch

            self._allocator, self._id = allocator, (0, next(numbers))
            self._device = int(torch.cuda.current_device())

        @property
        def allocator(self) -> Any:
            return self._allocator

        @property
        def id(self) -> tuple[int, int]:
            return self._id

        @property
        def device(self) -> int:
            return self._device

        def use_count(self) -> int:
            return 1

    class _AllocatorState:
        """Inductor's trees of graphs name it when they are imported. They are off (torch_program)."""

    def nothing(*_: Any) -> None:
        """There is nothing to switch over."""

    names = (
        "_cuda_beginAllocateToPool",
        "_cuda_beginAllocateCurrentThreadToPool",
        "_cuda_beginAllocateCurrentStreamToPool",
        "_cuda_endAllocateToPool",
        "_cuda_releasePool",
    )
    return {
        "_MemPool": _MemPool,
        "_cuda_CUDAAllocator_AllocatorState": _AllocatorState,
        **dict.fromkeys(names, nothing),
    }
