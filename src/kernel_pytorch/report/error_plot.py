"""Error by depth as one SVG picture: how far a replay is from its record, event by event, against the limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.verify.golden.check import EventResult, GoldenCheck

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 960, 300, 64, 34, 46
_FLOOR = 1e-9


def write_error_plot(results: Sequence[GoldenCheck], path: Path) -> None:
    """Write the pictures of all modes, one below the other."""
    try:
        path.write_text(error_plot(results), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error


def error_plot(results: Sequence[GoldenCheck]) -> str:
    """One panel per mode. A dot is the output of one module call; the line is the limit."""
    panels = [_panel(one, index * _HEIGHT) for index, one in enumerate(results)]
    height = _HEIGHT * max(len(panels), 1)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif"'
    return f'{head} font-size="12" role="img">\n' + "\n".join(panels) + "\n</svg>\n"


def _panel(result: GoldenCheck, y: int) -> str:
    events = [one for one in result.free if one.event.phase == "out"]
    there, here = result.recorded_on.get("device_name", "?"), result.checked_on.get("device_name", "?")
    title = f"{result.mode}: {here} against {there}, {len(events)} module calls"
    parts = [f'<g transform="translate(0 {y})"><text x="{_LEFT}" y="20" font-weight="bold">{escape(title)}</text>']
    low, high = -9, max(0, *(math.ceil(math.log10(max(_shown(one), _FLOOR))) for one in events or []), 0)
    span = max(high - low, 1)

    def at(value: float) -> float:
        inner = _HEIGHT - _TOP - _BOTTOM
        return _TOP + inner * (high - math.log10(max(value, _FLOOR))) / span

    for exponent in range(low, high + 1, 3):
        level = at(10.0**exponent)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{level:.1f}" y2="{level:.1f}" stroke="#8884"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{level + 4:.1f}" text-anchor="end" fill="#888">1e{exponent}</text>')
    step = (_WIDTH - _LEFT - 30) / max(len(events), 1)
    limit = " ".join(f"{_LEFT + step * (i + 0.5):.1f},{at(one.limit):.1f}" for i, one in enumerate(events))
    parts.append(f'<polyline points="{limit}" fill="none" stroke="#888" stroke-dasharray="4 3"/>')
    for index, one in enumerate(events):
        colour = "#2a7" if one.ok else "#d33"
        name = escape(f"{one.event.module}: {one.error:.3g} (limit {one.limit:.3g})")
        spot = f'cx="{_LEFT + step * (index + 0.5):.1f}" cy="{at(_shown(one)):.1f}"'
        parts.append(f'<circle {spot} r="3" fill="{colour}"><title>{name}</title></circle>')
    footer = "module calls in order of time; dashed: limit; equal bits are drawn at the floor"
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 14}" fill="#888">{footer}</text></g>')
    return "\n".join(parts)


def _shown(result: EventResult) -> float:
    return result.error if math.isfinite(result.error) else 10.0
