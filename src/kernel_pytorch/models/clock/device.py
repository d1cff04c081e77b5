"""The clock of a device: events on a GPU, the host's clock on a CPU; and what surrounds a sample."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.core.hardware import MIB

if TYPE_CHECKING:
    import torch

# Twice L2 + MALL of the largest GPU of the table, for a device the table does not know.
UNKNOWN_FLUSH_BYTES = 600 * MIB


@dataclass(frozen=True)
class Sample:
    """One timing. `device_ms` is None on a CPU."""

    host_ms: float
    device_ms: float | None

    @property
    def main_ms(self) -> float:
        """What verdicts are about."""
        return self.host_ms if self.device_ms is None else self.device_ms


@dataclass(frozen=True)
class Device:
    """Where a benchmark runs. `index` is torch's device number."""

    kind: str  # "gpu" or "cpu"
    name: str
    vendor: str
    index: int = 0
    flush_bytes: int = 0

    @property
    def is_gpu(self) -> bool:
        return self.kind == "gpu"


def current_device(force_cpu: bool = False) -> Device:
    """The GPU torch would use, or the CPU."""
    import platform

    import torch

    from kernel_pytorch.core.platform import is_rocm

    if force_cpu or not torch.cuda.is_available():
        return Device("cpu", _cpu_name() or platform.machine(), "cpu")
    index = torch.cuda.current_device()
    properties = torch.cuda.get_device_properties(index)
    return Device("gpu", properties.name, "amd" if is_rocm(torch) else "nvidia", index, _flush_bytes(properties))


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - a stream, read up to one line
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""


def _flush_bytes(properties: torch._C._CudaDeviceProperties) -> int:
    from kernel_pytorch.core.hardware import find_gpu

    arch = getattr(properties, "gcnArchName", "") or f"sm_{properties.major}{properties.minor}"
    match = find_gpu(arch, properties.multi_processor_count, properties.total_memory / 2**30, name=properties.name)
    if match is not None:
        return match.gpu.cache_flush_bytes
    return max(UNKNOWN_FLUSH_BYTES, 3 * int(getattr(properties, "L2_cache_size", 0)))


class Timer:
    """Takes samples. On a GPU both clocks run: events around the calls, and the host's clock until all is done."""

    def __init__(self, device: Device, cold_cache: bool = False) -> None:
        self._device = device
        self._flush: Callable[[], object] | None = None
        if cold_cache and device.is_gpu:
            self._flush = _flusher(device.flush_bytes)
        elif cold_cache:
            self._flush = _cpu_flusher()

    def sample(self, call: Callable[[], object], calls: int = 1) -> Sample:
        """The time of one call, averaged over `calls` in a row."""
        if not self._device.is_gpu:
            if self._flush is not None:
                self._flush()
            started = time.perf_counter()
            for _ in range(calls):
                call()
            return Sample((time.perf_counter() - started) * 1e3 / calls, None)
        import torch

        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        if self._flush is not None:
            self._flush()
        started = time.perf_counter()
        start.record()
        for _ in range(calls):
            call()
        end.record()
        torch.cuda.synchronize()
        host_ms = (time.perf_counter() - started) * 1e3
        return Sample(host_ms / calls, start.elapsed_time(end) / calls)

    def wait(self) -> None:
        """Until the device is done."""
        if self._device.is_gpu:
            import torch

            torch.cuda.synchronize()


def _flusher(size: int) -> Callable[[], object]:
    """Writes more than twice L2 + MALL: nothing of the last call is left in a cache."""
    import torch

    buffer = torch.empty(size, dtype=torch.int8, device="cuda")
    return lambda: buffer.zero_()


def _cpu_flusher() -> Callable[[], object]:
    import torch

    buffer = torch.empty(256 * MIB, dtype=torch.int8)
    return lambda: buffer.zero_()
