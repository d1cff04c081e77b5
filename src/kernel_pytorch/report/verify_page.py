"""`kpt verify --html`: the ladder of levels, what is left to do, what was changed and why, what was built and run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from kernel_pytorch.core.findings import Finding, Patch, Safety
from kernel_pytorch.report.page import render, write_page
from kernel_pytorch.report.side_by_side import side_by_side
from kernel_pytorch.verify.levels import MEANING
from kernel_pytorch.verify.pyramid import Verification

TODO = (
    ("a person decides", "No edit is right without knowing what the code is for."),
    ("review, then `kpt port --unsafe`", "An edit is known; whether it may be applied is for a person to say."),
    ("run `kpt port --write`", "The edit is proven; it was not applied yet."),
)


def write_verify_page(done: Verification, path: Path) -> None:
    """Write the page. Raises UsageError where it cannot be made or written."""
    write_page(verify_page(done), path)


def verify_page(done: Verification) -> str:
    """The page as text."""
    return render(
        "verify.html.j2",
        done=done,
        meaning=MEANING,
        todo=_todo(done.findings),
        diffs=[(patch, side_by_side(patch), _reasons(patch, done)) for patch in done.patches],
        titles=dict(done.titles),
    )


def _todo(findings: tuple[Finding, ...]) -> list[tuple[str, str, list[Finding]]]:
    groups: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[0 if not finding.edits else 2 if finding.safety is Safety.SAFE else 1].append(finding)
    return [(title, why, groups[index]) for index, (title, why) in enumerate(TODO) if groups[index]]


def _reasons(patch: Patch, done: Verification) -> str:
    """Why the checker says the NVIDIA path of a changed file is the same."""
    if done.isolation is None:
        return ""
    verdict = next((item for item in done.isolation.files if item.path == patch.path), None)
    return f"{verdict.verdict.value}: {verdict.reason}" if verdict is not None else ""
