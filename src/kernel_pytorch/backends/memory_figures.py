"""How much memory a device has, uses and has left, and the error when that is not enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.backends.host import MB, host_memory
from kernel_pytorch.core.errors import ROCmMemoryError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class MemoryStats:
    """Memory of one device, in MB of 2**20 bytes.

    On a GPU the figures are those of torch's allocator: `free_mb` is what can still be allocated (the device's free
    memory and what the allocator holds unused, within max_memory_fraction), `fragmentation_percent` the part of
    reserved memory that is free but only as pieces of used blocks. On the CPU `total_mb` and `free_mb` are the
    host's, or those of the GPU that is stood in for, and the rest counts what the memory manager handed out.
    """

    total_mb: float
    allocated_mb: float
    reserved_mb: float
    free_mb: float
    peak_allocated_mb: float
    num_allocations: int
    num_frees: int
    fragmentation_percent: float


def memory_error(operation: str, required_bytes: int, available_bytes: int) -> ROCmMemoryError:
    """A refusal before the device fails. Carries `operation`, `required_mb` and `available_mb`."""
    return ROCmMemoryError(operation, required_bytes / MB, max(0, available_bytes) / MB)


def device_total_bytes(device: torch.device) -> int:
    """All memory of the device, or of the host."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[1])
    return host_memory().total_bytes


def available_bytes(device: torch.device, fraction: float, handed_out: int) -> int:
    """What may still be allocated under `fraction`; `handed_out` is what was, where only the caller counts it."""
    import torch

    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        used = torch.cuda.memory_allocated(device)
        cached = torch.cuda.memory_reserved(device) - used
        return int(min(fraction * total - used, free + cached))
    host = host_memory()
    return int(min(fraction * host.total_bytes - handed_out, host.available_bytes))


def cuda_stats(device: torch.device, fraction: float) -> MemoryStats:
    """The figures of torch's allocator for a GPU."""
    import torch

    raw = torch.cuda.memory_stats(device)
    reserved = int(raw.get("reserved_bytes.all.current", 0))
    split = int(raw.get("inactive_split_bytes.all.current", 0))
    return MemoryStats(
        total_mb=device_total_bytes(device) / MB,
        allocated_mb=raw.get("allocated_bytes.all.current", 0) / MB,
        reserved_mb=reserved / MB,
        free_mb=max(0, available_bytes(device, fraction, 0)) / MB,
        peak_allocated_mb=raw.get("allocated_bytes.all.peak", 0) / MB,
        num_allocations=int(raw.get("allocation.all.allocated", 0)),
        num_frees=int(raw.get("allocation.all.freed", 0)),
        fragmentation_percent=100.0 * split / reserved if reserved else 0.0,
    )
