"""Tries the install of what was ported, and gates what stops it or drops kernels, until nothing more helps.

Where the CUDA and the ROCm run of a build description part, the deciding condition gets CUDA's answer on ROCm, behind a
gate. A gate stays only if the isolation proof holds and the run with it gets further. So a setup.py is ported by what
it does, in whatever words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from kernel_pytorch.core.findings import Edit, Finding, Patch, Safety
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.jobs.header_reach import within_reach
from kernel_pytorch.jobs.install_patches import Repaired, contents, on_original, proven_patch, with_patch
from kernel_pytorch.port.build_files import cmake_gates
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit
from kernel_pytorch.port.python import install_gates
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.source import source_file
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError
from kernel_pytorch.verify.install.cmake_run import configure_on_rocm
from kernel_pytorch.verify.install.judge import judged, made_at, not_judged, same_objects
from kernel_pytorch.verify.install.parting import Parting, partings
from kernel_pytorch.verify.install.record import InstallRecord, InstallTrial, SourceLine
from kernel_pytorch.verify.install.run import InstallRequest, InstallWorker, try_on_rocm
from kernel_pytorch.verify.install.units import plain_units, recorded_extension
from kernel_pytorch.verify.install_level import judged_trial, requests_of, try_all
from kernel_pytorch.verify.levels import NEEDS_PROJECT_CODE, LevelResult

MAX_ROUNDS = 12
MAX_CANDIDATES = 24
TRIED_TOGETHER = 4
MAX_INCLUDE_DEPTH = 3  # a header that is reached may include one that is not
REPAIRABLE = ("KP810", "KP811", "KP812", "KP816", "KP817", "KP818", "KP819")
_INCLUDING = """\
// Made by `kpt port`: on ROCm this file is compiled for {name}.
// After torch's hipify that one's object file would have the name of another source's.
#include "../{path}"
"""
OWN_SOURCES = "kpt_hip_sources"  # a folder of its own, which no glob of the project reaches


@dataclass(frozen=True)
class PortInstall:
    """What the trials of a port came to: the patches with their gates, and the findings on the project's own lines.

    `units` are the sources that torch's build compiles for ROCm, as far as its descriptions ran to the end,
    `plain_units` the kernels that CMake compiles.
    """

    patches: tuple[Patch, ...]
    findings: tuple[Finding, ...] = ()
    level: LevelResult = LevelResult("install")  # noqa: RUF009 (frozen)
    units: tuple[RecordedUnit, ...] = ()
    plain_units: tuple[RecordedUnit, ...] = ()


@dataclass(frozen=True)
class _Tree:
    """What is tried: the project, its files, the GPU that is stood in for, and the process that runs it."""

    root: Path
    listed: tuple[str, ...]
    gpu: str
    worker: InstallWorker


@dataclass(frozen=True)
class _Candidate:
    """One way on: a file of the project with one more gate, and a new file where the gate names one."""

    finding: Finding
    patch: Patch
    added: Patch | None = None

    def among(self, patches: Sequence[Patch]) -> tuple[Patch, ...]:
        """The patches with this one."""
        state = with_patch(patches, self.patch)
        return state if self.added is None else with_patch(state, self.added)


def install_port(root: Path, listed: Sequence[str], patches: Sequence[Patch], gpu: str) -> PortInstall:
    """Try every install with the patches applied, and repair what the trials show. This runs the project's code."""
    requests = _requests(root, listed, patches)
    if not requests:
        return PortInstall(tuple(patches))
    if is_project_code_forbidden():
        return PortInstall(tuple(patches), (), LevelResult("install", (), NEEDS_PROJECT_CODE))
    with TemporaryDirectory(prefix="kpt-install-") as folder, InstallWorker(Path(folder)) as worker:
        tree = _Tree(root, tuple(listed), gpu, worker)
        trials, missing = try_all(requests, gpu, worker)
        begun = done = Repaired(tuple(patches))
        for trial in trials:
            done = _repaired(tree, done, trial)
        trials, done = _from_the_beginning(tree, trials, begun, done)
        for _ in range(MAX_INCLUDE_DEPTH):
            reached = done
            for trial in trials:
                reached = within_reach(root, reached, trial)
            if reached == done:
                break
            trials, done = _from_the_beginning(tree, trials, done, reached)
        results = [judged_trial(trial, worker.scratch) for trial in trials]
        units = tuple(unit for trial in trials for unit in _units_of(trial, root))
        plain = tuple(unit for one in trials if one.setup.endswith("CMakeLists.txt") for unit in plain_units(one))
    left = tuple(on_original(done.patches, one) for _, findings in results for one in findings)
    level = LevelResult("install", (*(check for checks, _ in results for check in checks), *missing))
    return PortInstall(done.patches, (*done.findings, *left), level, units, plain)


