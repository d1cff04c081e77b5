"""CSV files of rocprofv3, rocprofv2 and rocprof v1. Columns differ by version: they are found by name, never by place.

A kernel trace may stand alone; memory copies, HIP calls and markers of the same run (files beside it that share its
prefix) are read along with it. Hardware counters come as one row per counter (rocprofv3 --pmc) or as columns beside
the times (ROCm Compute Profiler's pmc_perf.csv, rocprof v1). Each pass of a profiler runs the kernels again: their
times are taken from one of them.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import open_plain
from kernel_pytorch.perf.trace.recording import KERNEL, MEMCPY, NONE, Recording

KERNEL_NAME = ("kernelname", "name")
START = ("starttimestamp", "beginns", "startns", "begints")
END = ("endtimestamp", "endns", "endts")
DEVICE = ("agentid", "gpuid", "deviceid", "destinationagentid")
STREAM = ("streamid", "queueid")
CORRELATION = ("correlationid",)
DISPATCH = ("dispatchid", "index")
FUNCTION = ("function",)
COUNTER = ("countername",)
# Columns that are counters of the hardware, by the block that counts.
_COUNTER = re.compile(r"^(SQC?|SPI|GRBM|TA|TD|TCP|TCC|CPC|CPF|GL2C|EA|WAVE)_[A-Za-z0-9_\[\]]+$")
# Metrics that rocprof v1 works out of several of them, and writes as columns too.
_DERIVED = re.compile(
    r"^(FETCH_SIZE|WRITE_SIZE|FetchSize|WriteSize|VALUBusy|SALUBusy|VALUUtilization|LDSBankConflict|L2CacheHit"
    r"|MemUnitBusy|MemUnitStalled|MfmaUtil|OccupancyPercent|MeanOccupancyPerCU|Wavefronts)$"
)
DIRECTION = ("direction", "operation")
# Our names for two counters of one pass: waves in flight summed over cycles, and those cycles.
WAVE_CYCLES, WAVE_PASS = "waves in flight, summed", "cycles of that pass"
# csv's default of 128 kB is shorter than some C++ kernel names with all their template arguments.
MAX_FIELD = 16 << 20


def read_rocprof_csv(path: Path) -> Recording:
    """The recording in a CSV file or in a folder of them. Raises UsageError naming file and missing columns."""
    recording = Recording(str(path), "rocprof csv")
    files = _in_folder(path) if path.is_dir() else [path, *_beside(path)]
    if not files:
        raise UsageError(
            f"{path}: no recording in this folder: no CSV file and no counters of ROCm Compute Profiler. "
            "Name the folder that rocprofv3 -d wrote, or one trace file; `kpt profile --how` says how to record"
        )
    kinds = [_read_file(recording, file, required=not path.is_dir() and file == path) for file in files]
    if "kernels" not in kinds:
        seen = ", ".join(f"{file.name} ({kind})" for file, kind in list(zip(files, kinds, strict=True))[:5])
        raise UsageError(
            f"{path}: no kernel times in it (seen: {seen}). rocprofv3 --kernel-trace --output-format csv writes "
            "*_kernel_trace.csv; a statistics file has no start and end times"
        )
    if len(recording.activities) == 0:
        raise UsageError(f"{path}: no kernel was recorded")
    times = recording.activities
    if not any(times.end[i] > times.start[i] for i in range(len(times))):
        raise UsageError(
            f"{path}: every kernel ends when it starts. Spreadsheets round such numbers (8.1E+14) when they save a CSV "
            "file: take the one that the profiler wrote"
        )
    if path.is_dir():
        _compute_profiler(recording, path)
    return recording


def _compute_profiler(recording: Recording, folder: Path) -> None:
    """What ROCm Compute Profiler writes beside its counters: the machine, and a pass of its own for waves in flight."""
    for file in sorted(folder.rglob("sysinfo.csv"))[:1]:
        rows = list(_rows(file))
        facts = dict(zip(*rows[:2], strict=False)) if len(rows) > 1 else {}
        units = facts.get("cu_per_gpu") or ""
        named = {"name": facts.get("gpu_model") or facts.get("name") or "", "target": facts.get("gpu_arch") or ""}
        recording.device_facts.append({**named, **({"numSms": int(units)} if units.isdigit() else {})})
    for file in sorted(folder.rglob("SQ_LEVEL_WAVES.csv"))[:1]:
        rows = list(_rows(file))
        for row in (dict(zip(rows[0], values, strict=False)) for values in rows[1:]):
            kernel = recording.string((row.get("Kernel_Name") or row.get("KernelName") or "").removesuffix(".kd"))
            if kernel in recording.hardware:
                # GRBM_GUI_ACTIVE has another value in each pass: these two belong together.
                for name, counter in (("SQ_ACCUM_PREV_HIRES", WAVE_CYCLES), ("GRBM_GUI_ACTIVE", WAVE_PASS)):
                    recording.count_hardware(kernel, counter, _value(row.get(name) or "0"))


def _in_folder(path: Path) -> list[Path]:
    """What to read of a folder, kernel times first. ROCm Compute Profiler joins its passes in pmc_perf.csv."""
    files = sorted(path.rglob("*.csv"))
    joined = [file for file in files if file.name == "pmc_perf.csv"]
    counters = [file for file in files if "counter_collection" in file.name]
    if joined or not counters:
        return joined or files
    traces = [file for file in files if file.name.endswith("kernel_trace.csv")]
    run = [file for file in files if traces and file.parent == traces[0].parent and file not in counters]
    return [*run, *counters]


def _beside(path: Path) -> list[Path]:
    prefix = re.match(r"(.*?)kernel_trace\.csv$", path.name)
    if prefix is None:
        return []
    wanted = ("memory_copy_trace", "hip_api_trace", "hip_runtime_trace", "hip_trace", "marker_api_trace")
    if prefix[1] == "":
        return []  # without a prefix of their own, files side by side need not be of one run
    return [file for name in wanted if (file := path.with_name(f"{prefix[1]}{name}.csv")).exists()]


def _read_file(recording: Recording, path: Path, required: bool) -> str:
    """Takes in one file and says what it was: kernels, copies, calls, markers, statistics or other."""
    rows = _rows(path)
    header = next(rows, None)
    if header is None:
        if required:
            raise UsageError(f"{path}: the file is empty")
        return "other"
    columns = {re.sub(r"[^a-z]", "", name.lower()): position for position, name in enumerate(header)}
    kind = _kind(columns)
    if kind in ("statistics", "other"):
        if required:
            raise UsageError(_missing(path, header, columns))
        return kind
    reader = _Reader(path, columns)
    counters = {name: position for position, name in enumerate(header) if _COUNTER.match(name) or _DERIVED.match(name)}
    # Another file of counters is another run of the same kernels.
    times = not (recording.activities.kernels and (counters or reader.has(COUNTER)))
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) < len(header):
            raise UsageError(
                f"{path}:{number}: {len(row)} of {len(header)} columns: the file is cut off or not a rocprof CSV"
            )
        _take(recording, kind, reader, row, number, times)
        if kind == "kernels" and counters:
            kernel = recording.string(reader.text(row, KERNEL_NAME).removesuffix(".kd"))
            for name, position in counters.items():
                recording.count_hardware(kernel, name, _value(row[position]))
    return kind


def _value(text: str) -> float:
    """A counter's value; not a number where the profiler left it out."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _kind(columns: dict[str, int]) -> str:
    if any(name in columns for name in START) and any(name in columns for name in END):
        if "kernelname" in columns:
            return "kernels"
        if "direction" in columns:
            return "copies"
        if "function" in columns:
            return "calls"
        return "other"
    return "statistics" if "totaldurationns" in columns else "other"


