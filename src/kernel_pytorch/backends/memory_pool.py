"""Pools: blocks that are kept for the next tensor instead of going back to the system.

On a GPU that is torch's own MemPool. On the CPU torch has none, so freed blocks are kept here by size.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_SMALL, _LARGE = 64 * 1024, 1024 * 1024


class HostPool:
    """CPU blocks by size, up to `capacity_bytes` in use and kept. A block is reused only once no tensor views it."""

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self.reused = 0
        self._kept: dict[int, list[Tensor]] = defaultdict(list)
        # Filled by finalizers, which may run in the middle of anything: appending needs no lock.
        self._returned: deque[Tensor] = deque()
        self._held_bytes = 0
        self._lock = threading.Lock()
        self._alone = _use_count(_block(_SMALL))

    def allocate(self, nbytes: int) -> Tensor | None:
        """A byte tensor of at least `nbytes`, or None if the pool is full."""
        size = _rounded(nbytes)
        with self._lock:
            self._sort_returned()
            if self._kept[size]:
                self.reused += 1
                return self._kept[size].pop()
            if self._held_bytes + size > self.capacity_bytes:
                self._drop_kept(self._held_bytes + size - self.capacity_bytes)
            if self._held_bytes + size > self.capacity_bytes:
                return None
            self._held_bytes += size
        try:
            return _block(size)
        except RuntimeError:
            with self._lock:
                self._held_bytes -= size
            raise

    def give_back(self, block: Tensor) -> None:
        """The tensor made of this block is gone; views of it may live on."""
        self._returned.append(block)

    def reserved_bytes(self) -> int:
        """Bytes in use and kept."""
        with self._lock:
            self._sort_returned()
            return self._held_bytes

    def kept_bytes(self) -> int:
        """Bytes kept for reuse."""
        with self._lock:
            self._sort_returned()
            return sum(size * len(blocks) for size, blocks in self._kept.items())

    def clear(self) -> None:
        """Give everything that is not in use back to the system."""
        with self._lock:
            self._sort_returned()
            self._drop_kept(self._held_bytes)
            while self._returned:  # whoever still views one keeps it alive without us
                self._held_bytes -= self._returned.popleft().numel()

    def _sort_returned(self) -> None:
        for _ in range(len(self._returned)):
            block = self._returned.popleft()
            if self._alone is not None and _use_count(block) == self._alone:
                self._kept[block.numel()].append(block)
            else:
                self._returned.append(block)

    def _drop_kept(self, nbytes: int) -> None:
        for size in sorted(self._kept, reverse=True):
            while self._kept[size] and nbytes > 0:
                self._kept[size].pop()
                self._held_bytes -= size
                nbytes -= size


class DevicePool:
    """torch.cuda.MemPool: segments of its own, apart from those of the rest of the program."""

    def __init__(self, capacity_bytes: int, device: torch.device) -> None:
        import torch

        self.capacity_bytes = capacity_bytes
        self.device = device
        self._pool = torch.cuda.MemPool()

    def context(self, live_bytes: int, nbytes: int) -> AbstractContextManager[object]:
        """Where to allocate: in the pool while it has room, else in torch's general allocator."""
        import torch

        if live_bytes + nbytes > self.capacity_bytes:
            return nullcontext()
        pool: AbstractContextManager[object] = torch.cuda.use_mem_pool(self._pool, self.device)
        return pool

    def reserved_bytes(self) -> int:
        """Bytes of the pool's segments."""
        return sum(int(segment["total_size"]) for segment in self._pool.snapshot())

    def clear(self) -> None:
        """Let go of the pool: its segments go back once their tensors are gone."""
        import torch

        self._pool = torch.cuda.MemPool()
        torch.cuda.empty_cache()


def _block(size: int) -> Tensor:
    import torch

    return torch.empty(size, dtype=torch.uint8)


def _rounded(nbytes: int) -> int:
    step = _SMALL if nbytes < _LARGE else _LARGE
    return max(step, (nbytes + step - 1) // step * step)


def _use_count(block: Tensor) -> int | None:
    """How many share the block's storage; None where this torch cannot tell, and then nothing is reused."""
    import torch

    count = getattr(torch._C, "_storage_Use_Count", None)
    return int(count(block.untyped_storage()._cdata)) if count is not None else None
