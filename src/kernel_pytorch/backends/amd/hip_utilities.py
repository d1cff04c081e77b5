"""HIPUtilities: streams, events, profiling and several devices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from kernel_pytorch.backends.found_devices import rocm_device_or_cpu
from kernel_pytorch.backends.profiling import RegionProfiler, write_chrome_trace
from kernel_pytorch.backends.streams import HostEvent, HostStream, make_event, make_stream
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.errors import AMDDeviceError

if TYPE_CHECKING:
    import torch

Result = TypeVar("Result")


class HIPUtilities:
    """Coordination on one device: the configured AMD GPU, the CPU where there is none, or `device` if given.

    Regions are measured with `enable_profiling=True`; without it `profile_region` costs nothing and measures nothing.
    """

    def __init__(self, config: AMDConfig | None = None, *, device: str | int | torch.device | None = None) -> None:
        import torch

        self.config = config if config is not None else AMDConfig()
        self.device = torch.device(device) if device is not None else rocm_device_or_cpu(self.config.device_id)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self._streams: dict[str, torch.cuda.Stream | HostStream] = {}
        self._events: dict[str, torch.cuda.Event | HostEvent] = {}
        self._lock = threading.Lock()
        self._profiler = RegionProfiler(self.device) if self.config.enable_profiling else None

    def create_stream(self, name: str, priority: int = 0) -> torch.cuda.Stream | HostStream:
        """A stream under `name`; lower priorities go first. The same name gives the same stream again.

        On the CPU it is a stand-in whose work is done when the call returns."""
        with self._lock:
            if name not in self._streams:
                self._streams[name] = make_stream(name, priority, self.device)
            elif self._streams[name].priority != priority:
                raise AMDDeviceError(f"stream {name!r} exists with priority {self._streams[name].priority}")
            return self._streams[name]

    def get_stream(self, name: str) -> torch.cuda.Stream | HostStream:
        """The stream of that name. Raises KeyError naming those there are."""
        if name not in self._streams:
            raise KeyError(f"no stream {name!r}: there are {', '.join(self._streams) or 'none'}")
        return self._streams[name]

    @contextmanager
    def use_stream(self, name: str) -> Iterator[torch.cuda.Stream | HostStream]:
        """Work in the block goes to that stream, after what is queued on the current one; and what follows the
        block waits for it."""
        import torch

        stream = self.get_stream(name)
        if self.device.type != "cuda":
            yield stream
            return
        outer = torch.cuda.current_stream(self.device)
        stream.wait_stream(outer)
        try:
            with torch.cuda.stream(stream):
                yield stream
        finally:
            outer.wait_stream(stream)

    def create_event(self, name: str | None = None, timing: bool = True) -> torch.cuda.Event | HostEvent:
        """An event: record(), synchronize(), query(), elapsed_time(). A named one can be had again by name."""
        event = make_event(name or "", self.device, timing)
        if name is not None:
            with self._lock:
                self._events[name] = event
        return event

    def get_event(self, name: str) -> torch.cuda.Event | HostEvent:
        """The event of that name. Raises KeyError naming those there are."""
        if name not in self._events:
            raise KeyError(f"no event {name!r}: there are {', '.join(self._events) or 'none'}")
        return self._events[name]

    def profile_region(self, name: str) -> AbstractContextManager[None]:
        """Measure a block: host time, and on a GPU device time. Regions may nest and come from any thread."""
        return self._profiler.region(name) if self._profiler is not None else nullcontext()

    def get_profiling_summary(self) -> dict[str, Any]:
        """`regions` by name: count, total_ms, avg_ms, min_ms, max_ms (device time on a GPU, else host time), and the
        same with host_ and device_ in front. `total_regions` is how many names there are. Waits for the measured
        work."""
        regions = self._profiler.summary() if self._profiler is not None else {}
        return {
            "enabled": self._profiler is not None,
            "device": str(self.device),
            "total_regions": len(regions),
            "regions": regions,
        }

    def export_chrome_trace(self, path: str | Path) -> Path:
        """Write the measured regions as a trace for chrome://tracing or Perfetto: host threads, device streams."""
        if self._profiler is None:
            raise AMDDeviceError("nothing was measured: AMDConfig(enable_profiling=True) turns profiling on")
        return write_chrome_trace(path, self._profiler.trace_events())

    def reset_profiling(self) -> None:
        """Forget what was measured."""
        if self._profiler is not None:
            self._profiler.reset()

    def device_count(self) -> int:
        """GPUs of this torch; 0 on the CPU."""
        return len(self.devices()) if self.device.type == "cuda" else 0

    def devices(self) -> list[torch.device]:
        """Every device of the kind in use."""
        import torch

        if self.device.type != "cuda":
            return [self.device]
        return [torch.device("cuda", index) for index in range(torch.cuda.device_count())]

    def peer_access(self) -> dict[tuple[int, int], bool]:
        """Which GPU can read which other's memory directly (XGMI, NVLink or PCIe peer access)."""
        import torch

        count = self.device_count()
        pairs = ((a, b) for a in range(count) for b in range(count) if a != b)
        return {(a, b): bool(torch.cuda.can_device_access_peer(a, b)) for a, b in pairs}

    def on_every_device(self, work: Callable[[torch.device], Result]) -> list[Result]:
        """Call `work(device)` for every device at once, one thread each; the results in order."""
        devices = self.devices()
        with ThreadPoolExecutor(len(devices)) as threads:
            return list(threads.map(work, devices))

    def synchronize(self, every_device: bool = False) -> None:
        """Wait for this device, or for all."""
        import torch

        if self.device.type == "cuda":
            for device in self.devices() if every_device else [self.device]:
                torch.cuda.synchronize(device)

    def cleanup(self) -> None:
        """Wait for the streams, then drop them, the events and the measurements."""
        for stream in self._streams.values():
            stream.synchronize()
        with self._lock:
            self._streams.clear()
            self._events.clear()
        self.reset_profiling()

    def __enter__(self) -> HIPUtilities:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cleanup()
