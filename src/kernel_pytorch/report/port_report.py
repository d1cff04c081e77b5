"""All that a page about a scan or a port shows. The renderer sees this and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.core.findings import CheckResult, Finding, Held, Patch, Safety
from kernel_pytorch.port.discover import Skipped
from kernel_pytorch.port.phases import Effort, Phase
from kernel_pytorch.verify.isolation import FileVerdict


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


def action(finding: Finding) -> str:
    """Who settles a finding."""
    if not finding.edits:
        return "a person"
    return "automatic" if finding.safety is Safety.SAFE else "review"
