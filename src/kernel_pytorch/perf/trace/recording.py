"""A recording in columns: some forty bytes per GPU activity, so that size does not matter.

Times are microseconds, as traces have them. Strings and operator signatures are stored once and referred to by number.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

KERNEL, MEMCPY, MEMSET = 0, 1, 2
NONE = -1
_LATEST_US = 1e18  # thirty thousand years: later than any clock, and small enough to calculate with


def is_time(start: float, end: float) -> bool:
    """Whether something can have taken from one time to the other. NaN is neither before nor behind anything."""
    return -_LATEST_US < start <= end < _LATEST_US


@dataclass(frozen=True)
class Signature:
    """An operator with the shapes it was called with. Types are torch's names: "c10::BFloat16", "float"."""

    name: str
    dims: tuple[object, ...] = ()
    types: tuple[str, ...] = ()
    strides: tuple[object, ...] = ()
    concrete: tuple[str, ...] = ()


@dataclass
class CounterSum:
    """A hardware counter of one kernel, over its dispatches."""

    total: float = 0.0
    count: int = 0


@dataclass
class Activities:
    """What ran on a GPU (or, for a run without one, the innermost operators on the CPU)."""

    start: array[float] = field(default_factory=lambda: array("d"))
    end: array[float] = field(default_factory=lambda: array("d"))
    name: array[int] = field(default_factory=lambda: array("i"))
    kind: array[int] = field(default_factory=lambda: array("b"))
    device: array[int] = field(default_factory=lambda: array("i"))
    stream: array[int] = field(default_factory=lambda: array("q"))
    correlation: array[int] = field(default_factory=lambda: array("q"))
    external: array[int] = field(default_factory=lambda: array("q"))
    launch: array[int] = field(default_factory=lambda: array("i"))  # the grid as a string, where it is known
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.start)

    @property
    def kernels(self) -> bool:
        """Whether there is any kernel."""
        return KERNEL in self.kind

    def add(
        self, start: float, end: float, name: int, kind: int, device: int, stream: int, correlation: int, external: int,
        launch: int = NONE,
    ) -> None:  # fmt: skip
        """One more, if its times are: see `is_time`."""
        if not is_time(start, end):
            self.left_out += 1
            return
        self.start.append(start)
        self.end.append(end)
        self.name.append(name)
        self.kind.append(kind)
        self.device.append(device)
        self.stream.append(stream)
        self.correlation.append(correlation)
        self.external.append(external)
        self.launch.append(launch)


@dataclass
class HostSpans:
    """Operators, runtime calls, modules or annotations: something with a beginning and an end on a host thread."""

    start: array[float] = field(default_factory=lambda: array("d"))
    end: array[float] = field(default_factory=lambda: array("d"))
    thread: array[int] = field(default_factory=lambda: array("i"))
    label: array[int] = field(default_factory=lambda: array("i"))  # of a string or of a signature
    key: array[int] = field(default_factory=lambda: array("q"))  # external id or correlation
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.start)

    def add(self, start: float, end: float, thread: int, label: int, key: int) -> None:
        """One more, if its times are: see `is_time`."""
        if not is_time(start, end):
            self.left_out += 1
            return
        self.start.append(start)
        self.end.append(end)
        self.thread.append(thread)
        self.label.append(label)
        self.key.append(key)


@dataclass
class Recording:
    """Everything one file says. `device_facts` are the profiler's own device properties, one dictionary per GPU."""

    source: str
    form: str  # "torch trace", "rocprofv3 csv", ...
    activities: Activities = field(default_factory=Activities)
    operators: HostSpans = field(default_factory=HostSpans)  # label: signature
    calls: HostSpans = field(default_factory=HostSpans)  # label: string, key: correlation
    modules: HostSpans = field(default_factory=HostSpans)  # label: string
    annotations: HostSpans = field(default_factory=HostSpans)  # label: string
    # By call: kernel and grid as strings, where the profiler writes them at the launch. Empty for other sources.
    launched_kernel: array[int] = field(default_factory=lambda: array("i"))
    launched_grid: array[int] = field(default_factory=lambda: array("i"))
    captured: dict[int, int] = field(default_factory=dict)  # activity of a replayed graph -> operator
    strings: list[str] = field(default_factory=list)
    signatures: list[Signature] = field(default_factory=list)
    device_facts: list[dict[str, object]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)  # python frames worth counting, by name
    hardware: dict[int, dict[str, CounterSum]] = field(default_factory=dict)  # by kernel (string), by counter
    notes: list[str] = field(default_factory=list)
    on_cpu: bool = False
    unprofiled_ms: float | None = None
    _string_numbers: dict[str, int] = field(default_factory=dict)
    _signature_numbers: dict[Hashable, int] = field(default_factory=dict)
    _thread_numbers: dict[Hashable, int] = field(default_factory=dict)

    def string(self, text: str) -> int:
        """The number of a string. Raises ValueError for what is none."""
        if not isinstance(text, str):
            raise ValueError(f"{text!r} is not a name")
        number = self._string_numbers.get(text)
        if number is None:
            number = self._string_numbers[text] = len(self.strings)
            self.strings.append(text)
        return number

    def count_hardware(self, kernel: int, counter: str, value: float) -> None:
        """One value of a hardware counter, of one dispatch."""
        if math.isfinite(value):
            entry = self.hardware.setdefault(kernel, {}).setdefault(counter, CounterSum())
            entry.total += value
            entry.count += 1

    @property
    def left_out(self) -> int:
        """How many events had times that are none."""
        spans = (self.operators, self.calls, self.modules, self.annotations)
        return self.activities.left_out + sum(one.left_out for one in spans)

    def thread(self, key: Hashable) -> int:
        """The number of a host thread."""
        return self._thread_numbers.setdefault(key, len(self._thread_numbers))

    def signature(self, key: Hashable, make: Callable[[], Signature]) -> int:
        """The number of a signature; `make()` builds it the first time its key is seen."""
        number = self._signature_numbers.get(key)
        if number is None:
            number = self._signature_numbers[key] = len(self.signatures)
            self.signatures.append(make())
        return number
