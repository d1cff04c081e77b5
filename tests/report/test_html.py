"""The HTML page: complete, self-contained, and safe whatever the scanned files hold."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import CheckResult, Edit, Finding, Held, Patch, Safety, Span, Status
from kernel_pytorch.port.discover import Skipped
from kernel_pytorch.port.phases import Effort, Phase
from kernel_pytorch.report.html import to_html, write_html
from kernel_pytorch.report.port_report import PortReport
from kernel_pytorch.report.side_by_side import MAX_ROWS
from kernel_pytorch.verify.isolation import FileVerdict, Isolation

pytest.importorskip("jinja2")

EVIL = '<script>alert("x")</script>'
EDIT = (Edit(Span(0, 1), b"x"),)
VOID = {"meta", "br", "hr", "img", "link", "input", "col"}


def report(verb: str = "port", **fields: object) -> PortReport:
    held = Finding("KP602", "b.py", 9, 1, "held", Safety.REVIEW, EDIT)
    values: dict[str, object] = {
        "project": EVIL,
        "version": "1.2",
        "files": {"python": 2, EVIL: 1},
        "phases": (Phase(6, "torch.compile", True, EVIL), Phase(7, "graph capture", False, "none")),
        "effort": Effort(1, 1, 1, 0.5, 1),
        "findings": (
            Finding("KP601", "b.py", 5, 2, EVIL, Safety.SAFE, EDIT),
            held,
            Finding("KP999", f"a{EVIL}.py", 1, 1, "for a person"),
        ),
        "skipped": (Skipped("third_party", EVIL),),
        "layout": "single-source",
        "patches": (
            Patch("b.py", b"a = 1\nb = 2\n", f"a = 1\n{EVIL}\n".encode(), ("KP601",)),
            Patch("new.py", None, b"\xff<b>\n"),
        ),
        "verdicts": (FileVerdict("b.py", Isolation.PROVEN, "folded", 3, 3, (EVIL,)),),
        "held": (Held(held, "needs a review"),),
        "checks": (
            CheckResult("build k.cu for gfx942", Status.PASS, "both passes"),
            CheckResult("build l.cu for gfx942", Status.NOT_RUN, EVIL),
        ),
        "pages": (("KP601", f"KP601 reduce-overhead\ncaptures graphs\n\nWhy: {EVIL}"), ("KP602", "KP602 x\nmode")),
        "notes": (EVIL,),
        **fields,
    }
    return PortReport(verb=verb, **values)  # type: ignore[arg-type]


class Reader(HTMLParser):
    """Checks that tags nest, and collects ids, links, tags and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.classes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.tags.add(tag)
        self.loads += [given[key] for key in ("src", "srcset", "action") if key in given]
        self.links += [given["href"]] if "href" in given else []
        self.ids += [given["id"]] if "id" in given else []
        self.classes += [(tag, given["class"])] if "class" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("verb", ["scan", "port"])
def test_it_is_well_formed_and_loads_nothing(verb: str) -> None:
    text = to_html(report(verb))
    page = Reader(text)
    assert page.tags.isdisjoint({"link", "img", "iframe"})
    assert text.count("<script>") == 1  # the filter; what the files hold is text
    assert page.loads == []
    assert "http" not in text and "url(" not in text and "@import" not in text
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_what_the_files_hold_is_escaped() -> None:
    text = to_html(report())
    assert EVIL not in text
    assert text.count("<script") == 1
    assert Reader(text).text.count(EVIL) >= 9  # as text, in every place it was put


def test_everything_is_on_the_page() -> None:
    page = Reader(to_html(report()))
    for fact in (
        "roughly 0.5 to 1 hours",
        "single-source",
        "torch.compile",
        "5:2",
        "captures graphs",
        "needs a review",
        "build k.cu for gfx942",
        "not run",
        "proven",
        "third_party",
        "kpt 1.2",
        "new.py",
        "\N{REPLACEMENT CHARACTER}<b>",
    ):
        assert fact in page.text, fact
    assert "#KP601" in page.links and "KP601" in page.ids
    assert "#KP999" not in page.links  # a code without a page has no link that leads nowhere
    kinds = [kind for tag, kind in page.classes if tag == "tr"]
    assert {"add", "change", "same"} <= set(kinds)
    tags = [kind for tag, kind in page.classes if kind.startswith("tag")]
    assert {"tag good", "tag bad", "tag wait"} == set(tags)


def test_not_run_is_not_shown_as_passed() -> None:
    text = to_html(report(checks=(CheckResult("build", Status.NOT_RUN, "no compiler"),)))
    build = text[text.index('id="build"') : text.index('id="skipped"')]
    assert "not run" in build
    assert "good" not in build


def test_an_empty_scan() -> None:
    page = Reader(to_html(PortReport("scan", "p", "1", {}, (), Effort(0, 0, 0, 0, 0))))
    assert "0findings" in page.text.replace("\n", "")
    assert "patches" not in page.ids
    assert "Every file in a language that kpt reads was looked at." in page.text


def test_a_huge_patch_is_cut_and_says_so() -> None:
    after = b"".join(b"%d\n" % number for number in range(MAX_ROWS + 100))
    text = to_html(report(patches=(Patch("t.py", None, after),)))
    assert "more lines or more: `kpt port` prints them" in Reader(text).text


def test_without_jinja2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match=r'pip install "jinja2'):
        write_html(report(), tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent/out\.html: cannot be written"):
        write_html(report(), tmp_path / "absent" / "out.html")
