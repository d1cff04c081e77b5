"""Builds what was ported, repairs what the compiler objects to, and builds again, until nothing new applies.

Each round proves its repairs: a file whose NVIDIA path is not proven unchanged keeps the text it had. What is left is a
finding with the compiler's words.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Finding, Patch, Status
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.jobs.last_builds import LastBuilds
from kernel_pytorch.jobs.proof import verdict_on
from kernel_pytorch.port.builds.hipified_tree import line_map
from kernel_pytorch.port.builds.ported_project import TriedUnit, try_ported
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit
from kernel_pytorch.port.discover import Project
from kernel_pytorch.port.repairs.advice import advice
from kernel_pytorch.port.repairs.apply import Key, repair_round
from kernel_pytorch.port.repairs.complaint import Complaint
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.precompiled import PrecompiledHeaders

MAX_ROUNDS = 8
MAX_LEFT = 20  # what follows from an error is no error of its own
LEFT = "KP820"


@dataclass(frozen=True)
class RepairRequest:
    """What to build and repair."""

    project: Project
    layout: str
    targets: tuple[str, ...]
    recorded: tuple[RecordedUnit, ...] = ()  # the sources that the project's own build names, where that is known
    wants: Callable[[str], bool] = lambda code: True
    limit_s: float = math.inf  # builds are stopped after this; what was repaired by then stays
    include_dirs: tuple[Path, ...] = ()  # headers of libraries, besides what the project's own build names


@dataclass(frozen=True)
class RepairedBuild:
    """The patches with all repairs, the builds of them, and what is left for a person."""

    patches: tuple[Patch, ...]
    checks: tuple[CheckResult, ...]
    findings: tuple[Finding, ...]
    rounds: int


def build_and_repair(
    request: RepairRequest,
    patches: Sequence[Patch],
    toolchain: Toolchain,
    progress: Callable[[str], None] = lambda text: None,
) -> RepairedBuild:
    """Build for the first target and repair; then build for every target, and repair what only that shows."""
    current = tuple(patches)
    tried: set[Key] = set()
    rounds = 0
    store = PrecompiledHeaders()
    end = time.monotonic() + request.limit_s
    last = LastBuilds(request.project)

    def attempt(target: str) -> tuple[TriedUnit, ...]:
        where = f"round {rounds + 1}, {target}"
        units = try_ported(
            request.project,
            current,
            toolchain,
            target,
            request.include_dirs,
            layout=request.layout,
            every=True,
            recorded=request.recorded,
            store=store,
            progress=lambda path: progress(f"{where}: {path}"),
            time_left=lambda: end - time.monotonic(),
        )
        return tuple(last.noted(target, unit) for unit in units)

    for targets in dict.fromkeys((request.targets[:1], request.targets)):
        while rounds < MAX_ROUNDS:
            units = tuple(unit for target in targets for unit in attempt(target))
            after = repair_round(
                complaints_of(units), current, _reader(request), tried, _is_proven, _mentions(request.project)
            )
            if not after.made:
                break
            last.repaired(current, after.patches)
            current = after.patches
            rounds += 1
    left = tuple(findings_left(units, request.project, current)) if request.wants(LEFT) else ()
    return RepairedBuild(current, tuple(unit.check for unit in units), left, rounds)


def complaints_of(units: Iterable[TriedUnit]) -> tuple[Complaint, ...]:
    """What the compiler objects to in sources that do not pass."""
    return tuple(one for unit in units if unit.check.status is not Status.PASS for one in unit.complaints)


def _reader(request: RepairRequest) -> Callable[[str], bytes | None]:
    listed = frozenset(request.project.of("cuda", "c++"))
    root = request.project.root
    return lambda path: read_if_there(root / path, root) if path in listed else None


def _mentions(project: Project) -> Callable[[str, bytes], bool]:
    """Whether a C++ or CUDA file of the project besides `path` has a word: in code, in a macro or in a comment."""
    texts: dict[str, bytes] = {}

    def is_mentioned(path: str, name: bytes) -> bool:
        if not texts:
            texts.update(
                (one, read_if_there(project.root / one, project.root) or b"") for one in project.of("cuda", "c++")
            )
        word = re.compile(rb"\b" + re.escape(name) + rb"\b")
        return any(name in text and word.search(text) for one, text in texts.items() if one != path)

    return is_mentioned


def _is_proven(patch: Patch) -> bool:
    verdict = verdict_on(patch)
    return verdict is None or verdict.is_proven


def findings_left(units: Iterable[TriedUnit], project: Project, patches: Sequence[Patch]) -> Iterable[Finding]:
    """A finding for each of a source's first errors that no repair answers, on the user's own line."""
    changed = {patch.path: patch for patch in patches}
    seen: set[tuple[str, int, str]] = set()
    for unit in units:
        if unit.check.status is not Status.FAIL:
            continue
        for complaint in unit.complaints[:MAX_LEFT] or (Complaint(unit.check.detail, ()),):
            path, line, column = unit.path, 1, 1
            # What a macro puts together has no file: clang calls it <scratch space>.
            spot = next((one for one in complaint.spots if not one.path.startswith("<")), None)
            if spot is not None:
                path, line, column = spot.path, spot.line, spot.column
            patch = changed.get(path)
            if patch is not None and patch.before is not None:
                line = line_map(patch.before, patch.after).get(line, line)
            if (path, line, complaint.text) in seen:
                continue
            seen.add((path, line, complaint.text))
            yield Finding(LEFT, path, line, column, f"clang: {complaint.text}{advice(complaint)}")