def _missing(path: Path, header: list[str], columns: dict[str, int]) -> str:
    if "totaldurationns" in columns:
        return (
            f"{path}: a statistics file: totals without start and end times, so no timeline. "
            "Give the *_kernel_trace.csv of the same run"
        )
    wanted = [("Kernel_Name", KERNEL_NAME[:1]), ("Start_Timestamp", START), ("End_Timestamp", END)]
    lacking = [name for name, spellings in wanted if not any(one in columns for one in spellings)]
    counted = [name for name in header if _COUNTER.match(name) or _DERIVED.match(name)]
    if counted and "kernelname" in columns:
        return (
            f"{path}: counters ({', '.join(counted[:3])}) without start and end times, so no rates: "
            "record with rocprof --timestamp on, or rocprofv3 --pmc"
        )
    found = ", ".join(header[:8]) + (", ..." if len(header) > 8 else "")
    return f"{path}: not a kernel trace: column {', '.join(lacking)} is missing (found: {found})"


class _Reader:
    """Values of a row by what they mean."""

    def __init__(self, path: Path, columns: dict[str, int]) -> None:
        self._path = path
        self._columns = columns
        self.dispatches: set[int] = set()

    def text(self, row: list[str], spellings: tuple[str, ...]) -> str:
        position = next((self._columns[name] for name in spellings if name in self._columns), None)
        return row[position].strip() if position is not None else ""

    def number(self, row: list[str], spellings: tuple[str, ...], line: int, default: int | None = None) -> int:
        text = self.text(row, spellings)
        found = re.search(r"-?\d+", text)  # "Agent 4", "0x.." and plain numbers
        if found is None:
            if default is not None:
                return default
            raise UsageError(f"{self._path}:{line}: {text!r} is not a number (column {spellings[0]})")
        return int(found[0])

    def has(self, spellings: tuple[str, ...]) -> bool:
        return any(name in self._columns for name in spellings)


