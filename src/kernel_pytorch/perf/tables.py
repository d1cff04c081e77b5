"""The tables of a profile: operators with their rooflines, kernels, modules, categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.classify.attribution import Attribution, operator_name
from kernel_pytorch.perf.classify.classifier import CATEGORIES
from kernel_pytorch.perf.expected.expected import expected_time
from kernel_pytorch.perf.expected.formulas import STEADY, Launched
from kernel_pytorch.perf.kernel_starts import starts
from kernel_pytorch.perf.profile import CategoryTime, KernelTime, ModuleTime, OperatorTime, Peaks
from kernel_pytorch.perf.recorded_work import RecordedRows, Row
from kernel_pytorch.perf.roofline.forms import Collective, HostCopy
from kernel_pytorch.perf.roofline.limits import limit
from kernel_pytorch.perf.roofline.work import Work
from kernel_pytorch.perf.trace.linking import Links
from kernel_pytorch.perf.trace.recording import NONE, Recording, Signature

_TENSORS = {"aten::mm": 2, "aten::bmm": 2, "aten::addmm": 3, "aten::baddbmm": 3}


@dataclass
class _Row:
    total_us: float = 0.0
    kernels: int = 0
    calls: int = 0
    last_operator: int = -2
    after_idle: int = 0
    cold: int = 0
    least_us: float = float("inf")
    most_us: float = 0.0


def operator_table(
    recording: Recording,
    links: Links,
    attribution: Attribution,
    peaks: Peaks | None,
    windows: Sequence[int | None] = (),
) -> tuple[OperatorTime, ...]:
    """One row per operator and shapes, longest first. Kernels without an operator go by their own name."""
    table: dict[Row, _Row] = {}
    activities = recording.activities
    rows = RecordedRows(recording, links, attribution, windows)
    found_gpu = starts(recording, links, attribution.order)
    for i in attribution.order:
        key = rows.row(i)
        row = table.setdefault(key, _Row())
        row.total_us += activities.end[i] - activities.start[i]
        row.kernels += 1
        operator = links.operator[i] if key.kernel == NONE else NONE
        if operator == NONE or operator != row.last_operator:
            row.calls += 1
            row.after_idle += found_gpu.idle[i]
            row.cold += found_gpu.cold[i]
            row.last_operator = operator
    found = [_operator(recording, key, rows.work(key), row, peaks, rows.window(key)) for key, row in table.items()]
    return tuple(sorted(found, key=lambda one: -one.kernel_ms))


def _operator(
    recording: Recording, key: Row, work: Work | None, row: _Row, peaks: Peaks | None, window: int | None
) -> OperatorTime:
    signature = recording.signatures[key.signature] if key.signature != NONE else None
    name = recording.strings[key.kernel] if key.kernel != NONE or signature is None else signature.name
    shapes = shapes_text(signature) if signature is not None else ""
    shapes += f" window {window}" if window else ""
    base = OperatorTime(name, CATEGORIES[key.category], shapes, row.calls, row.total_us / 1e3, row.kernels)
    if work is None:
        return base
    launched = Launched(row.after_idle / row.calls, row.kernels / row.calls, row.cold / row.calls)
    return with_expected(with_roofline(base, work, peaks), work, peaks, launched)


def with_roofline(base: OperatorTime, work: Work, peaks: Peaks | None) -> OperatorTime:
    """The row with its work, and with its place under the roofline where the peaks are known."""
    filled = replace(
        base, flops=float(work.flops), bytes=float(work.bytes), arithmetic=work.arithmetic,
        tflops=work.flops * base.calls / base.kernel_ms / 1e9 if base.kernel_ms else None,
        gbs=work.bytes * base.calls / base.kernel_ms / 1e6 if base.kernel_ms else None,
    )  # fmt: skip
    # What goes over a link has nothing to do with the GPU's own memory.
    known = peaks is not None and base.calls and not isinstance(work.form, HostCopy | Collective)
    found = limit(work, base.kernel_ms / base.calls, peaks) if known and peaks is not None else None
    if found is None:
        return filled
    return replace(
        filled,
        best_ms=found.best_ms * base.calls,
        percent_of_roofline=found.percent,
        percent_of_achievable=found.percent_of_achievable,
        limiter=found.limiter,
    )


def with_expected(base: OperatorTime, work: Work, peaks: Peaks | None, launched: Launched = STEADY) -> OperatorTime:
    """The row with the time to expect of it, where the GPU is in the hardware table."""
    gpu = gpu_by_alias(peaks.alias) if peaks and peaks.alias else None
    usual = expected_time(gpu, work, launched=launched) if gpu else None
    tuned = expected_time(gpu, work, tuned=True, launched=launched) if gpu else None
    if usual is None or tuned is None:
        return base
    per_row = base.calls / 1e3
    return replace(
        base, expected_ms=usual.us * per_row, low_ms=usual.low_us * per_row, high_ms=usual.high_us * per_row,
        reachable_ms=min(usual.us, tuned.us) * per_row, basis=usual.basis,
    )  # fmt: skip


def shapes_text(signature: Signature) -> str:
    """`bf16[16,559,1024] x bf16[1024,1024]`-like text of the tensor arguments."""
    parts = []
    # Compiled code passes the output along; the operator is the same.
    most = _TENSORS.get(signature.name, len(signature.dims))
    for dims, kind in zip(signature.dims[:most], signature.types, strict=False):
        if isinstance(dims, tuple) and dims:
            short = kind.removeprefix("c10::").lower()
            parts.append(f"{short}{str(dims).replace(' ', '').replace('(', '[').replace(')', ']').replace(',]', ']')}")
    return " ".join(parts)


def kernel_table(
    recording: Recording, links: Links, attribution: Attribution, wanted: Iterable[int] | None = None
) -> tuple[KernelTime, ...]:
    """One row per kernel name and operator, longest first."""
    rows: dict[tuple[int, str, int], _Row] = {}
    activities = recording.activities
    for i in attribution.order if wanted is None else wanted:
        key = (activities.name[i], operator_name(recording, links, i), attribution.category[i])
        row = rows.setdefault(key, _Row())
        length = activities.end[i] - activities.start[i]
        row.total_us += length
        row.kernels += 1
        row.least_us = min(row.least_us, length)
        row.most_us = max(row.most_us, length)
    table = [
        KernelTime(
            recording.strings[name], CATEGORIES[category], operator=operator, count=row.kernels,
            total_ms=row.total_us / 1e3, mean_us=row.total_us / row.kernels, min_us=row.least_us, max_us=row.most_us,
        )
        for (name, operator, category), row in rows.items()
    ]  # fmt: skip
    return tuple(sorted(table, key=lambda one: -one.total_ms))


def module_table(recording: Recording, links: Links, attribution: Attribution) -> tuple[ModuleTime, ...]:
    """GPU time by innermost nn.Module; empty where the trace has no Python stacks."""
    rows: dict[int, _Row] = {}
    activities = recording.activities
    for i in attribution.order:
        module = links.module[i]
        if module != NONE:
            row = rows.setdefault(recording.modules.label[module], _Row())
            row.total_us += activities.end[i] - activities.start[i]
            row.kernels += 1
    table = [ModuleTime(recording.strings[label], row.total_us / 1e3, row.kernels) for label, row in rows.items()]
    return tuple(sorted(table, key=lambda one: -one.kernel_ms))


def category_table(
    recording: Recording, attribution: Attribution, operators: tuple[OperatorTime, ...]
) -> tuple[CategoryTime, ...]:
    """GPU time by category, longest first; the shares add up to one."""
    totals = {name: [0.0, 0] for name in CATEGORIES}
    activities = recording.activities
    for i in attribution.order:
        entry = totals[attribution.name(i)]
        entry[0] += activities.end[i] - activities.start[i]
        entry[1] += 1
    everything = sum(total for total, _ in totals.values())
    modelled = {name: [0.0, 0.0] for name in CATEGORIES}
    for row in operators:
        if row.best_ms is not None:
            modelled[row.category][0] += row.kernel_ms
            modelled[row.category][1] += min(row.best_ms, row.kernel_ms)
    table = [
        CategoryTime(name, total / 1e3, int(count), total / everything if everything else 0.0, *modelled[name])
        for name, (total, count) in totals.items()
        if count
    ]
    return tuple(sorted(table, key=lambda one: -one.kernel_ms))
