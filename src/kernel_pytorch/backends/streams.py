"""Streams and events of a GPU, and their counterparts on the CPU, where work is done when the call returns."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import AMDConfigurationError

if TYPE_CHECKING:
    import torch


@dataclass
class HostStream:
    """A stream on the CPU: everything in it has run already, so waiting is over at once."""

    name: str
    priority: int = 0
    device_type: str = "cpu"

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def query(self) -> bool:
        """True: all work is done."""
        return True

    def wait_event(self, event: object) -> None:
        """The event lies in the past, or its recording is still to come and waits for nobody."""

    def wait_stream(self, stream: object) -> None:
        """As `wait_event`."""

    def record_event(self, event: HostEvent | None = None) -> HostEvent:
        """Record `event`, or a new one, now."""
        event = event if event is not None else HostEvent()
        event.record(self)
        return event

    def __enter__(self) -> HostStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


@dataclass
class HostEvent:
    """A point in host time."""

    name: str = ""
    recorded_s: float | None = field(default=None)

    def record(self, stream: object = None) -> None:
        """Note the time."""
        self.recorded_s = time.perf_counter()

    def query(self) -> bool:
        """Has it happened?"""
        return self.recorded_s is not None

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def wait(self, stream: object = None) -> None:
        """Nothing is left to wait for."""

    def elapsed_time(self, end: HostEvent) -> float:
        """Milliseconds of host time from this event to `end`."""
        if self.recorded_s is None or end.recorded_s is None:
            raise RuntimeError("both events must be recorded before the time between them is asked for")
        return (end.recorded_s - self.recorded_s) * 1e3


def make_stream(name: str, priority: int, device: torch.device) -> torch.cuda.Stream | HostStream:
    """A stream; lower numbers go first. Raises AMDConfigurationError for a priority the device does not have."""
    import torch

    if not isinstance(priority, int) or isinstance(priority, bool):
        raise AMDConfigurationError("priority", priority, "a whole number; lower goes first")
    if device.type != "cuda":
        return HostStream(name, priority)
    least, greatest = torch.cuda.Stream.priority_range()
    if not greatest <= priority <= least:
        raise AMDConfigurationError("priority", priority, f"{greatest} (first) to {least} on this device")
    return torch.cuda.Stream(device, priority=priority)


def make_event(name: str, device: torch.device, timing: bool) -> torch.cuda.Event | HostEvent:
    """An event of the device."""
    import torch

    return torch.cuda.Event(enable_timing=timing) if device.type == "cuda" else HostEvent(name)
