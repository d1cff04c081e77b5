"""The drawings of a profile as SVG: no script, no fonts, no network; made from the saved profile alone."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from html import escape

from kernel_pytorch.perf.classify.classifier import CATEGORIES, TITLES
from kernel_pytorch.perf.profile import OperatorTime, Peaks, Profile
from kernel_pytorch.report.page import DESK

COLOURS = {
    "gemm": "#4269d0",
    "attention": "#efb118",
    "convolution": "#ff725c",
    "norm": "#6cc5b0",
    "elementwise": "#3ca951",
    "reduction": "#ff8ab7",
    "copy": "#a463f2",
    "communication": "#97bbf5",
    "other": "#9c6b4e",
}
IDLE = "#8884"  # grey on white and on black paper
GRID = 'stroke="currentColor" opacity="0.15"'
LINE = 14  # from one line of words to the next
LETTER = 6.1  # how wide a letter is, on average


def _margins(width: int) -> tuple[int, int]:
    return (70, 34) if width == DESK else (48, 28)


def timeline_chart(profile: Profile, width: int = DESK) -> str:
    """What ran when: one column per slice of time, idle left grey."""
    plot, top = 120, 24
    left, right = _margins(width)
    inner = width - left - right
    parts = [_text(left, 14, f"{profile.total_ms:.3f} ms, busiest device; grey is idle", "start")]
    parts.append(f'<rect x="{left}" y="{top}" width="{inner}" height="{plot}" fill="{IDLE}"/>')
    step = inner / max(1, len(profile.bins))
    for number, one in enumerate(profile.bins):
        reached = 0.0
        for category in CATEGORIES:
            share = one.shares.get(category, 0.0)
            if share > 0.0005:
                reached += share
                y = top + plot * (1 - reached)
                parts.append(
                    f'<rect x="{left + number * step:.2f}" y="{y:.2f}" width="{step + 0.2:.2f}" '
                    f'height="{plot * share:.2f}" fill="{COLOURS[category]}"/>'
                )
    marks = 5 if width == DESK else 3
    for number in range(marks + 1):
        value = profile.bins[-1].start_ms + profile.bins[-1].length_ms if profile.bins else 0.0
        at = left + inner * number / marks
        parts.append(_text(at, top + plot + 14, f"{value * number / marks:.2f} ms", "middle"))
    legend, bottom = _legend([c for c in CATEGORIES if any(c in one.shares for one in profile.bins)], 174, width)
    return _svg(width, bottom + 6, [*parts, *legend], "timeline")


def breakdown_chart(profile: Profile, width: int = DESK) -> str:
    """One bar: the timeline's identity. One bar: kernel time by category."""
    left, right = _margins(width)
    inner = width - left - right
    main = max(profile.timelines, key=lambda one: one.busy_ms)
    first = [
        ("compute", main.compute_ms, COLOURS["gemm"]),
        ("exposed communication", main.exposed_communication_ms, COLOURS["communication"]),
        ("exposed copies", main.exposed_copy_ms, COLOURS["copy"]),
        ("idle", main.idle_ms, IDLE),
    ]
    second = [(TITLES[row.category], row.kernel_ms, COLOURS[row.category]) for row in profile.categories]
    parts: list[str] = []
    y = 10
    for label, rows in (("time", first), ("kernels", second)):
        total = sum(value for _, value, _ in rows) or 1.0
        x = float(left)
        parts.append(_text(left - 8, y + 19, label, "end"))
        caption = []
        for name, value, colour in rows:
            part = inner * value / total
            parts.append(
                f'<rect x="{x:.2f}" y="{y}" width="{part:.2f}" height="28" fill="{colour}">'
                f"<title>{escape(name)}: {value:.3f} ms ({100 * value / total:.1f} %)</title></rect>"
            )
            x += part
            if value / total > 0.004:
                caption.append(f"{name} {100 * value / total:.1f} %")
        lines = textwrap.wrap(", ".join(caption), int((width - left) / LETTER))
        parts += [_text(left, y + 46 + LINE * number, line, "start") for number, line in enumerate(lines)]
        y += 56 + LINE * len(lines)
    return _svg(width, y, parts, "breakdown")


def operators_chart(profile: Profile, width: int = DESK, top: int = 15) -> str:
    """The operators that take longest; the dark part is what the roofline says they need."""
    rows = profile.operators[:top]
    longest = max((row.kernel_ms for row in rows), default=1.0) or 1.0
    # On a phone a name stands above its bar.
    beside = width == DESK
    left, pitch, letters = (430, 24, 66) if beside else (4, 42, 60)
    inner = width - left - 90
    parts = []
    for number, row in enumerate(rows):
        y = 8 + pitch * number + (0 if beside else 16)
        name = f"{row.name} {row.shapes}".strip()
        short = name if len(name) < letters else name[: letters - 3] + "..."
        parts.append(_text(left - 8, y + 13, short, "end") if beside else _text(left, y - 5, short, "start"))
        length = inner * row.kernel_ms / longest
        colour = COLOURS[row.category]
        parts.append(
            f'<rect x="{left}" y="{y}" width="{length:.2f}" height="18" fill="{colour}" opacity="0.55">'
            f"<title>{escape(name)}: {row.kernel_ms:.3f} ms, {row.calls} calls</title></rect>"
        )
        if row.best_ms is not None:
            best = min(row.best_ms, row.kernel_ms)
            parts.append(
                f'<rect x="{left}" y="{y}" width="{inner * best / longest:.2f}" height="18" fill="{colour}">'
                f"<title>roofline: {row.best_ms:.3f} ms</title></rect>"
            )
        parts.append(_text(left + length + 6, y + 13, f"{row.kernel_ms:.3f} ms", "start"))
    return _svg(width, 20 + pitch * len(rows), parts, "operators")


