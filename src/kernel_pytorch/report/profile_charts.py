"""The drawings of a profile as SVG: no script, no fonts, no network; made from the saved profile alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape

from kernel_pytorch.perf.classify.classifier import CATEGORIES, TITLES
from kernel_pytorch.perf.profile import OperatorTime, Peaks, Profile

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
WIDTH, LEFT, RIGHT = 960, 70, 34


def timeline_chart(profile: Profile) -> str:
    """What ran when: one column per slice of time, idle left grey."""
    height, top = 180, 24
    plot = height - top - 36
    inner = WIDTH - LEFT - RIGHT
    parts = [_text(LEFT, 14, f"{profile.total_ms:.3f} ms, busiest device; grey is idle", "start")]
    parts.append(f'<rect x="{LEFT}" y="{top}" width="{inner}" height="{plot}" fill="{IDLE}"/>')
    step = inner / max(1, len(profile.bins))
    for number, one in enumerate(profile.bins):
        reached = 0.0
        for category in CATEGORIES:
            share = one.shares.get(category, 0.0)
            if share > 0.0005:
                reached += share
                y = top + plot * (1 - reached)
                parts.append(
                    f'<rect x="{LEFT + number * step:.2f}" y="{y:.2f}" width="{step + 0.2:.2f}" '
                    f'height="{plot * share:.2f}" fill="{COLOURS[category]}"/>'
                )
    for number in range(6):
        value = profile.bins[-1].start_ms + profile.bins[-1].length_ms if profile.bins else 0.0
        parts.append(_text(LEFT + inner * number / 5, height - 22, f"{value * number / 5:.2f} ms", "middle"))
    parts.append(_legend([c for c in CATEGORIES if any(c in one.shares for one in profile.bins)], height - 6))
    return _svg(height, parts, "timeline")


def breakdown_chart(profile: Profile) -> str:
    """One bar: the timeline's identity. One bar: kernel time by category."""
    height = 150
    inner = WIDTH - LEFT - RIGHT
    main = max(profile.timelines, key=lambda one: one.busy_ms)
    first = [
        ("compute", main.compute_ms, COLOURS["gemm"]),
        ("exposed communication", main.exposed_communication_ms, COLOURS["communication"]),
        ("exposed copies", main.exposed_copy_ms, COLOURS["copy"]),
        ("idle", main.idle_ms, IDLE),
    ]
    second = [(TITLES[row.category], row.kernel_ms, COLOURS[row.category]) for row in profile.categories]
    parts: list[str] = []
    for y, label, rows in ((10, "time", first), (80, "kernels", second)):
        total = sum(value for _, value, _ in rows) or 1.0
        x = float(LEFT)
        parts.append(_text(LEFT - 8, y + 19, label, "end"))
        caption = []
        for name, value, colour in rows:
            width = inner * value / total
            parts.append(
                f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="28" fill="{colour}">'
                f"<title>{escape(name)}: {value:.3f} ms ({100 * value / total:.1f} %)</title></rect>"
            )
            x += width
            if value / total > 0.004:
                caption.append(f"{name} {100 * value / total:.1f} %")
        parts.append(_text(LEFT, y + 46, ", ".join(caption), "start"))
    return _svg(height, parts, "breakdown")


