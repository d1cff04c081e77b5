"""Findings as lines that editors and CI already understand: the form of gcc's messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.core.printable import on_one_line


def seen_from_here(findings: Iterable[Finding], scanned: Path) -> Iterator[Finding]:
    """The findings with paths as seen from the working directory, which is what editors and code scanning start at.

    In a report they are relative to what was scanned. A project elsewhere keeps its own names.
    """
    folder = PurePath(scanned if scanned.is_dir() else scanned.parent)
    if folder.is_absolute():
        here = Path.cwd()
        folder = folder.relative_to(here) if folder.is_relative_to(here) else PurePath()
    for finding in findings:
        yield replace(finding, path=(folder / finding.path).as_posix())


def problem_line(finding: Finding) -> str:
    """`path:line:column: warning: message [CODE]`. Always a warning: common matchers know no other word but error."""
    message = " ".join(finding.message.split())
    return on_one_line(f"{finding.path}:{finding.line}:{finding.col}: warning: {message} [{finding.code}]")