def roofline_chart(profile: Profile, width: int = DESK) -> str:
    """FLOP/s over FLOPs per byte, both logarithmic, under the roof of the busiest arithmetic. "" without peaks."""
    rows = [row for row in profile.operators if row.intensity and row.tflops and row.kernel_ms > 0]
    peaks = profile.peaks
    if peaks is None or not rows:
        return ""
    roofs = _roofs(peaks, rows)
    low_x = min(0.05, *(row.intensity or 1.0 for row in rows))
    high_x = max(2000.0, *(row.intensity or 1.0 for row in rows))
    high_y = max(value for _, value in roofs) * 2
    low_y = max(1e-4, min(row.tflops or 1.0 for row in rows) / 2)
    height, top, bottom = 430 if width == DESK else 330, 16, 62
    left, right = _margins(width)

    def x(value: float) -> float:
        return left + (width - left - right) * math.log(value / low_x) / math.log(high_x / low_x)

    def y(value: float) -> float:
        return (
            height - bottom - (height - bottom - top) * math.log(max(value, low_y) / low_y) / math.log(high_y / low_y)
        )

    parts = [*_grid(x, y, (low_x, high_x), (low_y, high_y), (left, width - right, top, height - bottom))]
    label_y = 0.0
    for roof in sorted({rate for _, rate in roofs}, reverse=True):
        name = ", ".join(name for name, rate in roofs if rate == roof)
        ridge = roof * 1e3 / peaks.bandwidth_gbs
        points = [(low_x, low_x * peaks.bandwidth_gbs / 1e3), (ridge, roof), (high_x, roof)]
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points if a >= low_x)
        parts.append(f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.6"/>')
        label_y = max(y(roof) - 5, label_y + LINE)  # two roofs may be close to each other, and their names are not
        parts.append(_text(width - right - 4, label_y, f"{name} {roof:g} TFLOP/s", "end"))
    longest = max(row.kernel_ms for row in rows)
    for row in rows[:120]:
        radius = 3 + 9 * math.sqrt(row.kernel_ms / longest)
        label = f"{row.name} {row.shapes}: {row.tflops:.1f} TFLOP/s, {row.gbs:.0f} GB/s, {row.kernel_ms:.3f} ms"
        parts.append(
            f'<circle cx="{x(row.intensity or low_x):.1f}" cy="{y(row.tflops or low_y):.1f}" r="{radius:.1f}" '
            f'fill="{COLOURS[row.category]}" opacity="0.7"><title>{escape(label)}</title></circle>'
        )
    parts.append(_text(width / 2, height - 28, "FLOPs per byte (every tensor moved once)", "middle"))
    legend, end = _legend(sorted({row.category for row in rows}, key=CATEGORIES.index), height - 6, width)
    return _svg(width, end + 6, [*parts, *legend], "roofline")


def _roofs(peaks: Peaks, rows: list[OperatorTime]) -> list[tuple[str, float]]:
    matrix = {row.arithmetic for row in rows if row.category in ("gemm", "attention", "convolution")}
    found = [(f"{name} matrix", rate) for name, rate in peaks.matrix.items() if name in matrix]
    if "fp32" in peaks.vector:
        found.append(("fp32 vector", peaks.vector["fp32"]))
    return found or [(name, rate) for name, rate in list(peaks.matrix.items())[:1]]


def _grid(
    x: Callable[[float], float],
    y: Callable[[float], float],
    across: tuple[float, float],
    up: tuple[float, float],
    edges: tuple[float, float, float, float],
) -> Iterator[str]:
    left, right, top, bottom = edges
    first, last = math.ceil(math.log10(across[0])), math.floor(math.log10(across[1]))
    for power in range(first, last + 1):
        at = x(10.0**power)
        yield f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{bottom}" {GRID}/>'
        yield _text(at, bottom + 14, f"{10.0**power:g}", "middle")
    for power in range(math.ceil(math.log10(up[0])), math.floor(math.log10(up[1])) + 1):
        at = y(10.0**power)
        yield f'<line x1="{left}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" {GRID}/>'
        yield _text(left - 6, at + 4, f"{10.0**power:g}", "end")


def _legend(categories: list[str], y: int, width: int) -> tuple[list[str], int]:
    """The colours, in as many lines as they need from `y` on; and where the last line is."""
    left, right = _margins(width)
    parts, x = [], float(left)
    for category in categories:
        if x > left and x + 14 + LETTER * len(TITLES[category]) > width - right / 2:
            x, y = float(left), y + LINE
        parts.append(f'<rect x="{x:.0f}" y="{y - 9:.0f}" width="10" height="10" fill="{COLOURS[category]}"/>')
        parts.append(_text(x + 14, y, TITLES[category], "start"))
        x += 30 + 6.4 * len(TITLES[category])
    return parts, y


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: int, height: int, parts: list[str], name: str) -> str:
    return (
        f'<svg class="{name}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" '
        f'font-family="sans-serif" font-size="11" fill="currentColor" role="img">{"".join(parts)}</svg>'
    )