def _take(recording: Recording, kind: str, reader: _Reader, row: list[str], line: int, times: bool) -> None:
    start, end = reader.number(row, START, line) / 1e3, reader.number(row, END, line) / 1e3
    if kind == "calls":
        name = recording.string(reader.text(row, FUNCTION))
        thread = recording.thread(reader.text(row, ("threadid",)))
        if "MARKER" in reader.text(row, ("domain", "kind")):
            recording.annotations.add(start, end, thread, name, NONE)
        else:
            recording.calls.add(start, end, thread, name, reader.number(row, CORRELATION, line, NONE))
        return
    device = reader.number(row, DEVICE, line, 0)
    stream = reader.number(row, STREAM, line, 0)
    if kind == "copies":
        name = recording.string(reader.text(row, DIRECTION))
        recording.activities.add(
            start, end, name=name, kind=MEMCPY, device=_copy_device(reader, row, line), stream=stream,
            correlation=reader.number(row, CORRELATION, line, NONE), external=NONE,
        )  # fmt: skip
        return
    dispatch = reader.number(row, DISPATCH, line, NONE)
    name = recording.string(reader.text(row, KERNEL_NAME).removesuffix(".kd"))
    if reader.has(COUNTER):
        recording.count_hardware(name, reader.text(row, COUNTER), _value(reader.text(row, ("countervalue",))))
        # One row per counter: a dispatch counts once.
        if dispatch != NONE and dispatch in reader.dispatches:
            return
        reader.dispatches.add(dispatch)
    if not times:
        return
    correlation = reader.number(row, CORRELATION, line, NONE)
    recording.activities.add(
        start, end, name=name, kind=KERNEL, device=device, stream=stream, correlation=correlation, external=NONE
    )


def _copy_device(reader: _Reader, row: list[str], line: int) -> int:
    to_host = "TO_HOST" in reader.text(row, DIRECTION)
    return reader.number(row, ("sourceagentid",) if to_host else ("destinationagentid",), line, 0)


def _rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_FIELD)
    try:
        with io.TextIOWrapper(open_plain(path), "utf-8", "replace", newline="") as file:
            yield from csv.reader(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except csv.Error as error:
        raise UsageError(f"{path}: not a CSV file ({error})") from error
