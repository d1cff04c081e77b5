"""A climb as one self-contained HTML page: the waterfall of gains, every rung with its reason. No network."""

from __future__ import annotations

from html import escape
from pathlib import Path

from kernel_pytorch.perf.ladder.explain import Gain, gains
from kernel_pytorch.perf.ladder.ledger import Ledger
from kernel_pytorch.report.optimize_text import headline, measured, ordered, predicted
from kernel_pytorch.report.page import drawing, render, write_page

# Narrow, so that its words can still be read on a phone.
WIDTH, LEFT, RIGHT, ROW = 520, 150, 80, 30
BEFORE, SAVED, AFTER = "#8c8c8c", "#3ca951", "#4269d0"


def to_html(ledger: Ledger) -> str:
    """The page. Raises UsageError where jinja2 is not installed."""
    return render(
        "optimize.html.j2",
        ledger=ledger,
        headline=headline(ledger),
        rows=[(entry, predicted(entry), measured(entry)) for entry in ordered(ledger)],
        waterfall=drawing(waterfall_chart(gains(ledger))),
    )


def write_html(ledger: Ledger, path: Path) -> None:
    """Write the page. Raises UsageError naming the file if it cannot be written."""
    write_page(to_html(ledger), path)


def waterfall_chart(chain: tuple[Gain, ...]) -> str:
    """One bar per kept rung: what it saved, hanging where the one before it ended. Empty where nothing was kept."""
    if not chain:
        return ""
    top = max(one.before_ms for one in chain)
    scale = (WIDTH - LEFT - RIGHT) / top
    rows = [("original", 0.0, chain[0].before_ms, BEFORE, f"{chain[0].before_ms:.4g} ms")]
    rows += [
        (one.rung, min(one.after_ms, one.before_ms), abs(one.saved_ms), SAVED, f"{-one.saved_ms:+.4g} ms")
        for one in chain
    ]
    rows.append(("optimised", 0.0, chain[-1].after_ms, AFTER, f"{chain[-1].after_ms:.4g} ms"))
    parts = []
    for number, (name, start, length, colour, label) in enumerate(rows):
        y = 6 + number * ROW
        x, width = LEFT + start * scale, max(1.0, length * scale)
        parts.append(f'<text x="{LEFT - 10}" y="{y + 17}" text-anchor="end">{escape(name)}</text>')
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 10}" fill="{colour}">'
            f"<title>{escape(name)}: {escape(label)}</title></rect>"
        )
        parts.append(f'<text x="{x + width + 6:.1f}" y="{y + 17}">{escape(label)}</text>')
        if number + 1 < len(rows):
            edge = LEFT + (length if number == 0 else start) * scale
            parts.append(
                f'<line x1="{edge:.1f}" x2="{edge:.1f}" y1="{y}" y2="{y + ROW + ROW - 10}" stroke="#8888" '
                'stroke-dasharray="2 2"/>'
            )
    height = 12 + len(rows) * ROW
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="waterfall of gains" '
        'style="width:100%;max-width:48rem;min-width:0;height:auto;fill:currentColor;font:13px system-ui,sans-serif">'
        f"{''.join(parts)}</svg>"
    )
