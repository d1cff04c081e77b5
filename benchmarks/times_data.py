"""Measured times that others published, as rows: an operator's work, the GPU, the model it came from, microseconds.

Two sources, each a git directory (a clone, bare or not) of a public repository; nothing of them is kept here:

- AMD-AGI/TraceLens (MIT): torch traces under tests/traces, read as `kpt profile` reads them. One row for each operator
  and shapes; its time is the median over its calls of the sum of its kernels.
  Replays of graphs are joined with the captures that lie beside them.
- ROCm/aiter (MIT): tables of tuned kernels, aiter/configs/**/*tuned*.csv, a time for each shape.
"""

from __future__ import annotations

import csv
import io
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.classify.attribution import attribute
from kernel_pytorch.perf.expected.formulas import STEADY, Launched
from kernel_pytorch.perf.kernel_starts import starts
from kernel_pytorch.perf.recorded_work import RecordedRows, Row
from kernel_pytorch.perf.roofline.collectives import sent_bytes
from kernel_pytorch.perf.roofline.forms import Collective, Product
from kernel_pytorch.perf.roofline.peaks import recorded_gpu
from kernel_pytorch.perf.roofline.routed import routed_product
from kernel_pytorch.perf.roofline.work import Work
from kernel_pytorch.perf.trace.graphs import join_graphs
from kernel_pytorch.perf.trace.linking import link
from kernel_pytorch.perf.trace.open import open_recording
from kernel_pytorch.perf.trace.recording import NONE, Recording

# Of a GPU by its instruction set and compute units. gfx1250 is not in the hardware table, MI308X neither.
TUNED_GPUS = {("gfx942", "304"): "mi300x", ("gfx950", "256"): "mi355x"}
MOE_TYPES = {
    "torch.bfloat16": "bf16",
    "torch.float8_e4m3fn": "fp8",
    "torch.float8_e4m3fnuz": "fp8",
    "torch.float4_e2m1fn_x2": "mxfp4",
    "torch.int4": "int4",
}
# The config.json of gpt-oss-20b and gpt-oss-120b: every second layer attends to 128 keys.
WINDOWS = {"inference/vllm_": (128, None), "b200/eager": (128, None)}
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
    launched: Launched = STEADY
    tuned: bool = False


def trace_rows(git: Path) -> list[Measured]:
    """Every operator with known work in the traces that are in the clone."""
    rows = []
    paths = files(git, "tests/traces", ".json.gz")
    for path in paths:
        folder = path.rsplit("/", 1)[0]
        beside = [other for other in paths if other.startswith(f"{folder}/capture_traces/")]
        recording = _recording(git, path)
        if recording is not None:
            captures = [one for one in (_recording(git, other) for other in beside) if one is not None]
            windows = next((those for part, those in WINDOWS.items() if part in path), ())
            rows += recording_rows(recording, path.removeprefix("tests/traces/"), captures, windows)
    return rows


def known_shares(git: Path) -> Iterator[tuple[str, float, float, float]]:
    """Each trace: its GPU time, the share of it whose work is known, and the same with the captures beside it."""
    paths = files(git, "tests/traces", ".json.gz")
    for path in paths:
        beside = [other for other in paths if other.startswith(f"{path.rsplit('/', 1)[0]}/capture_traces/")]
        alone, joined = _recording(git, path), _recording(git, path)
        if alone is None or joined is None:
            continue
        captures = [one for one in (_recording(git, other) for other in beside) if one is not None]
        first, second = analyse(alone), analyse(joined, captures=captures)
        yield path.removeprefix("tests/traces/"), first.kernel_ms, first.modelled_share, second.modelled_share


def _recording(git: Path, path: str) -> Recording | None:
    found = content(git, path)
    if found is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "trace.json.gz"
        local.write_bytes(found)
        return open_recording(local)


def recording_rows(
    recording: Recording, name: str, captures: Sequence[Recording] = (), windows: Sequence[int | None] = ()
) -> Iterator[Measured]:
    """Every operator with known work in one trace."""
    peaks = recorded_gpu(recording.device_facts[0]) if recording.device_facts else None
    if peaks is None:
        return
    join_graphs(recording, captures)
    links = link(recording)
    attribution = attribute(recording, links)
    found = RecordedRows(recording, links, attribution, windows)
    activities = recording.activities
    calls: dict[tuple[Row, int], list[int]] = {}
    for i in attribution.order:
        row = found.row(i)
        # A kernel that is a row of its own is a call of its own.
        call = links.operator[i] if row.kernel == NONE else -2 - i
        if row.signature != NONE:
            calls.setdefault((row, call), []).append(i)
    rows: dict[Row, list[list[int]]] = defaultdict(list)
    for (row, _), kernels in calls.items():
        rows[row].append(kernels)
    begin = starts(recording, links, attribution.order)
    for row, runs in rows.items():
        work = found.work(row)
        if work is None or work.form is None or isinstance(work.form, Collective):
            continue  # how long a collective takes depends on when the others come
        times = [sum(activities.end[i] - activities.start[i] for i in run) for run in runs]
        yield Measured(
            peaks.alias,
            name,
            model_of(name),
            attribution.name(runs[0][-1]),
            recording.signatures[row.signature].name,
            work,
            statistics.median(times),
            len(runs),
            Launched(
                sum(begin.idle[run[0]] for run in runs) / len(runs),
                sum(map(len, runs)) / len(runs),
                sum(begin.cold[run[0]] for run in runs) / len(runs),
            ),
        )


