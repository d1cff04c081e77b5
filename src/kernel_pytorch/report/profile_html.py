"""A profile as one self-contained HTML page: no network, nothing but what the profile holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.perf.classify.classifier import TITLES
from kernel_pytorch.perf.profile import OperatorTime, Profile
from kernel_pytorch.report.page import both_widths, render, write_page
from kernel_pytorch.report.profile_charts import breakdown_chart, operators_chart, roofline_chart, timeline_chart

TOP = 40
LONG_WORD = 24


@dataclass(frozen=True)
class Table:
    """A table of the page. A column is set as numbers where every cell of it is one."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def is_number(self, column: int) -> bool:
        """Whether a column is aligned as numbers are."""
        return all(_is_number(row[column]) for row in self.rows)

    def is_long(self, column: int) -> bool:
        """Whether a column has words that no line holds: names of kernels, shapes of many tensors."""
        words = (word for row in self.rows for word in str(row[column]).split())
        return any(len(word) > LONG_WORD for word in words)


def to_html(profile: Profile) -> str:
    """The page. Raises UsageError where jinja2 is not installed."""
    return render(
        "profile.html.j2",
        profile=profile,
        device="CPU profile" if profile.device_kind == "cpu" else profile.gpu,
        breakdown=both_widths(lambda width: breakdown_chart(profile, width)),
        timeline=both_widths(lambda width: timeline_chart(profile, width)),
        roofline=roofline_chart(profile) and both_widths(lambda width: roofline_chart(profile, width)),
        operators=both_widths(lambda width: operators_chart(profile, width)),
        before=[_idle(profile), _categories(profile)],
        after=[
            _operators(profile),
            _modules(profile),
            _observations(profile),
            _kernels(profile),
            *_counters(profile),
            *_compile(profile),
        ],
    )


def write_html(profile: Profile, path: Path) -> None:
    """Write the page. Raises UsageError naming the file if it cannot be written."""
    write_page(to_html(profile), path)


def _table(title: str, heads: Iterable[str], rows: Iterable[tuple[object, ...]]) -> Table:
    """A table without the columns that nothing is known for: the roofline of an unknown GPU, counters nobody read."""
    names, lines = tuple(heads), tuple(rows)
    kept = [column for column in range(len(names)) if any(line[column] not in ("", None) for line in lines)]
    return Table(title, tuple(names[c] for c in kept), tuple(tuple(line[c] for c in kept) for line in lines))


def _is_number(cell: object) -> bool:
    text = str(cell).removesuffix("%").strip()
    return text.replace(".", "", 1).lstrip("-").isdigit() or text == ""


def _idle(profile: Profile) -> Table:
    rows = [(row.cause, f"{row.idle_ms:.3f}", row.gaps, row.detail) for row in profile.idle]
    return _table("Why idle", ["cause", "ms", "gaps", ""], rows)


def _categories(profile: Profile) -> Table:
    rows = [
        (
            TITLES[c.category],
            f"{c.kernel_ms:.3f}",
            f"{100 * c.share:.1f} %",
            c.kernels,
            f"{c.most_to_gain_ms:.3f}" if c.modelled_ms else "",
        )
        for c in profile.categories
    ]
    return _table("By category", ["category", "ms", "share", "kernels", "could save at most, ms"], rows)


def _modules(profile: Profile) -> Table:
    rows = [(row.module, f"{row.kernel_ms:.3f}", row.kernels) for row in profile.modules[:TOP]]
    return _table("Modules", ["module", "ms", "kernels"], rows)


def _observations(profile: Profile) -> Table:
    rows = [(row.kind, row.count, f"{row.kernel_ms:.3f}", row.text) for row in profile.observations]
    return _table("Seen", ["what", "count", "ms", ""], rows)


def _kernels(profile: Profile) -> Table:
    rows = [
        (k.name, k.operator, TITLES[k.category], k.count, f"{k.total_ms:.3f}", f"{k.mean_us:.1f}")
        for k in profile.kernels[:TOP]
    ]
    return _table("Kernels", ["kernel", "operator", "category", "count", "ms", "mean us"], rows)


def _counters(profile: Profile) -> list[Table]:
    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.0%}"

    rows = [
        (
            row.name, row.dispatches, f"{row.total_ms:.3f}", share(row.occupancy),
            "" if row.valu_per_vmem is None else f"{row.valu_per_vmem:.1f}", share(row.valu_busy),
            share(row.lds_conflicts), share(row.l1_hit), share(row.l2_hit),
            "" if row.gbs is None else f"{row.gbs:.0f}", share(row.share_of_bandwidth), share(row.matrix_busy),
        )
        for row in profile.counters[:TOP]
    ]  # fmt: skip
    heads = ["kernel", "dispatches", "ms", "occupancy", "VALU per VMEM", "VALU busy", "LDS conflicts", "L1 hits",
             "L2 hits", "GB/s", "of the bandwidth", "matrix units busy"]  # fmt: skip
    return [_table("Hardware counters", heads, rows)] if rows else []


def _between(row: OperatorTime) -> str:
    return "" if row.low_ms is None or row.high_ms is None else f"{row.low_ms:.3f} and {row.high_ms:.3f}"


def _operators(profile: Profile) -> Table:
    def number(value: float | None, form: str = ".1f") -> str:
        return format(value, form) if value is not None else ""

    rows = [
        (
            row.name, row.shapes, row.calls, f"{row.kernel_ms:.3f}", number(row.tflops), number(row.gbs, ".0f"),
            number(row.percent_of_roofline, ".0f"), number(row.percent_of_achievable, ".0f"), row.limiter or "",
            number(row.expected_ms, ".3f"), _between(row), row.basis or "",
        )
        for row in profile.operators[:TOP]
    ]  # fmt: skip
    heads = ["operator", "shapes", "calls", "ms", "TFLOP/s", "GB/s", "% of roofline", "% of achievable", "limiter",
             "expected ms", "four of five between", "based on"]  # fmt: skip
    return _table("Operators, in figures", heads, rows)


def _compile(profile: Profile) -> list[Table]:
    log = profile.compile_log
    if log is None:
        return []
    graphs = _table(
        "torch.compile: graphs",
        ["graph", "nodes", "seconds", "operators"],
        [
            (g.number, g.nodes, f"{g.seconds:.2f}", ", ".join(f"{k} {v}" for k, v in list(g.operators.items())[:8]))
            for g in log.graphs
        ],
    )
    breaks = _table(
        "Graph breaks",
        ["where", "code", "reason", "what usually helps", "count"],
        [(b.place, b.code, b.reason, b.fix, b.count) for b in log.breaks],
    )
    again = _table(
        "Recompilations",
        ["function", "reason", "what usually helps", "count"],
        [(r.function, r.reason, r.fix, r.count) for r in log.recompiles],
    )
    return [graphs, breaks, again]
