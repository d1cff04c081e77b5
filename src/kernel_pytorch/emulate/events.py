"""What the emulated GPU reports while a program runs: launches, faults, buffers, hot lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_pytorch.core.json_lines import read_json_lines
from kernel_pytorch.emulate.codegen.fidelity import fidelity


@dataclass(frozen=True)
class Launch:
    """One kernel launch that ran to its end."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds_bytes: int
    seconds: float
    counters: Mapping[str, int] = field(default_factory=dict)
    cpu_seconds: float = 0.0  # of the program's threads, where it was measured


@dataclass(frozen=True)
class Fault:
    """Something a kernel did that is wrong on the hardware, or that the hardware would hide."""

    kind: str
    kernel: str
    block: tuple[int, int, int]
    wave: int
    lane: int | None  # None where the whole wave or the launch is at fault
    instruction: str
    file: str
    line: int
    detail: str
    hardware: str

    @property
    def place(self) -> str:
        """`file:line` where the program was built with source lines, the machine instruction otherwise."""
        return f"{self.file}:{self.line}" if self.file else self.instruction

    @property
    def between_streams(self) -> bool:
        """Two pieces of work of two streams are at fault, not a thread of a kernel."""
        return self.kind == "stream-race"

    @property
    def thread(self) -> str:
        """Block, wave and, where it is known, lane."""
        lane = "" if self.lane is None else f", lane {self.lane}"
        return f"block {self.block}, wave {self.wave}{lane}"


@dataclass(frozen=True)
class Buffer:
    """A device allocation as the program left it."""

    id: int
    bytes: int
    digest: str


@dataclass(frozen=True)
class HotLine:
    """How often one machine instruction ran, with the source line it came from."""

    kernel: str
    instruction: str
    file: str
    line: int
    count: int


@dataclass(frozen=True)
class Fidelity:
    """How near a run is to the hardware's: the kinds of instructions, and library calls that stand-ins answered."""

    instructions: int = 0  # different mnemonics in the kernels that ran
    inexact: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # executed ones, by kind: codegen/fidelity.py
    stand_in_calls: Mapping[str, int] = field(default_factory=dict)  # function -> how often

    @property
    def exact(self) -> int:
        return self.instructions - sum(map(len, self.inexact.values()))


@dataclass(frozen=True)
class Events:
    """Everything one run reported, in order."""

    launches: tuple[Launch, ...] = ()
    faults: tuple[Fault, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    hot_lines: tuple[HotLine, ...] = ()
    unsupported: tuple[str, ...] = ()
    fidelity: Fidelity | None = None  # None: the program did not come to its end
    operators: Mapping[str, int] = field(default_factory=dict)  # torch's, computed on the CPU: name -> calls
    complete: bool = False  # the runtime said "end": the program did not die in the middle


def read_events(path: Path) -> Events:
    """The events in a report file. A line that a killed program left half written is not an event."""
    launches: list[Launch] = []
    faults: list[Fault] = []
    buffers: list[Buffer] = []
    hot: list[HotLine] = []
    unsupported: list[str] = []
    operators: Counter[str] = Counter()
    complete = False
    near: Fidelity | None = None
    for event in read_json_lines(path) if path.is_file() else ():
        kind = event.get("event")
        if kind == "launch":
            launches.append(_launch(event))
        elif kind == "fault":
            faults.append(_fault(event))
        elif kind == "buffer":
            buffers.append(Buffer(int(event["id"]), int(event["bytes"]), str(event["digest"])))
        elif kind == "places":
            name = str(event["kernel"])
            hot += [HotLine(name, text, file, int(line), int(count)) for text, file, line, count in event["places"]]
        elif kind == "unsupported":
            unsupported.append(str(event["function"]))
        elif kind == "fidelity":
            near = _fidelity(event)
        elif kind == "torch":
            operators.update({str(name): int(count) for name, count in event["operators"].items()})
        elif kind == "end":
            complete = True
    return Events(
        tuple(launches), tuple(faults), tuple(buffers), tuple(hot), tuple(unsupported), near, dict(operators), complete
    )


def _fidelity(event: Mapping[str, Any]) -> Fidelity:
    inexact: dict[str, list[str]] = {}
    for name in event.get("inexact", ()):
        inexact.setdefault(fidelity(str(name)), []).append(str(name))
    calls = {str(name): int(count) for name, count in event.get("calls", {}).items()}
    return Fidelity(int(event.get("mnemonics", 0)), {kind: tuple(names) for kind, names in inexact.items()}, calls)


def _launch(event: Mapping[str, Any]) -> Launch:
    return Launch(
        str(event["kernel"]),
        _triple(event["grid"]),
        _triple(event["block"]),
        int(event.get("lds", 0)),
        float(event.get("seconds", 0.0)),
        dict(event.get("counters", {})),
        float(event.get("cpu_seconds", 0.0)),
    )


def _fault(event: Mapping[str, Any]) -> Fault:
    return Fault(
        str(event["kind"]),
        str(event.get("kernel", "")),
        _triple(event.get("grid_block", (0, 0, 0))),
        int(event.get("wave", 0)),
        int(event["lane"]) if "lane" in event else None,
        str(event.get("instruction", "")),
        str(event.get("file", "")),
        int(event.get("line", 0)),
        str(event.get("detail", "")),
        str(event.get("hardware", "")),
    )


def _triple(value: Any) -> tuple[int, int, int]:
    x, y, z = (int(number) for number in value)
    return (x, y, z)