def _from_the_beginning(
    tree: _Tree, trials: tuple[InstallTrial, ...], before: Repaired, done: Repaired
) -> tuple[tuple[InstallTrial, ...], Repaired]:
    """All trials once more with what was done, CUDA too: what one setup.py asked for may change another.

    Where CUDA's builds differ, nothing was done.
    """
    if done == before:
        return trials, before
    again, _ = try_all(_requests(tree.root, tree.listed, done.patches), tree.gpu, tree.worker)
    if [_built(trial.cuda) for trial in trials] == [_built(trial.cuda) for trial in again]:
        return again, done
    return trials, before


def _units_of(trial: InstallTrial, root: Path) -> tuple[RecordedUnit, ...]:
    """What torch's build compiles. Nothing where the run failed: what it would build is then not known."""
    if trial.rocm.failure is not None or trial.setup.endswith("CMakeLists.txt"):
        return ()
    try:
        options = recorded_extension(trial, root).units
    except TorchHeadersError:
        return ()
    return tuple(RecordedUnit(path, trial.tree, one) for path, one in options.items())


def _requests(root: Path, listed: Sequence[str], patches: Sequence[Patch]) -> tuple[InstallRequest, ...]:
    return requests_of(root, tuple(listed), {patch.path: patch.after for patch in patches})


def _built(record: InstallRecord) -> set[tuple[str, str]]:
    return {(command.extension, command.source) for command in record.compiles}


def _repaired(tree: _Tree, done: Repaired, trial: InstallTrial) -> Repaired:
    """Greedy: of all ways on, the one that gets furthest stays, and the next begins from there."""
    if not_judged(trial):
        return done
    before = done
    for _ in range(MAX_ROUNDS):
        if not any(one.code in REPAIRABLE for one in judged(trial)):
            return done
        if done != before:
            trial = _on_both_again(tree, done, trial)
        step = _best_step(tree, done, trial)
        if step is None:
            break
        done, trial = step
    return done if _score(trial) >= (1,) else before  # gates that did not lead to an install are not kept


def _on_both_again(tree: _Tree, done: Repaired, trial: InstallTrial) -> InstallTrial:
    """The trial with CUDA's run of the same text: a gate moves lines, and conditions are compared by their places."""
    requests = _requests(tree.root, tree.listed, done.patches)
    trials, _ = try_all([one for one in requests if one.described_by == trial.setup], tree.gpu, tree.worker)
    return trials[0] if trials and not not_judged(trials[0]) else trial


def _best_step(tree: _Tree, done: Repaired, trial: InstallTrial) -> tuple[Repaired, InstallTrial] | None:
    """The best way on, None where nothing gets further. Some are tried together, the next only if none of them is good.

    A way on that reaches the end by leaving extensions out comes last: it may have skipped what makes them.
    """
    candidates = list(_candidates(tree.root, done.patches, trial))[:MAX_CANDIDATES]
    fallback: tuple[Repaired, InstallTrial] | None = None
    for at in range(0, len(candidates), TRIED_TOGETHER):
        some = candidates[at : at + TRIED_TOGETHER]
        states = [one.among(done.patches) for one in some]
        trials = _tried(tree, trial, states)
        further = [index for index, one in enumerate(trials) if _score(one) > _score(trial)]
        good = [index for index in further if trials[index].rocm.failure or not _lost(trials[index])]
        # Reaching the end with all there is best, then a later line; the first of equals is the least invasive.
        best = max(good or further, key=lambda index: _score(trials[index]), default=None)
        if best is None:
            continue
        finding = _as_settled(some[best].finding, trial, trials[best])
        step = Repaired(states[best], (*done.findings, finding)), trials[best]
        if good or trial.rocm.failure is None:
            return step
        fallback = fallback or step
    return fallback


