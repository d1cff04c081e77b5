"""Error by depth as an SVG picture: how far a replay is from its record, call by call or launch by launch, against
the limit. Text takes the colour of what is around it, so that the picture also works on a dark page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.report.page import DESK, both_widths, write_page
from kernel_pytorch.verify.golden.check import GoldenCheck
from kernel_pytorch.verify.kernels.record_comparison import KernelComparison

_PLOT, _LEFT, _RIGHT = 196, 64, 20  # the height of the points, and what is beside them
_LETTER, _LINE = 6.7, 16
_LOW = -9


@dataclass(frozen=True)
class Point:
    """One thing that was compared. An error that is not finite is drawn at the top."""

    name: str
    error: float
    limit: float
    ok: bool


@dataclass(frozen=True)
class Panel:
    """One picture: points in order of time."""

    title: str
    points: tuple[Point, ...]
    axis: str


def page_plot(panel: Panel) -> Any:
    """A picture for a page, on a desk and on a phone."""
    return both_widths(lambda width: error_plot([panel], width))


def write_error_plot(results: Sequence[GoldenCheck], path: Path) -> None:
    """Write the pictures of all modes, one below the other."""
    write_page(error_plot([model_panel(one) for one in results]), path)


def model_panel(result: GoldenCheck) -> Panel:
    """The free run of a model: a point is the output of one module call."""
    events = [one for one in result.free if one.event.phase == "out"]
    there, here = result.recorded_on.get("device_name", "?"), result.checked_on.get("device_name", "?")
    points = tuple(Point(one.event.module, one.error, one.limit, one.ok) for one in events)
    title = f"{result.mode}: {here} against {there}, {len(points)} module calls"
    return Panel(title, points, "module calls in order of time")


def program_panel(result: KernelComparison) -> Panel:
    """A program's kernels: a point is one buffer that a launch changed."""
    points = tuple(
        Point(f"{launch.kernel}, launch {launch.number}, buffer {one.buffer}", one.error, one.limit, one.ok)
        for launch in result.launches
        for one in launch.buffers
        if one.when == "after"
    )
    launches = counted(len(result.launches), "launch", "launches")
    title = f"{result.program}: {result.checked_on} against {result.recorded_on}, {launches}"
    return Panel(title, points, "buffers that kernels changed, in order of time")


def error_plot(panels: Sequence[Panel], width: int = DESK) -> str:
    """One panel below the other. The dashed line is the limit."""
    drawn, height = [], 0
    for one in panels:
        picture, height = _drawn(one, height, width)
        drawn.append(picture)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {max(height, 1)}" font-family="sans-serif"'
    return f'{head} font-size="12" fill="currentColor" role="img">\n' + "\n".join(drawn) + "\n</svg>\n"


def _drawn(panel: Panel, y: int, width: int) -> tuple[str, int]:
    """A panel from `y` on, and where it ends."""
    points = panel.points
    shown = [_shown(one.error) for one in points]
    high = max([0, *(math.ceil(math.log10(value)) for value in shown)])
    across = width - _LEFT - _RIGHT
    edge = _LEFT if width == DESK else 4  # words have the whole of a phone
    letters = int((width - edge) / _LETTER)
    title = textwrap.wrap(panel.title, letters)
    top = 22 + _LINE * len(title)

    def at(value: float) -> float:
        return top + _PLOT * (high - math.log10(max(value, 10.0**_LOW))) / (high - _LOW)

    parts = [f'<g transform="translate(0 {y})">']
    for number, line in enumerate(title):
        parts.append(f'<text x="{edge}" y="{20 + _LINE * number}" font-weight="bold">{escape(line)}</text>')
    for exponent in range(_LOW, high + 1, 3):
        level = at(10.0**exponent)
        label = "0" if exponent == _LOW else f"1e{exponent}"
        line = f'x1="{_LEFT}" x2="{width - _RIGHT}" y1="{level:.1f}" y2="{level:.1f}"'
        parts.append(f'<line {line} stroke="currentColor" stroke-opacity=".2"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{level + 4:.1f}" text-anchor="end" opacity=".7">{label}</text>')
    step = across / max(len(points), 1)
    places = [(_LEFT + step * (index + 0.5), at(value)) for index, value in enumerate(shown)]
    limits = " ".join(
        f"{_LEFT + step * index:.1f},{at(one.limit):.1f} {_LEFT + step * (index + 1):.1f},{at(one.limit):.1f}"
        for index, one in enumerate(points)
    )
    parts.append(f'<polyline points="{limits}" fill="none" stroke="currentColor" opacity=".6" stroke-dasharray="5 4"/>')
    for one, (x, level) in zip(points, places, strict=True):
        name = escape(f"{one.name}: {one.error:.3g} (limit {one.limit:.3g})")
        shape = f'<circle cx="{x:.1f}" cy="{level:.1f}" r="3.2" fill="{"#2a9d5c" if one.ok else "#e0443a"}">'
        parts.append(f"{shape}<title>{name}</title></circle>")
    parts += _names(points, places, width, top)
    footer = f"{panel.axis}; green is within the limit (dashed), red is not; equal bits lie on the floor"
    end = top + _PLOT + 14
    for line in textwrap.wrap(footer, letters):
        end += _LINE
        parts.append(f'<text x="{edge}" y="{end}" opacity=".7">{line}</text>')
    return "\n".join([*parts, "</g>"]), y + end + _LINE


def _names(points: Sequence[Point], places: Sequence[tuple[float, float]], width: int, top: int) -> list[str]:
    """The first point beyond the limit and the worst one by name: a printed page has nothing to hover over."""
    wrong = [index for index, one in enumerate(points) if not one.ok]
    if not wrong:
        return []
    worst = max(wrong, key=lambda index: _shown(points[index].error))
    texts = []
    for index in dict.fromkeys((wrong[0], worst)):
        x, level = places[index]
        anchor, shift = ("start", 7) if x < width * 0.6 else ("end", -7)
        room = (width - x if anchor == "start" else x) - abs(shift) - _LETTER * len("first: ")
        text = escape(f"{'first: ' if index == wrong[0] else 'worst: '}{_short(points[index].name, room)}")
        spot = f'x="{x + shift:.1f}" y="{max(level - 8, top - 4):.1f}" text-anchor="{anchor}"'
        texts.append(f'<text {spot} fill="#e0443a">{text}</text>')
    return texts


def _short(name: str, room: float) -> str:
    most = min(60, int(room / _LETTER))
    return name if len(name) <= most else f"{name[: (most - 5) // 2]} ... {name[-((most - 5) // 2) :]}"


def _shown(error: float) -> float:
    return max(error, 10.0**_LOW) if math.isfinite(error) else 10.0
