"""A scan or a port as one self-contained HTML page: no network, nothing from the environment."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

from kernel_pytorch.core.findings import Finding, action
from kernel_pytorch.report.check_groups import check_groups
from kernel_pytorch.report.page import render, write_page
from kernel_pytorch.report.port_report import PortReport
from kernel_pytorch.report.side_by_side import side_by_side


def to_html(report: PortReport) -> str:
    """The page. Raises UsageError where jinja2 is not installed."""
    return render(
        "port.html.j2",
        report=report,
        by_file=_by_file(report.findings),
        codes=_codes(report),
        action=action,
        checks=check_groups(report.checks),
        diffs=[(patch, side_by_side(patch)) for patch in report.patches],
        has_page={code for code, _ in report.pages},
    )


def write_html(report: PortReport, path: Path) -> None:
    """Write the page. Raises UsageError naming the file if it cannot be written."""
    write_page(to_html(report), path)


def _by_file(findings: tuple[Finding, ...]) -> list[tuple[str, list[Finding]]]:
    ordered = sorted(findings, key=lambda one: (one.path, one.line, one.col, one.code))
    return [(path, list(group)) for path, group in groupby(ordered, key=lambda one: one.path)]


def _codes(report: PortReport) -> list[tuple[str, int, str]]:
    """Code, number of findings, and the title of its page."""
    titles = {code: (text.splitlines()[1:2] or [""])[0] for code, text in report.pages}
    counts = Counter(finding.code for finding in report.findings)
    return [(code, number, titles.get(code, "")) for code, number in sorted(counts.items())]