def _lost(trial: InstallTrial) -> bool:
    return any(one.code in ("KP811", "KP812") for one in judged(trial))


def _as_settled(finding: Finding, before: InstallTrial, after: InstallTrial) -> Finding:
    """The finding of a gate says what is gone with it."""
    left = {(one.code, one.message) for one in judged(after)}
    gone = next((one for one in judged(before) if (one.code, one.message) not in left), None)
    return finding if gone is None else replace(finding, code=gone.code, message=gone.message)


def _tried(tree: _Tree, trial: InstallTrial, states: Sequence[Sequence[Patch]]) -> list[InstallTrial]:
    """The trial once more for ROCm, with each of some states of the port."""
    at = PurePosixPath(trial.setup)
    requests = [
        InstallRequest(tree.root, tree.listed, at.parent.as_posix(), {one.path: one.after for one in state}, at.name)
        for state in states
    ]
    if at.name == "CMakeLists.txt":
        return [configure_on_rocm(trial, request, tree.gpu, tree.worker.scratch) for request in requests]
    return try_on_rocm(trial, requests, tree.gpu, tree.worker) if requests else []


def _score(trial: InstallTrial) -> tuple[float, ...]:
    """How far an install gets: a later line is better than an earlier one, fewer findings better than more."""
    failure = trial.rocm.failure
    if failure is None:
        codes = [one.code for one in judged(trial)]
        # A target that is there counts for more than what is wrong with it.
        lost = [sum(code == one for code in codes) for one in ("KP811", "KP812")]
        return (1, *(-float(count) for count in (*lost, len(codes))))
    # Counted from the end of a file: a gate adds lines, and only above the place that is reached with it.
    lines = [place.line - _line_count(trial.tree / place.path) for place in failure.stack]
    return (0, *map(float, lines), math.inf)


