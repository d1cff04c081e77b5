"""Measured times that others published, as rows: an operator's work, the GPU, the model it came from, microseconds.

Two sources, each a git directory (a clone, bare or not) of a public repository; nothing of them is kept here:

- AMD-AGI/TraceLens (MIT): torch traces under tests/traces, read as `kpt profile` reads them. One row for each operator
  and shapes; its time is the median over its calls of the sum of its kernels.
- ROCm/aiter (MIT): tables of tuned kernels, aiter/configs/**/*tuned*.csv, a time for each shape.
"""

from __future__ import annotations

import csv
import io
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.perf.classify.attribution import attribute
from kernel_pytorch.perf.roofline.forms import Product
from kernel_pytorch.perf.roofline.peaks import recorded_gpu
from kernel_pytorch.perf.roofline.work import Work
from kernel_pytorch.perf.tables import IDLE_US, recorded_work
from kernel_pytorch.perf.trace.linking import link
from kernel_pytorch.perf.trace.open import open_recording
from kernel_pytorch.perf.trace.recording import NONE

# Of a GPU by its instruction set and compute units. gfx1250 is not in the hardware table, MI308X neither.
TUNED_GPUS = {("gfx942", "304"): "mi300x", ("gfx950", "256"): "mi355x"}
_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5}


@dataclass(frozen=True)
class Measured:
    """One row. `source` is the trace or table, `model` what ran in it, `category` the class of the report."""

    gpu: str
    source: str
    model: str
    category: str
    operator: str
    work: Work
    us: float
    calls: int
    after_idle: float = 0.0  # the share of calls before which the GPU had nothing to do
    tuned: bool = False


def trace_rows(git: Path) -> list[Measured]:
    """Every operator with known work in the traces that are in the clone."""
    rows = []
    for path in _files(git, "tests/traces", ".json.gz"):
        content = _content(git, path)
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                local = Path(folder) / "trace.json.gz"
                local.write_bytes(content)
                rows += _of_trace(local, path.removeprefix("tests/traces/"))
    return rows


def _of_trace(path: Path, name: str) -> Iterator[Measured]:
    recording = open_recording(path)
    peaks = recorded_gpu(recording.device_facts[0]) if recording.device_facts else None
    if peaks is None:
        return
    links = link(recording)
    attribution = attribute(recording, links)
    calls: dict[int, list[int]] = defaultdict(list)
    for i in attribution.order:
        if links.operator[i] != NONE:
            calls[links.operator[i]].append(i)
    shapes: dict[int, list[list[int]]] = defaultdict(list)
    for operator, kernels in calls.items():
        shapes[recording.operators.label[operator]].append(kernels)
    activities = recording.activities
    idle = _after_idle(activities.start, activities.end, attribution.order)
    for number, runs in shapes.items():
        signature = recording.signatures[number]
        first = runs[0][0]
        work = recorded_work(signature, recording.strings[activities.name[first]])
        if work is None or work.form is None:
            continue
        times = [sum(activities.end[i] - activities.start[i] for i in run) for run in runs]
        category = attribution.name(runs[0][-1])
        share = sum(idle[run[0]] for run in runs) / len(runs)
        yield Measured(
            peaks.alias,
            name,
            model_of(name),
            category,
            signature.name,
            work,
            statistics.median(times),
            len(runs),
            share,
        )


def _after_idle(start: Sequence[float], end: Sequence[float], order: Iterable[int]) -> dict[int, bool]:
    found, last = {}, float("inf")
    for i in order:
        found[i] = start[i] - last > IDLE_US
        last = end[i] if last == float("inf") else max(last, end[i])
    return found


def model_of(trace: str) -> str:
    """The model that a trace is of: traces of one model on several GPUs, or in several modes, stay together."""
    parts = trace.removesuffix(".json.gz").split("/")
    if parts[0] == "inference":
        return parts[1].removesuffix("_aiter_sage")
    return parts[-1].split("__")[0] if parts[0] in ("mi300", "h100") else parts[-2]


def tuned_rows(git: Path) -> list[Measured]:
    """Every dense product of the tables for a GPU of the hardware table."""
    rows = []
    for path in _files(git, "aiter/configs", ".csv"):
        name = path.rsplit("/", 1)[-1]
        content = _content(git, path)
        if "tuned" not in name or "untuned" in name or "fmoe" in name or content is None:
            continue
        for entry in csv.DictReader(io.StringIO(content.decode())):
            row = _of_table(entry, name)
            if row is not None:
                rows.append(row)
    return rows


def _of_table(entry: dict[str, str], name: str) -> Measured | None:
    gpu = TUNED_GPUS.get((entry.get("gfx") or "", entry.get("cu_num") or ""))
    us = float(entry.get("us") or 0.0)
    if gpu is None or us <= 0 or not entry.get("M"):
        return None
    arithmetic = "fp4" if "a4w4" in name else "fp8" if "a8w8" in name else "bf16"
    if arithmetic == "bf16" and entry.get("dtype", "torch.bfloat16") != "torch.bfloat16":
        return None
    batch, m, n, k = (int(entry.get(key) or 1) for key in "BMNK")
    size = _BYTES[arithmetic]
    moved = batch * (size * (m * k + n * k) + 2 * m * n)
    work = Work(2 * batch * m * n * k, int(moved), arithmetic, matrix=True, form=Product(batch, m, n, k))
    return Measured(gpu, name, name, f"tuned GEMM {arithmetic}", "tuned", work, us, 1, tuned=True)


def _files(git: Path, under: str, ending: str) -> list[str]:
    return [
        line for line in _git(git, "ls-tree", "-r", "--name-only", "HEAD", under).splitlines() if line.endswith(ending)
    ]


def revision(git: Path) -> str:
    """The commit the clone is at."""
    return _git(git, "rev-parse", "--short=10", "HEAD").strip()


def _git(git: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(git), *arguments], capture_output=True, text=True, check=True).stdout


def _content(git: Path, path: str) -> bytes | None:
    """None where a partial clone lacks the file."""
    answer = subprocess.run(["git", "-C", str(git), "show", f"HEAD:{path}"], capture_output=True, check=False)
    return answer.stdout if answer.returncode == 0 else None
