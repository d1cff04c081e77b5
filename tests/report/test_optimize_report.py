"""A climb as text and as a page: nothing loaded from outside, everything escaped, every reason there."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.clock.in_turns import Comparison
from kernel_pytorch.perf.ladder.explain import Gain, explain, gains, speedup
from kernel_pytorch.perf.ladder.ledger import DOES_NOT_APPLY, KEPT, NOT_TRIED, ROLLED_BACK, Attempt, Entry, Ledger
from kernel_pytorch.report.optimize_html import to_html, waterfall_chart, write_html
from kernel_pytorch.report.optimize_text import event_line, optimize_text


def comparison(before: float, ratio: float, verdict: str = "faster") -> Comparison:
    interval = (0.99 * before, 1.01 * before)
    return Comparison(before, before * ratio, ratio, ratio - 0.01, ratio + 0.01, verdict, 20, interval, interval)


def entry(rung: str, outcome: str, reason: str, ratio: float | None = None, **more: object) -> Entry:
    measured = comparison(8.0, ratio, "faster" if outcome == KEPT else "slower") if ratio is not None else None
    attempts = (Attempt({"mode": "<b>"}, outcome, reason, measured, 1e-6, 1e-4, "", 0, 1.2, 3.0),) if ratio else ()
    return replace(Entry(rung, 2, f"title of {rung}", "wrap", outcome, reason, attempts=attempts), **more)  # type: ignore[arg-type]


LEDGER = Ledger(
    "file.py:<make>", {"device": "gpu: AMD", "torch": "2.13"}, {"HIP": "<7>"},
    (
        entry("variables", KEPT, "8 -> 7.2 ms", 0.9, kind="environment", level=1),
        entry("compile", KEPT, "8 -> 4 ms", 0.5, predicted_ms=3.0, predicted_why="launch gaps", found="all of it"),
        entry("slow_one", ROLLED_BACK, "slower: 4 -> 5 ms", 1.25),
        entry("wrong_one", ROLLED_BACK, "wrong: output 0 differs by <script>"),
        entry("graphs", DOES_NOT_APPLY, "graphs need the model on a GPU"),
        entry("late_one", NOT_TRIED, "no time left in the budget"),
        entry("frozen", NOT_TRIED, "left out: needs permission for freezing"),
        entry("unwanted", NOT_TRIED, "left out as asked"),
    ),
    total=comparison(8.0, 0.5), notes=("a <note>",), budget_s=60, spent_s=30, when="2026",
)  # fmt: skip


def test_gains_are_chained_and_the_total_is_the_measured_one() -> None:
    assert gains(LEDGER) == (
        Gain("variables", "title of variables", 8.0, pytest.approx(7.2)),  # type: ignore[arg-type]
        Gain("compile", "title of compile", pytest.approx(7.2), pytest.approx(3.6)),  # type: ignore[arg-type]
    )
    assert speedup(LEDGER) == pytest.approx(1 / 0.9 / 0.5)
    assert speedup(replace(LEDGER, total=None)) == pytest.approx(8 / 3.6)
    assert speedup(replace(LEDGER, entries=())) is None


def test_the_text_has_every_reason() -> None:
    text = optimize_text(LEDGER)
    for one in LEDGER.entries[:-2]:
        assert one.reason in text and one.rung in text
    assert "left out: frozen (--allow freezing), unwanted" in text
    assert "2.22 times as fast: 8 -> 4 ms, x0.500 [0.490, 0.510], 30 s of 60 s" in text
    assert "-3 ms" in text and "x1.250 [1.240, 1.260]" in text and "note: a <note>" in text
    assert event_line(LEDGER.entries[0]) == "+ 1 variables: kept: 8 -> 7.2 ms"
    assert "nothing is faster by more than the noise" in optimize_text(replace(LEDGER, entries=(), total=None))


def test_the_explanation_in_sentences() -> None:
    text = explain(LEDGER)
    assert text.index("Kept:") < text.index("Rolled back:") < text.index("Not tried:")
    assert "Do not apply here: graphs." in text
    assert "(predicted: 3 ms less)" in text
    assert "no rung made it faster" in explain(replace(LEDGER, entries=(), total=None))


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.words, self.tags, self.links = "", [], []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_is_self_contained_and_escaped(tmp_path: Path) -> None:
    write_html(LEDGER, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    page = Reader(text)
    assert all(link.startswith("#") for link in page.links)
    assert page.tags.count("script") == 1 and "make" not in page.tags and "note" not in page.tags
    for one in LEDGER.entries:
        assert one.reason in page.words and one.title in page.words
    assert "predicted from: launch gaps" in page.words and "[7.92, 8.08]" in page.words
    with pytest.raises(UsageError, match="cannot be written"):
        write_html(LEDGER, tmp_path)


def test_the_waterfall_is_drawn_to_scale() -> None:
    drawing = ElementTree.fromstring(waterfall_chart(gains(LEDGER)))
    bars = [(float(one.attrib["x"]), float(one.attrib["width"])) for one in drawing.iter("rect")]
    (_, whole), (at, saved), (_, second), (start, left) = bars
    assert whole == pytest.approx(290, abs=1)
    assert saved == pytest.approx(0.1 * whole, rel=0.01) and second == pytest.approx(0.45 * whole, rel=0.01)
    assert at == pytest.approx(start + 0.9 * whole, abs=1) and left == pytest.approx(0.45 * whole, rel=0.01)
    assert waterfall_chart(()) == ""


def test_a_page_without_gains() -> None:
    page = to_html(replace(LEDGER, entries=LEDGER.entries[2:], total=None, notes=()))
    assert "No rung made it faster" in page and "<svg" not in page