def _line_count(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def _candidates(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Candidate]:
    found = judged(trial)[0]
    seen: set[tuple[str, bytes]] = set()
    yield from _with_objects_of_their_own(root, patches, trial)
    for path, line, edits in _edit_groups(root, patches, trial):
        if not edits:
            continue
        candidate = _candidate(root, patches, path, edits, replace(found, path=path, line=line))
        if candidate is not None and (path, candidate.patch.after) not in seen:
            seen.add((path, candidate.patch.after))
            yield candidate


def _with_objects_of_their_own(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Candidate]:
    """Of two sources whose object files hipify gives one name, the GPU's by way of a file that includes it."""
    found = [one for one in judged(trial) if one.code == "KP818"]
    for (extension, *both), finding in zip(same_objects(trial), found, strict=True):
        kernels = next((one for one in both if one.endswith(".cu")), None)
        place = made_at(trial, extension)
        home = PurePosixPath(trial.setup).parent
        if kernels is None or not PurePosixPath(kernels).is_relative_to(home):
            continue
        source = PurePosixPath(kernels).relative_to(home)
        new = PurePosixPath(OWN_SOURCES) / f"{source.stem.removesuffix('_cuda')}_gpu.cu"
        module = python_module(source_file(place.path, contents(root, patches, place.path)[0]))
        edits = install_gates.other_source(module, place.line, source.as_posix(), new.as_posix()) if module else ()
        candidate = _candidate(root, patches, place.path, edits, replace(finding, line=place.line)) if edits else None
        if candidate is not None:
            text = _INCLUDING.format(name=source.name, path=source.as_posix())
            yield replace(candidate, added=Patch((home / new).as_posix(), None, text.encode(), ("KP818",)))


_Group = tuple[str, int, tuple[Edit, ...]]  # path, line, edits


def _edit_groups(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Group]:
    """Gates at the conditions that part the two runs, then ways around the line that stops, then all conditions."""
    yield from _hipified_extensions(root, patches, trial)
    yield from _configured_for_hip(root, patches, trial)
    together: dict[str, list[Edit]] = {}
    for path, line, edits in _hip_sources(root, patches, trial):
        together.setdefault(path, []).extend(edits)
        yield path, line, edits
    parted = partings(trial.cuda, trial.rocm)
    for kind in ("flag", "operand", "test"):
        for one in (item for item in parted if item.condition.kind == kind):
            path, line, edits = one.condition.path, one.condition.line, _gated(root, patches, one)
            if edits:
                together.setdefault(path, []).extend(edits)
                yield path, line, edits
    failure = trial.rocm.failure
    # From the outside in: a statement that asks for something of CUDA's is better left out than half of the asking.
    stack = (*failure.stack, *failure.cause) if failure is not None else ()
    for place in dict.fromkeys(stack):
        for edits in _past(root, patches, place):
            yield place.path, place.line, edits
    yield from ((path, 1, tuple(edits)) for path, edits in together.items() if len(edits) > 1)


def _hipified_extensions(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Group]:
    """CUDAExtension for all extensions of a file that torch would not hipify."""
    wanted = [one for one in judged(trial) if one.code == "KP819"]
    for path in dict.fromkeys(one.path for one in wanted):
        module = python_module(source_file(path, contents(root, patches, path)[0]))
        lines = [one.line for one in wanted if one.path == path]
        if module is not None:
            yield (
                path,
                lines[0],
                tuple(edit for line in lines for edit in install_gates.hipified_extension(module, line)),
            )


def _configured_for_hip(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Group]:
    """The option that the port added to CMake's files, passed by the setup.py that starts CMake."""
    place = trial.rocm.failure.place if trial.rocm.failure is not None else None
    if place is None or place.path.endswith(".py") or not trial.setup.endswith(".py"):
        return
    module = python_module(source_file(trial.setup, contents(root, patches, trial.setup)[0]))
    if module is not None:
        yield trial.setup, 1, install_gates.configured_for_hip(module)


def _hip_sources(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Group]:
    """.cu files marked as HIP sources, in every CMake file that makes a target which has fewer of them on ROCm."""
    places = [
        one.made_at
        for one in trial.cuda.extensions
        if one.made_at is not None and len(trial.rocm.gpu_units(one.name)) < len(trial.cuda.gpu_units(one.name))
    ]
    for path in dict.fromkeys(place.path for place in places if place.path.endswith("CMakeLists.txt")):
        src = source_file(path, contents(root, patches, path)[0])
        yield path, next(place.line for place in places if place.path == path), cmake_gates.hip_sources(src)


def _gated(root: Path, patches: Sequence[Patch], parting: Parting) -> tuple[Edit, ...]:
    where = parting.condition
    data, original = contents(root, patches, where.path)
    src = source_file(where.path, data)
    if src.language == "cmake":
        return cmake_gates.gated_condition(cmake_gates.cmake_of(src), where.column, parting.on_cuda) or ()
    module = python_module(src)
    place = (where.line, where.column, where.end_line, where.end_column)
    edit = install_gates.gated_condition(module, place, parting.on_cuda, original) if module is not None else None
    return (edit,) if edit is not None else ()


def _past(root: Path, patches: Sequence[Patch], place: SourceLine) -> Iterator[tuple[Edit, ...]]:
    data, original = contents(root, patches, place.path)
    src = source_file(place.path, data)
    if src.language == "cmake":
        yield from cmake_gates.past_line(cmake_gates.cmake_of(src), place.line)
    elif (module := python_module(src)) is not None:
        yield from install_gates.past_line(module, place.line, original)


def _candidate(
    root: Path, patches: Sequence[Patch], path: str, edits: Sequence[Edit], finding: Finding
) -> _Candidate | None:
    patch = proven_patch(root, patches, path, edits, finding.code)
    if patch is None:
        return None
    finding = replace(on_original(patches, finding), safety=Safety.SAFE, edits=tuple(edits))
    return _Candidate(finding, patch)