def operators_chart(profile: Profile, top: int = 15) -> str:
    """The operators that take longest; the dark part is what the roofline says they need."""
    rows = profile.operators[:top]
    height = 20 + 24 * len(rows)
    longest = max((row.kernel_ms for row in rows), default=1.0) or 1.0
    left = 430
    inner = WIDTH - left - 90
    parts = []
    for number, row in enumerate(rows):
        y = 8 + 24 * number
        name = f"{row.name} {row.shapes}".strip()
        parts.append(_text(left - 8, y + 13, name if len(name) < 66 else name[:63] + "...", "end"))
        width = inner * row.kernel_ms / longest
        colour = COLOURS[row.category]
        parts.append(
            f'<rect x="{left}" y="{y}" width="{width:.2f}" height="18" fill="{colour}" opacity="0.55">'
            f"<title>{escape(name)}: {row.kernel_ms:.3f} ms, {row.calls} calls</title></rect>"
        )
        if row.best_ms is not None:
            best = min(row.best_ms, row.kernel_ms)
            parts.append(
                f'<rect x="{left}" y="{y}" width="{inner * best / longest:.2f}" height="18" fill="{colour}">'
                f"<title>roofline: {row.best_ms:.3f} ms</title></rect>"
            )
        parts.append(_text(left + width + 6, y + 13, f"{row.kernel_ms:.3f} ms", "start"))
    return _svg(height, parts, "operators")


def roofline_chart(profile: Profile) -> str:
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
    height, top, bottom = 430, 16, 62

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / low_x) / math.log(high_x / low_x)

    def y(value: float) -> float:
        return (
            height - bottom - (height - bottom - top) * math.log(max(value, low_y) / low_y) / math.log(high_y / low_y)
        )

    parts = [*_grid(x, y, (low_x, high_x), (low_y, high_y), (top, height - bottom))]
    for name, roof in roofs:
        ridge = roof * 1e3 / peaks.bandwidth_gbs
        points = [(low_x, low_x * peaks.bandwidth_gbs / 1e3), (ridge, roof), (high_x, roof)]
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points if a >= low_x)
        parts.append(f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.6"/>')
        parts.append(_text(WIDTH - RIGHT - 4, y(roof) - 5, f"{name} {roof:g} TFLOP/s", "end"))
    longest = max(row.kernel_ms for row in rows)
    for row in rows[:120]:
        radius = 3 + 9 * math.sqrt(row.kernel_ms / longest)
        label = f"{row.name} {row.shapes}: {row.tflops:.1f} TFLOP/s, {row.gbs:.0f} GB/s, {row.kernel_ms:.3f} ms"
        parts.append(
            f'<circle cx="{x(row.intensity or low_x):.1f}" cy="{y(row.tflops or low_y):.1f}" r="{radius:.1f}" '
            f'fill="{COLOURS[row.category]}" opacity="0.7"><title>{escape(label)}</title></circle>'
        )
    parts.append(_text(WIDTH / 2, height - 28, "FLOPs per byte (every tensor moved once)", "middle"))
    parts.append(_legend(sorted({row.category for row in rows}, key=CATEGORIES.index), height - 6))
    return _svg(height, parts, "roofline")


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
    edges: tuple[float, float],
) -> Iterator[str]:
    first, last = math.ceil(math.log10(across[0])), math.floor(math.log10(across[1]))
    for power in range(first, last + 1):
        at = x(10.0**power)
        yield f'<line x1="{at:.1f}" y1="{edges[0]}" x2="{at:.1f}" y2="{edges[1]}" {GRID}/>'
        yield _text(at, edges[1] + 14, f"{10.0**power:g}", "middle")
    for power in range(math.ceil(math.log10(up[0])), math.floor(math.log10(up[1])) + 1):
        at = y(10.0**power)
        yield f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" {GRID}/>'
        yield _text(LEFT - 6, at + 4, f"{10.0**power:g}", "end")


def _legend(categories: list[str], y: float) -> str:
    parts, x = [], float(LEFT)
    for category in categories:
        parts.append(f'<rect x="{x:.0f}" y="{y - 9:.0f}" width="10" height="10" fill="{COLOURS[category]}"/>')
        parts.append(_text(x + 14, y, TITLES[category], "start"))
        x += 30 + 6.4 * len(TITLES[category])
    return "".join(parts)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: int, parts: list[str], name: str) -> str:
    return (
        f'<svg class="{name}" viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg" '
        f'font-family="sans-serif" font-size="11" fill="currentColor" role="img">{"".join(parts)}</svg>'
    )