def model_of(trace: str) -> str:
    """The model that a trace is of: traces of one model on several GPUs, or in several modes, stay together."""
    parts = trace.removesuffix(".json.gz").split("/")
    if parts[0] == "inference":
        return parts[1].removesuffix("_aiter_sage")
    return parts[-1].split("__")[0] if parts[0] in ("mi300", "h100") else parts[-2]


def tuned_rows(git: Path) -> list[Measured]:
    """Every dense product of the tables for a GPU of the hardware table."""
    rows = []
    for path in files(git, "aiter/configs", ".csv"):
        name = path.rsplit("/", 1)[-1]
        found = content(git, path)
        if "tuned" not in name or "untuned" in name or found is None:
            continue
        for entry in csv.DictReader(io.StringIO(found.decode())):
            if "moe" in name:
                rows += _of_moe_table(entry, name)
                continue
            row = _of_table(entry, name)
            if row is not None:
                rows.append(row)
    return rows


def _of_moe_table(entry: dict[str, str], name: str) -> Iterator[Measured]:
    """Both products of a mixture of experts apart where two kernels do them, or together."""
    units = entry.get("cu_num") or ""
    gpu = next((alias for (gfx, count), alias in TUNED_GPUS.items() if count == units), None)
    if entry.get("gfx"):
        gpu = TUNED_GPUS.get((entry["gfx"] or "", units))
    inputs, weights = (MOE_TYPES.get(entry.get(key) or "") for key in ("q_dtype_a", "q_dtype_w"))
    if gpu is None or inputs is None or weights is None or not float(entry.get("us") or 0):
        return
    if inputs == "fp8" and "1x32" in entry["q_type"]:
        inputs = "mxfp8"
    tokens, width, inner, experts, chosen = (
        int(entry[key]) for key in ("token", "model_dim", "inter_dim", "expert", "topk")
    )
    up, down = ((2 if entry["use_g1u1"] == "1" else 1) * inner, width), (width, inner)
    both = [(float(entry["us1"] or 0), (up,)), (float(entry["us2"] or 0), (down,))]
    if not all(us for us, _ in both):
        both = [(float(entry["us"]), (up, down))]
    for us, products in both:
        work = routed_product(
            tokens, experts, chosen, products, inputs, weights, summed=down in products, joint=len(products) > 1
        )
        yield Measured(gpu, name, name, f"tuned MoE {work.arithmetic}", "tuned", work, us, 1, tuned=True)


def collective_rows(git: Path) -> list[Measured]:
    """Collectives of eight MI300X: TraceLens's own table of eight ranks' traces, from when the last one had come."""
    rows = []
    for path in files(git, "tests/traces", "nccl_summary_implicit_sync.csv"):
        found = content(git, path)
        for entry in csv.DictReader(io.StringIO((found or b"").decode())):
            what = {"allreduce": "all-reduce", "_allgather_base": "all-gather"}.get(
                entry["Collective name"], "reduce-scatter"
            )
            members, largest = int(entry["Group size"]), int(float(entry["Full msg size (MB)"]) * 2**20)
            form = Collective(what, members, sent_bytes(what, members, largest), 2 if what == "all-reduce" else 1)
            work, us = Work(0, 2 * largest, "fp32", form=form), float(entry["comm_latency_median"])
            rows.append(Measured("mi300x", path, "llama_70b_fsdp", "collective", what, work, us, int(entry["count"])))
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


def files(git: Path, under: str, ending: str) -> list[str]:
    """Those of a folder of the clone with this ending."""
    return [
        line for line in _git(git, "ls-tree", "-r", "--name-only", "HEAD", under).splitlines() if line.endswith(ending)
    ]


def revision(git: Path) -> str:
    """The commit the clone is at."""
    return _git(git, "rev-parse", "--short=10", "HEAD").strip()


def _git(git: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(git), *arguments], capture_output=True, text=True, check=True).stdout


def content(git: Path, path: str) -> bytes | None:
    """None where a partial clone lacks the file."""
    answer = subprocess.run(["git", "-C", str(git), "show", f"HEAD:{path}"], capture_output=True, check=False)
    return answer.stdout if answer.returncode == 0 else None
