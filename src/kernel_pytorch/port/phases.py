"""The decision tree of a port: which phases a project needs, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.discover import Project

TITLES = {
    1: "ROCm detection and flags",
    2: "source translation",
    3: "architecture adaptation",
    4: "build system",
    5: "library replacement",
    6: "torch.compile",
    7: "graph capture",
    8: "verification",
}


@dataclass(frozen=True)
class Phase:
    """One phase, whether the project needs it, and what that rests on."""

    number: int
    title: str
    applies: bool
    reason: str


# What a finding that only a person can settle costs, by the kind of work it is. An estimate, and called one.
_DAYS = frozenset({"KP231", "KP232", "KP233"})
_HOURS = frozenset({"KP230", "KP234", "KP242", "KP246", "KP312", "KP322"})


def phases(project: Project, findings: Sequence[Finding]) -> tuple[Phase, ...]:
    """The phases, decided by what the scan found."""
    cuda = len(project.of("cuda"))
    python = len(project.of("python"))
    in_range = {number: sum(finding.code.startswith(f"KP{number}") for finding in findings) for number in range(2, 8)}
    kernels = f"{cuda} files with CUDA code" if cuda else "no CUDA C++ in the project"
    named = set(project.of("cmake", "make"))
    build = len(named | {finding.path for finding in findings if finding.code.startswith(("KP40", "KP41", "KP42"))})
    answers = {
        1: (bool(python or cuda), f"{python} Python files, {kernels}"),
        2: (bool(cuda), kernels),
        3: (bool(cuda), f"{in_range[3]} places depend on the width of a warp" if cuda else kernels),
        4: (
            bool(in_range[4] or (cuda and build)),
            f"{build} build files, {in_range[4]} places in build, CI or deploy files",
        ),
        5: (
            bool(in_range[5]),
            f"{in_range[5]} places with NVIDIA's libraries, formats, Triton options or device queries",
        ),
        6: (bool(in_range[6]), f"{in_range[6]} places that torch.compile or Inductor settings touch"),
        7: (bool(in_range[7]), f"{in_range[7]} places that capture graphs"),
        8: (True, "always"),
    }
    return tuple(Phase(number, TITLES[number], *answers[number]) for number in TITLES)


@dataclass(frozen=True)
class Effort:
    """Findings by who settles them, and a rough span of a person's time for those the tool cannot."""

    automatic: int
    review: int
    person: int
    hours_low: float
    hours_high: float


def effort(findings: Sequence[Finding]) -> Effort:
    """Counted by place: two findings in one function often cost no more than one, so the low end halves them."""
    automatic = sum(1 for finding in findings if finding.edits and finding.safety is Safety.SAFE)
    review = sum(1 for finding in findings if finding.edits and finding.safety is Safety.REVIEW)
    person = [finding for finding in findings if not finding.edits]
    hours = 0.1 * review
    for finding in person:
        hours += 16.0 if finding.code in _DAYS else 2.0 if finding.code in _HOURS else 0.25
    return Effort(automatic, review, len(person), round(hours / 2, 1), round(hours, 1))
