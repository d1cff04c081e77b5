"""The pages in a real browser: they open without an error or a request, filter, and fit in dark and light and on paper.

Skipped, with the reason, where there is no browser (tests/browser.py).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")

from kernel_pytorch.core.findings import CheckResult, Finding, Patch, Status
from kernel_pytorch.jobs.verify import Verification
from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.inspect.view import Inspection, LaunchStep
from kernel_pytorch.perf.roofline.peaks import named_gpu
from kernel_pytorch.perf.trace.open import open_recording
from kernel_pytorch.port.phases import Phase, effort
from kernel_pytorch.report.html import to_html
from kernel_pytorch.report.inspect_html import inspection_page
from kernel_pytorch.report.optimize_html import to_html as optimize_page
from kernel_pytorch.report.port_report import PortReport
from kernel_pytorch.report.profile_html import to_html as profile_html
from kernel_pytorch.report.verify_page import verify_page
from kernel_pytorch.verify.levels import LEVELS, LevelResult, Pyramid
from tests.browser import browser
from tests.perf.inspect.test_judgement import KERNEL, view
from tests.report.test_optimize_report import LEDGER

__all__ = ["browser"]  # the fixture


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


def port_page() -> str:
    findings = tuple(
        Finding("KP601", f"a_folder_with_a_long_name/another_folder_with_a_long_name/file{i}.py", i + 1, 1, "x " * 60)
        for i in range(3)
    )
    patch = Patch("a.cu", b"int x;\n" + b"y" * 200 + b"\n", b"#if A\nint z;\n#endif\nint x;\n" + b"y" * 200 + b"\n")
    checks = tuple(CheckResult(f"build {name}.cu for gfx942", Status.NOT_RUN, "no torch") for name in "abcde")
    phases = (Phase(1, "ROCm detection and flags", True, "96 Python files, 13 files with CUDA code"),)
    files = {"python": 96, "cuda": 13}
    return to_html(
        PortReport("port", "project", "1", files, phases, effort(findings), findings, patches=(patch,), checks=checks)
    )


def inspect_page() -> str:
    name = "triton_per_fused_add_addmm_native_layer_norm_" + "x" * 60
    step = LaunchStep("triton", name, 0, ("64x1024", "1024x256"), "fp32", best_us=0.03, limiter="launch", expected_us=1)
    target = replace(view(replace(KERNEL, name=name), steps=(step, step)), gaps=(f"aten::mm -> {name}: a kernel",))
    return inspection_page(Inspection("model.py:make", (target,), ()))


def profile_page() -> str:
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "9_kernel_trace.csv"
        head = '"Kind","Agent_Id","Queue_Id","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n'
        rows = (
            f'"KERNEL_DISPATCH","Agent 1",1,{n},"gemm_{"x" * 600}_{n}",{n * 90_000},{n * 99_000}\n' for n in range(1, 9)
        )
        trace.write_text(head + "".join(rows))
        return profile_html(analyse(open_recording(Path(folder)), named_gpu("mi300x")))


PAGES = {
    "profile": profile_page,
    "verify": lambda: verify_page(many_findings(50)),
    "port": port_page,
    "inspect": inspect_page,
    "optimize": lambda: optimize_page(LEDGER),
}


@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_a_phone_and_a_desk(browser: Any, tmp_path: Path, name: str) -> None:
    """Nothing is cut off at 390 and at 1280 pixels with everything unfolded, and figures and words stay whole."""
    path = tmp_path / "page.html"
    path.write_text(PAGES[name](), encoding="utf-8")
    phone = browser.new_page(viewport={"width": 390, "height": 800})
    phone.goto(path.as_uri())
    phone.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    # Text that is broken over two lines has two boxes.
    broken = """[...document.querySelectorAll('td.n')].filter(one => {
        const text = document.createRange();
        text.selectNodeContents(one);
        return /^[-\\d.,]+$/.test(one.textContent.trim()) && text.getClientRects().length > 1;
    }).map(one => one.textContent)"""
    assert phone.evaluate(broken) == []
    # A picture has the width of the page, and is drawn for it: nobody scrolls sideways or reads words of half the size.
    wider = "[...document.querySelectorAll('.chart, figure')].filter(one => one.scrollWidth > one.clientWidth).length"
    drawn = "[...document.querySelectorAll('svg')].filter(one => one.clientWidth).map(one => one.viewBox.baseVal.width)"
    assert phone.evaluate(wider) == 0
    assert all(width <= 400 or name == "optimize" for width in phone.evaluate(drawn))
    phone.set_viewport_size({"width": 1280, "height": 800})
    assert phone.evaluate("document.documentElement.scrollWidth") == 1280
    assert all(width >= 900 or name == "optimize" for width in phone.evaluate(drawn))
    phone.close()


def test_drawings_follow_the_colours_of_the_page(browser: Any, tmp_path: Path) -> None:
    """No white paper on a dark page, and no dark text on it."""
    path = tmp_path / "page.html"
    path.write_text(profile_page(), encoding="utf-8")
    for scheme, light in (("light", False), ("dark", True)):
        shown = browser.new_page(color_scheme=scheme)
        shown.goto(path.as_uri())
        paper = shown.evaluate("getComputedStyle(document.querySelector('svg')).backgroundColor")
        ink = shown.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
        assert paper == "rgba(0, 0, 0, 0)" and (ink == "rgb(255, 255, 255)") == light, (scheme, paper, ink)
        shown.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_line_runs_out_of_the_page(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    for width in (390, 480, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width + 1


def test_on_paper_the_search_box_is_gone(page: Any) -> None:
    page.emulate_media(media="print")
    assert not page.locator("#search").is_visible()
