"""A profile as one self-contained HTML page: no script, no network, nothing but what the profile holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

from kernel_pytorch.perf.classify.classifier import TITLES
from kernel_pytorch.perf.profile import Profile
from kernel_pytorch.report.page import write_page
from kernel_pytorch.report.profile_charts import breakdown_chart, operators_chart, roofline_chart, timeline_chart

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1000px;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse;width:100%;font-size:13px}
td,th{padding:3px 8px;border-bottom:1px solid #e5e5e5;text-align:left;vertical-align:top}td.n,th.n{text-align:right}
td{overflow-wrap:anywhere}svg{width:100%;height:auto}.quiet{color:#666}li{margin-bottom:.6em}
"""
TOP = 40


def to_html(profile: Profile) -> str:
    """The page."""
    device = "CPU profile" if profile.device_kind == "cpu" else profile.gpu
    body = [
        f"<h1>{escape(profile.source)}</h1>",
        f"<p class=quiet>{escape(profile.form)}, {escape(device)}, {profile.steps} step(s), "
        f"{profile.total_ms:.3f} ms, {100 * profile.other_share:.2f} % of kernel time in other</p>",
        *(f"<p class=quiet>{escape(note)}</p>" for note in profile.notes),
        "<h2>Where the time goes</h2>",
        breakdown_chart(profile),
        timeline_chart(profile),
        _table(
            "Why idle",
            ["cause", "ms", "gaps", ""],
            [(row.cause, f"{row.idle_ms:.3f}", row.gaps, row.detail) for row in profile.idle],
        ),
        _table(
            "By category",
            ["category", "ms", "share", "kernels", "could save at most, ms"],
            [
                (
                    TITLES[c.category],
                    f"{c.kernel_ms:.3f}",
                    f"{100 * c.share:.1f} %",
                    c.kernels,
                    f"{c.most_to_gain_ms:.3f}",
                )
                for c in profile.categories
            ],
        ),
        _advice(profile),
        "<h2>Roofline</h2>" + (roofline_chart(profile) or "<p class=quiet>No GPU known, or no shapes recorded.</p>"),
        "<h2>Operators</h2>" + operators_chart(profile),
        _operators(profile),
        _table(
            "Modules",
            ["module", "ms", "kernels"],
            [(row.module, f"{row.kernel_ms:.3f}", row.kernels) for row in profile.modules[:TOP]],
        ),
        _table(
            "Seen",
            ["what", "count", "ms", ""],
            [(row.kind, row.count, f"{row.kernel_ms:.3f}", row.text) for row in profile.observations],
        ),
        _table(
            "Kernels",
            ["kernel", "operator", "category", "count", "ms", "mean us"],
            [
                (k.name, k.operator, TITLES[k.category], k.count, f"{k.total_ms:.3f}", f"{k.mean_us:.1f}")
                for k in profile.kernels[:TOP]
            ],
        ),
        _compile(profile),
    ]
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{escape(profile.source)}: profile</title>"
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def write_html(profile: Profile, path: Path) -> None:
    """Write the page. Raises UsageError naming the file if it cannot be written."""
    write_page(to_html(profile), path)


def _table(title: str, heads: list[str], rows: Iterable[tuple[object, ...]]) -> str:
    filled = list(rows)
    if not filled:
        return ""
    numeric = [all(_is_number(row[i]) for row in filled) for i in range(len(heads))]
    mark: Callable[[int], str] = lambda i: " class=n" if numeric[i] else ""  # noqa: E731
    head = "".join(f"<th{mark(i)}>{escape(name)}</th>" for i, name in enumerate(heads))
    lines = "".join(
        "<tr>" + "".join(f"<td{mark(i)}>{escape(str(cell))}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in filled
    )
    return f"<h2>{escape(title)}</h2><table><tr>{head}</tr>{lines}</table>"


def _is_number(cell: object) -> bool:
    text = str(cell).removesuffix("%").strip()
    return text.replace(".", "", 1).lstrip("-").isdigit() or text == ""


def _operators(profile: Profile) -> str:
    def number(value: float | None, form: str = ".1f") -> str:
        return format(value, form) if value is not None else ""

    rows = [
        (
            row.name, row.shapes, row.calls, f"{row.kernel_ms:.3f}", number(row.tflops), number(row.gbs, ".0f"),
            number(row.percent_of_roofline, ".0f"), number(row.percent_of_achievable, ".0f"), row.limiter or "",
        )
        for row in profile.operators[:TOP]
    ]  # fmt: skip
    heads = ["operator", "shapes", "calls", "ms", "TFLOP/s", "GB/s", "% of roofline", "% of achievable", "limiter"]
    return _table("Operators, in figures", heads, rows)


def _advice(profile: Profile) -> str:
    if not profile.advice:
        return ""
    items = "".join(
        f"<li><b>{escape(one.title)}: {escape(one.action)}</b> "
        f"(rung {one.rung}, predicted saving {one.saving_ms:.3f} ms)<br>"
        f"{escape(one.why)}<br><span class=quiet>{escape(one.how)}</span></li>"
        for one in profile.advice
    )
    return (
        f"<h2>What to do</h2><ol>{items}</ol>"
        "<p class=quiet>Savings are predicted from the times above; they overlap and do not add up.</p>"
    )


def _compile(profile: Profile) -> str:
    log = profile.compile_log
    if log is None:
        return ""
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
    return graphs + breaks + again
