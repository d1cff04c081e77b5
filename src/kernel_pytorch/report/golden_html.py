"""A golden check as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.report.error_plot import model_panel, page_plot
from kernel_pytorch.report.page import render, write_page
from kernel_pytorch.verify.golden.check import GoldenCheck


def golden_page(results: Sequence[GoldenCheck]) -> str:
    """The page: a section for each mode, with the error by depth as a picture."""
    pictures = [page_plot(model_panel(one)) for one in results]
    return render("golden.html.j2", results=results, pictures=pictures)


def write_golden_page(results: Sequence[GoldenCheck], path: Path) -> None:
    """Write it. Raises UsageError where it cannot be written."""
    write_page(golden_page(results), path)
