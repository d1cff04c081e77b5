"""A scan or a port as one self-contained HTML page: no script, no network, nothing from the environment."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Finding, Patch
from kernel_pytorch.report.diff import unified_diff
from kernel_pytorch.report.port_report import PortReport, action

MISSING = 'an HTML page needs jinja2, which is not installed: pip install "kernel-pytorch[report]"'
# A generated table of a million lines would make the page unusable; its patch is in the diff that `kpt port` prints.
MAX_DIFF_LINES = 5000


def to_html(report: PortReport) -> str:
    """The page. Raises UsageError where jinja2 is not installed."""
    try:
        import jinja2
    except ImportError as error:
        raise UsageError(MISSING) from error
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = files(__package__).joinpath("templates/port.html.j2").read_text(encoding="utf-8")
    return environment.from_string(text).render(
        report=report,
        by_file=_by_file(report.findings),
        codes=_codes(report),
        action=action,
        diffs=[(patch, _diff_lines(patch)) for patch in report.patches],
        has_page={code for code, _ in report.pages},
    )


def write_html(report: PortReport, path: Path) -> None:
    """Write the page. Raises UsageError naming the file if it cannot be written."""
    text = to_html(report)
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error


def _by_file(findings: tuple[Finding, ...]) -> list[tuple[str, list[Finding]]]:
    ordered = sorted(findings, key=lambda one: (one.path, one.line, one.col, one.code))
    return [(path, list(group)) for path, group in groupby(ordered, key=lambda one: one.path)]


def _codes(report: PortReport) -> list[tuple[str, int, str]]:
    """Code, number of findings, and the title of its page."""
    titles = {code: (text.splitlines()[1:2] or [""])[0] for code, text in report.pages}
    counts = Counter(finding.code for finding in report.findings)
    return [(code, number, titles.get(code, "")) for code, number in sorted(counts.items())]


def _diff_lines(patch: Patch) -> list[tuple[str, str]]:
    """Every line of a patch with its class: add, del, hunk, head or same."""
    lines = unified_diff(patch).splitlines()
    shown = [(_kind(line, number), line) for number, line in enumerate(lines[:MAX_DIFF_LINES])]
    if len(lines) > MAX_DIFF_LINES:
        shown.append(("head", f"... {len(lines) - MAX_DIFF_LINES} more lines: `kpt port` prints them"))
    return shown


def _kind(line: str, number: int) -> str:
    if number < 2:
        return "head"
    return {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "same")
