"""The pages in a real browser: they open without an error or a request, filter, and fit in dark and light and on paper.

Needs Chromium (Debian's `chromium` package) and `pip install playwright`; skipped, with the reason, where they are not.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")
playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright to try the pages in a browser")

from kernel_pytorch.core.findings import CheckResult, Finding, Patch, Status  # noqa: E402
from kernel_pytorch.jobs.verify import Verification  # noqa: E402
from kernel_pytorch.report.verify_page import verify_page  # noqa: E402
from kernel_pytorch.verify.levels import LEVELS, LevelResult, Pyramid  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt install chromium")


def many_findings(count: int = 5000) -> Verification:
    """A large report with hostile text in it."""
    findings = tuple(
        Finding("KP601" if i % 2 else "KP301", f"src/file{i}.py", i + 1, 1, f"<img src=x onerror=alert({i})> no {i}")
        for i in range(count)
    )
    levels = [LevelResult(name, (CheckResult("a check", Status.PASS, "fine"),)) for name in LEVELS[:3]]
    levels += [
        LevelResult("run", (CheckResult("a program", Status.FAIL, "exit 1"),)),
        LevelResult("numerical", (), "a GPU"),
    ]
    patch = Patch("a.py", b"one\ntwo\nthree\n", b"one\n<script>2</script>\nthree\nfour\n")
    pyramid = Pyramid("<b>evil</b>", ("gfx942",), tuple(levels), {"python": "3"})
    return Verification(pyramid, findings, None, (), (patch,), (("KP601", "a title"),))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    path = tmp_path / "report.html"
    path.write_text(verify_page(many_findings()), encoding="utf-8")
    opened = browser.new_page()
    opened.problems = []
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("dialog", lambda dialog: opened.problems.append(f"dialog {dialog.message}"))
    opened.on("request", lambda request: opened.problems.append(request.url) if request.url != path.as_uri() else None)
    opened.goto(path.as_uri())
    yield opened
    opened.close()


def test_it_opens_without_errors_requests_or_injected_code(page: Any) -> None:
    assert page.title() == "kpt verify: <b>evil</b>"
    assert page.locator(".rung").count() == 5
    assert page.locator("img").count() == 0
    assert page.problems == []


def test_five_thousand_findings_are_filtered_by_words(page: Any) -> None:
    assert page.locator("#count").inner_text() == "5000 of 5000"
    page.fill("#search", "file4999 kp601")
    assert page.locator("#count").inner_text() == "1 of 5000"
    assert page.locator("[data-row]:visible").count() == 1
    page.fill("#search", "nothing has this")
    assert page.locator("[data-row]:visible").count() == 0
    page.fill("#search", "")
    assert page.locator("#count").inner_text() == "5000 of 5000"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_line_runs_out_of_the_page(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    for width in (480, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width + 1


def test_on_paper_the_search_box_is_gone(page: Any) -> None:
    page.emulate_media(media="print")
    assert not page.locator("#search").is_visible()
