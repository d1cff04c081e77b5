"""Named regions with host and device times, from any number of threads, nested at will."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

from kernel_pytorch.core.whole_file import write_whole

MAX_TRACE_SLICES = 100_000
_HARVEST_EVERY = 256


@dataclass
class Times:
    """Milliseconds of one kind, over all passes of a region."""

    count: int = 0
    total_ms: float = 0.0
    min_ms: float = float("inf")
    max_ms: float = 0.0

    def add(self, milliseconds: float) -> None:
        """Count one pass."""
        self.count += 1
        self.total_ms += milliseconds
        self.min_ms = min(self.min_ms, milliseconds)
        self.max_ms = max(self.max_ms, milliseconds)

    def summary(self, prefix: str = "") -> dict[str, float]:
        """total, average, least and most."""
        return {
            f"{prefix}total_ms": self.total_ms,
            f"{prefix}avg_ms": self.total_ms / self.count if self.count else 0.0,
            f"{prefix}min_ms": self.min_ms if self.count else 0.0,
            f"{prefix}max_ms": self.max_ms,
        }


@dataclass(frozen=True)
class _Slice:
    name: str
    path: str
    thread: int
    started_s: float
    host_ms: float
    stream: int
    events: tuple[torch.cuda.Event, torch.cuda.Event] | None  # start and end; None on the CPU


class RegionProfiler:
    """Measures regions. On a GPU each pass is bracketed by two events on the current stream, read when they are
    done: measuring does not make the program wait."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._on_gpu = device.type == "cuda"
        self._gpu_pid = device.index or 0  # no process has so low a number as a device
        self._lock = threading.Lock()
        self._local = threading.local()
        self._host: dict[str, Times] = {}
        self._device: dict[str, Times] = {}
        self._parents: dict[str, set[str]] = {}
        self._pending: deque[tuple[_Slice, torch.cuda.Event, torch.cuda.Event]] = deque()
        self._trace: deque[dict[str, object]] = deque(maxlen=MAX_TRACE_SLICES)
        self._spare_events: list[torch.cuda.Event] = []
        self._origin_s = time.perf_counter()
        self._origin_event: torch.cuda.Event | None = None

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Measure the block under `name`. An exception inside ends the region and goes on."""
        stack: list[str] = self._local.__dict__.setdefault("stack", [])
        stack.append(name)
        path = "/".join(stack)
        start_event, stream = self._start()
        started = time.perf_counter()
        try:
            yield
        finally:
            host_ms = (time.perf_counter() - started) * 1e3
            end_event = self._end(start_event)
            stack.pop()
            thread = threading.get_native_id()
            events = None if start_event is None or end_event is None else (start_event, end_event)
            one = _Slice(name, path, thread, started, host_ms, stream, events)
            self._finish(one, parent=stack[-1] if stack else None)

    def summary(self) -> dict[str, dict[str, object]]:
        """By region: count, total_ms, avg_ms, min_ms, max_ms (device time on a GPU, host time on the CPU), the same
        with host_ and device_ in front (device_ None on the CPU), and the regions it ran inside of."""
        self._harvest(wait=True)
        with self._lock:
            return {name: self._one_summary(name) for name in self._host}

    def trace_events(self) -> list[dict[str, object]]:
        """Slices in the form chrome://tracing and Perfetto read."""
        self._harvest(wait=True)
        names = [
            {"ph": "M", "pid": os.getpid(), "name": "process_name", "args": {"name": "host"}},
            *(
                [{"ph": "M", "pid": self._gpu_pid, "name": "process_name", "args": {"name": f"{self.device}"}}]
                if self._on_gpu
                else []
            ),
        ]
        with self._lock:
            return [*names, *self._trace]

    def reset(self) -> None:
        """Forget everything measured so far."""
        self._harvest(wait=True)
        with self._lock:
            for table in (self._host, self._device, self._parents, self._trace):
                table.clear()

    def _start(self) -> tuple[torch.cuda.Event | None, int]:
        if not self._on_gpu:
            return None, 0
        import torch

        stream = torch.cuda.current_stream(self.device)
        with self._lock:
            if self._origin_event is None:
                torch.cuda.synchronize(self.device)
                self._origin_event = torch.cuda.Event(enable_timing=True)
                self._origin_event.record(stream)
                self._origin_s = time.perf_counter()
        event = self._event()
        event.record(stream)
        return event, int(stream.cuda_stream)

    def _end(self, start_event: torch.cuda.Event | None) -> torch.cuda.Event | None:
        if start_event is None:
            return None
        import torch

        event = self._event()
        event.record(torch.cuda.current_stream(self.device))
        return event

    def _event(self) -> torch.cuda.Event:
        import torch

        with self._lock:
            if self._spare_events:
                return self._spare_events.pop()
        return torch.cuda.Event(enable_timing=True)

    def _finish(self, one: _Slice, parent: str | None) -> None:
        with self._lock:
            self._host.setdefault(one.name, Times()).add(one.host_ms)
            if parent is not None:
                self._parents.setdefault(one.name, set()).add(parent)
            self._trace.append(
                {
                    "ph": "X",
                    "cat": "host",
                    "name": one.name,
                    "pid": os.getpid(),
                    "tid": one.thread,
                    "ts": (one.started_s - self._origin_s) * 1e6,
                    "dur": one.host_ms * 1e3,
                    "args": {"path": one.path},
                }
            )
            if one.events is None:
                return
            self._pending.append((one, *one.events))
            due = len(self._pending) % _HARVEST_EVERY == 0
        if due:
            self._harvest(wait=False)

    def _harvest(self, wait: bool) -> None:
        """Read the events that are done, so that a long run does not pile them up."""
        while True:
            with self._lock:
                if not self._pending or not (wait or self._pending[0][2].query()):
                    return
                one, start_event, end_event = self._pending.popleft()
            end_event.synchronize()
            device_ms = start_event.elapsed_time(end_event)
            assert self._origin_event is not None  # set before the first event
            begin_ms = self._origin_event.elapsed_time(start_event)
            with self._lock:
                self._device.setdefault(one.name, Times()).add(device_ms)
                self._trace.append(
                    {
                        "ph": "X",
                        "cat": "device",
                        "name": one.name,
                        "pid": self._gpu_pid,
                        "tid": one.stream,
                        "ts": begin_ms * 1e3,
                        "dur": device_ms * 1e3,
                        "args": {"path": one.path},
                    }
                )
                self._spare_events += [start_event, end_event]

    def _one_summary(self, name: str) -> dict[str, object]:
        host, device = self._host[name], self._device.get(name)
        main = device if device is not None else host
        return {
            "count": host.count,
            **main.summary(),
            **host.summary("host_"),
            **(device.summary("device_") if device is not None else dict.fromkeys(Times().summary("device_"))),
            "inside": sorted(self._parents.get(name, ())),
        }


def write_chrome_trace(path: str | Path, events: list[dict[str, object]]) -> Path:
    """Write slices as a trace file for chrome://tracing or Perfetto."""
    target = Path(path)
    write_whole(target, json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
    return target
