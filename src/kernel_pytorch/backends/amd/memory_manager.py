"""AMDMemoryManager: what memory there is, who uses it, a pool, and refusal before the device fails."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.batch_size import BatchFit, find_batch_size
from kernel_pytorch.backends.found_devices import rocm_device_or_cpu, stood_in_memory_bytes
from kernel_pytorch.backends.host import MB
from kernel_pytorch.backends.memory_figures import (
    MemoryStats,
    available_bytes,
    cuda_stats,
    device_total_bytes,
    memory_error,
)
from kernel_pytorch.backends.memory_pool import DevicePool, HostPool
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.errors import AMDConfigurationError, AMDDeviceError, ROCmMemoryError
from kernel_pytorch.core.hardware import GIB
from kernel_pytorch.models.memory import is_out_of_memory, release_unused

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["AMDMemoryManager", "MemoryStats"]


@dataclass
class _Purpose:
    live: int = 0
    live_bytes: int = 0
    peak_bytes: int = 0
    allocations: int = 0


@dataclass(frozen=True)
class _Allocation:
    purpose: str
    nbytes: int
    block: Tensor | None  # the host pool's block, if it came from there
    finalizer: weakref.finalize[..., Tensor]


class AMDMemoryManager:
    """Memory of one device: the configured AMD GPU, the CPU where there is none, or `device` if given.

    `device_id` takes the place of the configuration's. For a GPU that is stood in for (`core.platform.using`) the
    figures and refusals are that GPU's, while tensors lie in the host's memory.

    `max_memory_fraction` bounds what may be used, `memory_pool_size_gb` what the pool holds (nothing without
    `enable_memory_pooling`), and `enable_oom_protection` switches the refusals of `check` and `protect`.
    """

    def __init__(
        self,
        config: AMDConfig | None = None,
        *,
        device: str | int | torch.device | None = None,
        device_id: int | None = None,
    ) -> None:
        import torch

        if device is not None and device_id is not None:
            raise AMDConfigurationError("device_id", device_id, f"leave it out where device={device!r} is given")
        self.config = config if config is not None else AMDConfig()
        if device_id is not None:
            self.config = replace(self.config, device_id=device_id)
        self._stood_in_bytes = stood_in_memory_bytes(self.config.device_id) if device is None else 0
        self.device = torch.device(device) if device is not None else rocm_device_or_cpu(self.config.device_id)
        self._lock = threading.RLock()
        self._live: dict[int, _Allocation] = {}
        self._purposes: dict[str, _Purpose] = {}
        self._counts = {"allocations": 0, "frees": 0}
        self._live_bytes = 0
        self._peak_bytes = 0
        self._recording = False
        self._previous_fraction: float | None = None
        self._host_pool: HostPool | None = None
        self._device_pool: DevicePool | None = None
        capacity = int(self.config.memory_pool_size_gb * GIB)
        if self.device.type == "cuda":
            if self.device.index is None:
                self.device = torch.device("cuda", torch.cuda.current_device())
            fraction_now = getattr(torch.cuda, "get_per_process_memory_fraction", lambda device: 1.0)
            self._previous_fraction = fraction_now(self.device)
            torch.cuda.set_per_process_memory_fraction(self.config.max_memory_fraction, self.device)
            self._device_pool = DevicePool(capacity, self.device) if self.config.enable_memory_pooling else None
        elif self.config.enable_memory_pooling:
            self._host_pool = HostPool(capacity)

    @property
    def device_id(self) -> int:
        """The number of the GPU; on the CPU the configured one."""
        return self.config.device_id if self.device.index is None else self.device.index

    def get_memory_stats(self) -> MemoryStats:
        """Total, allocated, reserved, free and peak memory, counts and fragmentation; see MemoryStats."""
        if self.device.type == "cuda":
            return cuda_stats(self.device, self.config.max_memory_fraction)
        with self._lock:
            reserved = self._reserved_on_host()
            idle = reserved - self._live_bytes
            return MemoryStats(
                total_mb=self._total() / MB,
                allocated_mb=self._live_bytes / MB,
                reserved_mb=reserved / MB,
                free_mb=max(0, self._available()) / MB,
                peak_allocated_mb=self._peak_bytes / MB,
                num_allocations=self._counts["allocations"],
                num_frees=self._counts["frees"],
                fragmentation_percent=100.0 * idle / reserved if reserved else 0.0,
            )

    def get_allocation_summary(self) -> dict[str, Any]:
        """What this manager allocated, by purpose, and the state of its pool."""
        with self._lock:
            return {
                "device": str(self.device),
                "live_tensors": len(self._live),
                "live_mb": self._live_bytes / MB,
                "peak_mb": self._peak_bytes / MB,
                "limit_mb": self.config.max_memory_fraction * self._total() / MB,
                "by_purpose": {
                    name: {
                        "live_tensors": entry.live,
                        "live_mb": entry.live_bytes / MB,
                        "peak_mb": entry.peak_bytes / MB,
                        "allocations": entry.allocations,
                    }
                    for name, entry in self._purposes.items()
                },
                "pool": self._pool_state(),
            }

    def allocate_tensor(
        self, shape: Sequence[int] | int, dtype: torch.dtype | None = None, purpose: str = "general"
    ) -> Tensor:
        """An uninitialised tensor on the device, from the pool while it has room.

        Raises ROCmMemoryError, with oom protection before the device is asked, when it does not fit.
        """
        import torch

        kind = dtype if dtype is not None else torch.get_default_dtype()
        size = torch.Size((shape,) if isinstance(shape, int) else shape)
        nbytes = size.numel() * kind.itemsize
        self.check(nbytes, f"allocate_tensor for {purpose}")
        with self.protect(f"allocate_tensor for {purpose}", nbytes):
            tensor, block = self._allocate(size, kind, nbytes)
        self._track(tensor, nbytes, purpose, block)
        return tensor

    def free_tensor(self, tensor: Tensor) -> None:
        """Take the memory of a tensor of `allocate_tensor` back. The tensor is empty afterwards.

        Views of it stay valid and keep the memory until they are gone. Raises ValueError for a tensor this manager
        did not hand out, or got back already."""
        with self._lock:
            entry = self._live.get(id(tensor))
            if entry is None:
                raise ValueError("this tensor was not allocated by this memory manager, or was freed already")
            entry.finalizer.detach()
            tensor.data = tensor.new_empty(0)
            self._forget(id(tensor))

    def check(self, required_bytes: int, operation: str = "allocation") -> None:
        """Raise ROCmMemoryError if `required_bytes` are not free. Does nothing without enable_oom_protection."""
        if not self.config.enable_oom_protection:
            return
        available = self._available()
        if required_bytes > available:
            release_unused(self.device)
            available = self._available()
        if required_bytes > available:
            raise memory_error(operation, required_bytes, available)

    @contextmanager
    def protect(self, operation: str, required_bytes: int = 0) -> Iterator[None]:
        """Refuse the block beforehand if it states more than there is, and turn running out of memory inside it
        into ROCmMemoryError, with the caches given back. Nothing without enable_oom_protection."""
        if not self.config.enable_oom_protection:
            yield
            return
        self.check(required_bytes, operation)
        reason = ""
        try:
            yield
        except Exception as error:
            if not is_out_of_memory(error) or isinstance(error, ROCmMemoryError):
                raise
            reason = str(error)
            error.__traceback__ = None  # its frames hold the tensors that were too many
        if reason:
            release_unused(self.device)
            raise ROCmMemoryError(
                operation,
                required_bytes / MB if required_bytes else None,
                max(0, self._available()) / MB,
                reason=f"{operation} ran out of memory: {reason}",
            )

    def find_batch_size(self, step: Callable[[int], object], largest: int, smallest: int = 1) -> BatchFit:
        """The largest batch for which `step(batch_size)` fits, by bisection; see batch_size.find_batch_size."""
        return find_batch_size(step, largest, smallest, device=self.device)

    def record_history(self, max_entries: int = 100_000) -> None:
        """From now on torch records every allocation with its stack, for `save_snapshot`."""
        import torch

        self._needs_gpu("memory history")
        torch.cuda.memory._record_memory_history(max_entries=max_entries)
        self._recording = True

    def save_snapshot(self, path: str | Path) -> Path:
        """Write a snapshot that torch's memory viewer (pytorch.org/memory_viz) shows. Needs a GPU."""
        import torch

        self._needs_gpu("a memory snapshot")
        torch.cuda.memory._dump_snapshot(str(path))
        return Path(path)

    def cleanup(self) -> None:
        """Empty the pool, stop recording and lift the limit. Tensors that were handed out stay valid."""
        import torch

        if self._recording:
            torch.cuda.memory._record_memory_history(enabled=None)
            self._recording = False
        for pool in (self._host_pool, self._device_pool):
            if pool is not None:
                pool.clear()
        if self._previous_fraction is not None:
            torch.cuda.set_per_process_memory_fraction(self._previous_fraction, self.device)
            self._previous_fraction = None

    def __enter__(self) -> AMDMemoryManager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cleanup()

    def _allocate(self, size: torch.Size, kind: torch.dtype, nbytes: int) -> tuple[Tensor, Tensor | None]:
        import torch

        if self._device_pool is not None:
            with self._device_pool.context(self._live_bytes, nbytes):
                return torch.empty(size, dtype=kind, device=self.device), None
        block = self._host_pool.allocate(nbytes) if self._host_pool is not None and nbytes else None
        if block is None:
            return torch.empty(size, dtype=kind, device=self.device), None
        # No view of the block: a view would hold on to the memory after free_tensor.
        return torch.empty(0, dtype=kind).set_(block.untyped_storage(), 0, size), block

    def _track(self, tensor: Tensor, nbytes: int, purpose: str, block: Tensor | None) -> None:
        key = id(tensor)
        with self._lock:
            finalizer = weakref.finalize(tensor, self._forget, key)
            finalizer.atexit = False
            self._live[key] = _Allocation(purpose, nbytes, block, finalizer)
            entry = self._purposes.setdefault(purpose, _Purpose())
            entry.live += 1
            entry.allocations += 1
            entry.live_bytes += nbytes
            entry.peak_bytes = max(entry.peak_bytes, entry.live_bytes)
            self._counts["allocations"] += 1
            self._live_bytes += nbytes
            self._peak_bytes = max(self._peak_bytes, self._live_bytes)

    def _forget(self, key: int) -> None:
        with self._lock:
            gone = self._live.pop(key)
            entry = self._purposes[gone.purpose]
            entry.live -= 1
            entry.live_bytes -= gone.nbytes
            self._counts["frees"] += 1
            self._live_bytes -= gone.nbytes
            if gone.block is not None and self._host_pool is not None:
                self._host_pool.give_back(gone.block)

    def _total(self) -> int:
        return self._stood_in_bytes or device_total_bytes(self.device)

    def _available(self) -> int:
        if self._stood_in_bytes:
            return int(self.config.max_memory_fraction * self._stood_in_bytes) - self._live_bytes
        return available_bytes(self.device, self.config.max_memory_fraction, self._live_bytes)

    def _reserved_on_host(self) -> int:
        unpooled = sum(entry.nbytes for entry in self._live.values() if entry.block is None)
        return unpooled + (self._host_pool.reserved_bytes() if self._host_pool is not None else 0)

    def _pool_state(self) -> dict[str, object]:
        pool = self._host_pool if self._host_pool is not None else self._device_pool
        if pool is None:
            return {"enabled": False}
        state: dict[str, object] = {
            "enabled": True,
            "kind": "torch.cuda.MemPool" if self._device_pool is not None else "host blocks",
            "capacity_mb": pool.capacity_bytes / MB,
            "reserved_mb": pool.reserved_bytes() / MB,
        }
        if isinstance(pool, HostPool):
            state.update(reused=pool.reused, kept_mb=pool.kept_bytes() / MB)
        return state

    def _needs_gpu(self, what: str) -> None:
        if self.device.type != "cuda":
            raise AMDDeviceError(f"{what} needs a GPU: torch records device allocations only, and this runs on the CPU")
