"""All that a page about a scan or a port shows. The renderer sees this and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Finding, Held, Patch
from kernel_pytorch.core.pages import Page, page
from kernel_pytorch.jobs.port import PortResult
from kernel_pytorch.jobs.scan import ScanResult
from kernel_pytorch.port.discover import Skipped
from kernel_pytorch.port.phases import Effort, Phase
from kernel_pytorch.verify.isolation import FileVerdict
from kernel_pytorch.version import VERSION


@dataclass(frozen=True)
class PortReport:
    """One run of `kpt scan` or `kpt port`. `pages` maps a code to its page's text; `notes` say what was not done."""

    verb: str
    project: str
    version: str
    files: dict[str, int]
    phases: tuple[Phase, ...]
    effort: Effort
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    layout: str = ""
    patches: tuple[Patch, ...] = ()
    verdicts: tuple[FileVerdict, ...] = ()
    held: tuple[Held, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    pages: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def scan_report(result: ScanResult) -> PortReport:
    """The report of a scan."""
    return PortReport(
        verb="scan",
        project=_project_name(result.root),
        version=VERSION,
        files=result.files,
        phases=result.phases,
        effort=result.effort,
        findings=result.findings,
        skipped=result.skipped,
        pages=_pages(result.findings, result.own_pages),
    )


def port_report(result: PortResult, notes: Iterable[str] = ()) -> PortReport:
    """The report of a port. `notes` say what was not done."""
    return PortReport(
        verb="port",
        project=_project_name(result.root),
        version=VERSION,
        files=result.files,
        phases=result.phases,
        effort=result.effort,
        findings=result.findings,
        skipped=result.skipped,
        layout=result.layout,
        patches=result.patches,
        verdicts=result.verdicts,
        held=result.held,
        checks=(*result.install.checks, *result.checks),
        pages=_pages(result.findings, result.own_pages),
        notes=tuple(note for note in notes if note),
    )


def _project_name(root: str) -> str:
    """What a report calls the project: the folder's own name, also for `.`."""
    return Path(root).resolve().name or root


def _pages(findings: tuple[Finding, ...], own: tuple[Page, ...]) -> tuple[tuple[str, str], ...]:
    """The page of every code that occurs, the user's own among them."""
    users = {one.code: one for one in own}
    found = {code: users.get(code) or page(code) for code in sorted({finding.code for finding in findings})}
    return tuple((code, one.text()) for code, one in found.items() if one is not None)
