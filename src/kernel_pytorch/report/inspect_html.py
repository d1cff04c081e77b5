"""An inspection as one self-contained page."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.perf.inspect.view import Inspection
from kernel_pytorch.report.inspect_text import alike_steps, bases
from kernel_pytorch.report.page import render, write_page


def inspection_page(inspection: Inspection) -> str:
    """The page."""
    return render("inspect.html.j2", inspection=inspection, alike=alike_steps, bases=bases)


def write_inspection(inspection: Inspection, path: Path) -> None:
    """Write it. Raises UsageError where it cannot be written."""
    write_page(inspection_page(inspection), path)
