"""Tries the install of what was ported, and gates what stops it or drops kernels, until nothing more helps.

Where the CUDA and the ROCm run of a build description part, the deciding condition gets CUDA's answer on ROCm, behind a
gate. A gate stays only if the isolation proof holds and the run with it gets further. So a setup.py is ported by what
it does, in whatever words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from kernel_pytorch.core.findings import Edit, Finding, Patch, Safety, Span
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.jobs.proof import verdict_on
from kernel_pytorch.port.build_files import cmake_gates
from kernel_pytorch.port.builds.hipified_tree import line_map
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit
from kernel_pytorch.port.cxx.compiled_on_rocm import is_compiled
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.layouts.gates import behind_gates
from kernel_pytorch.port.names.rename import name_file
from kernel_pytorch.port.python import install_gates
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.python.rewrite import gate_edits
from kernel_pytorch.port.source import source_file
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError
from kernel_pytorch.verify.install.cmake_run import configure_on_rocm
from kernel_pytorch.verify.install.judge import judged, not_judged
from kernel_pytorch.verify.install.out_of_reach import OutOfReach, out_of_reach
from kernel_pytorch.verify.install.parting import Parting, partings
from kernel_pytorch.verify.install.record import InstallRecord, InstallTrial, SourceLine
from kernel_pytorch.verify.install.run import InstallRequest, InstallWorker, try_on_rocm
from kernel_pytorch.verify.install.units import recorded_extension
from kernel_pytorch.verify.install_level import judged_trial, requests_of, try_all
from kernel_pytorch.verify.levels import NEEDS_PROJECT_CODE, LevelResult

MAX_ROUNDS = 12
MAX_CANDIDATES = 24
TRIED_TOGETHER = 4
_OF_TORCH = re.compile(rb"\b(?:at|c10)::cuda\b|\b(?:ATen|c10)/cuda/")
REPAIRABLE = ("KP810", "KP811", "KP812", "KP816", "KP817", "KP819")


@dataclass(frozen=True)
class PortInstall:
    """What the trials of a port came to: the patches with their gates, and the findings on the project's own lines.

    `units` are the sources that the project's own build compiles for ROCm, as far as its descriptions ran to the end.
    """

    patches: tuple[Patch, ...]
    findings: tuple[Finding, ...] = ()
    level: LevelResult = LevelResult("install")  # noqa: RUF009 (frozen)
    units: tuple[RecordedUnit, ...] = ()


@dataclass(frozen=True)
class _Repaired:
    """The patches with the gates that the trials asked for, and one automatic finding for each gate."""

    patches: tuple[Patch, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Tree:
    """What is tried: the project, its files, the GPU that is stood in for, and the process that runs it."""

    root: Path
    listed: tuple[str, ...]
    gpu: str
    worker: InstallWorker


@dataclass(frozen=True)
class _Candidate:
    """One way on: a file of the project with one more gate."""

    finding: Finding
    patch: Patch


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
        begun = done = _Repaired(tuple(patches))
        for trial in trials:
            done = _repaired(tree, done, trial)
        trials, done = _from_the_beginning(tree, trials, begun, done)
        reached = done
        for trial in trials:
            reached = _within_reach(root, reached, trial)
        trials, done = _from_the_beginning(tree, trials, done, reached)
        results = [judged_trial(trial, worker.scratch) for trial in trials]
        units = tuple(unit for trial in trials for unit in _units_of(trial, root))
    left = tuple(_on_original(done.patches, one) for _, findings in results for one in findings)
    level = LevelResult("install", (*(check for checks, _ in results for check in checks), *missing))
    return PortInstall(done.patches, (*done.findings, *left), level, units)


def _from_the_beginning(
    tree: _Tree, trials: tuple[InstallTrial, ...], before: _Repaired, done: _Repaired
) -> tuple[tuple[InstallTrial, ...], _Repaired]:
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


def _on_original(patches: Sequence[Patch], finding: Finding) -> Finding:
    """A finding in a patched file, on the line that the user has."""
    patch = next((one for one in patches if one.path == finding.path and one.before is not None), None)
    if patch is None or patch.before is None:
        return finding
    return replace(finding, line=line_map(patch.before, patch.after).get(finding.line, finding.line))


def _repaired(tree: _Tree, done: _Repaired, trial: InstallTrial) -> _Repaired:
    """Greedy: of all ways on, the one that gets furthest stays, and the next begins from there."""
    if not_judged(trial):
        return done
    before = done
    for _ in range(MAX_ROUNDS):
        if not any(one.code in REPAIRABLE for one in judged(trial)):
            return done
        step = _best_step(tree, done, trial)
        if step is None:
            break
        done, trial = step
    return done if _score(trial) >= (1,) else before  # gates that did not lead to an install are not kept


def _best_step(tree: _Tree, done: _Repaired, trial: InstallTrial) -> tuple[_Repaired, InstallTrial] | None:
    """The best way on, None where nothing gets further. Some are tried together, the next only if none of them is good.

    A way on that reaches the end by leaving extensions out comes last: it may have skipped what makes them.
    """
    candidates = list(_candidates(tree.root, done.patches, trial))[:MAX_CANDIDATES]
    fallback: tuple[_Repaired, InstallTrial] | None = None
    for at in range(0, len(candidates), TRIED_TOGETHER):
        some = candidates[at : at + TRIED_TOGETHER]
        states = [_with(done.patches, one.patch) for one in some]
        trials = _tried(tree, trial, states)
        further = [index for index, one in enumerate(trials) if _score(one) > _score(trial)]
        good = [index for index in further if trials[index].rocm.failure or not _lost(trials[index])]
        # Reaching the end with all there is best, then a later line; the first of equals is the least invasive.
        best = max(good or further, key=lambda index: _score(trials[index]), default=None)
        if best is None:
            continue
        finding = _as_settled(some[best].finding, trial, trials[best])
        step = _Repaired(states[best], (*done.findings, finding)), trials[best]
        if good or trial.rocm.failure is None:
            return step
        fallback = fallback or step
    return fallback


def _within_reach(root: Path, done: _Repaired, trial: InstallTrial) -> _Repaired:
    """Headers that torch's hipify does not find: included by a path that it follows, or renamed by us."""
    edits: dict[str, EditSet] = {}
    settled: dict[str, list[OutOfReach]] = {}
    for one in out_of_reach(trial):
        if one.is_followed_from(trial.setup):
            path, group = one.path, _by_path(root, done.patches, one)
        else:
            path, group = one.header, _hip_names(root, done.patches, one.header) if one.header not in edits else ()
        if (root / path).resolve() != root.resolve() / path:
            continue  # behind a link: what it leads to may be used by others as well, and no port writes through links
        for edit in group:
            edits.setdefault(path, EditSet()).add([edit])
        settled.setdefault(path, []).append(one)
    for path, every in edits.items():
        data, original = _contents(root, done.patches, path)
        known = next((one for one in done.patches if one.path == path), None)
        codes = tuple(sorted({*(known.codes if known else ()), "KP821"}))
        patch = Patch(path, original, behind_gates(cxx_file(path, data), every).data, codes)
        verdict = verdict_on(patch)
        if verdict is None or verdict.is_proven:
            made = tuple(Edit(Span(start, end), text) for start, end, text in every)
            places = {(one.path, one.line) for one in settled[path]}
            found = (one for one in judged(trial) if one.code == "KP821" and (one.path, one.line) in places)
            shown = (replace(_on_original(done.patches, one), safety=Safety.SAFE, edits=made) for one in found)
            done = _Repaired(_with(done.patches, patch), (*done.findings, *shown))
    return done


def _by_path(root: Path, patches: Sequence[Patch], one: OutOfReach) -> tuple[Edit, ...]:
    data, _ = _contents(root, patches, one.path)
    found = (item for item in includes_of(data) if item.name == one.include.name)
    return tuple(Edit(Span(item.start, item.end), f'"{one.from_here}"'.encode()) for item in found)[:1]


def _hip_names(root: Path, patches: Sequence[Patch], header: str) -> tuple[Edit, ...]:
    """HIP's names in a header. None where it uses torch's: how a ROCm torch calls those differs by version."""
    data, _ = _contents(root, patches, header)
    src = cxx_file(header, data)
    if _OF_TORCH.search(data):
        return ()
    groups = name_file(src, frozenset(), lambda include: (root / header).parent.joinpath(include.name).is_file()).groups
    return tuple(edit for _, group in groups for edit in group if is_compiled(src, edit.span.start))


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
    for path, line, edits in _edit_groups(root, patches, trial):
        if not edits:
            continue
        candidate = _candidate(root, patches, path, edits, replace(found, path=path, line=line))
        if candidate is not None and (path, candidate.patch.after) not in seen:
            seen.add((path, candidate.patch.after))
            yield candidate


_Group = tuple[str, int, tuple[Edit, ...]]  # path, line, edits


def _edit_groups(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Group]:
    """Gates at the conditions that part the two runs, then ways around the line that stops, then all conditions."""
    yield from _hipified_extensions(root, patches, trial)
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
        module = python_module(source_file(path, _contents(root, patches, path)[0]))
        lines = [one.line for one in wanted if one.path == path]
        if module is not None:
            yield (
                path,
                lines[0],
                tuple(edit for line in lines for edit in install_gates.hipified_extension(module, line)),
            )


def _hip_sources(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Group]:
    """.cu files marked as HIP sources, in every CMake file that makes a target which has fewer of them on ROCm."""
    places = [
        one.made_at
        for one in trial.cuda.extensions
        if one.made_at is not None and len(trial.rocm.gpu_units(one.name)) < len(trial.cuda.gpu_units(one.name))
    ]
    for path in dict.fromkeys(place.path for place in places if place.path.endswith("CMakeLists.txt")):
        src = source_file(path, _contents(root, patches, path)[0])
        yield path, next(place.line for place in places if place.path == path), cmake_gates.hip_sources(src)


def _gated(root: Path, patches: Sequence[Patch], parting: Parting) -> tuple[Edit, ...]:
    where = parting.condition
    data, original = _contents(root, patches, where.path)
    src = source_file(where.path, data)
    if src.language == "cmake":
        return cmake_gates.gated_condition(cmake_gates.cmake_of(src), where.column, parting.on_cuda) or ()
    module = python_module(src)
    place = (where.line, where.column, where.end_line, where.end_column)
    edit = install_gates.gated_condition(module, place, parting.on_cuda, original) if module is not None else None
    return (edit,) if edit is not None else ()


def _past(root: Path, patches: Sequence[Patch], place: SourceLine) -> Iterator[tuple[Edit, ...]]:
    data, original = _contents(root, patches, place.path)
    src = source_file(place.path, data)
    if src.language == "cmake":
        yield from cmake_gates.past_line(cmake_gates.cmake_of(src), place.line)
    elif (module := python_module(src)) is not None:
        yield from install_gates.past_line(module, place.line, original)


def _contents(root: Path, patches: Sequence[Patch], path: str) -> tuple[bytes, bytes]:
    """The file as it is now, and its text before the port."""
    patch = next((one for one in patches if one.path == path), None)
    original = (patch.before if patch is not None else read_if_there(root / path, root)) or b""
    return (patch.after if patch is not None else original), original


def _candidate(
    root: Path, patches: Sequence[Patch], path: str, edits: Sequence[Edit], finding: Finding
) -> _Candidate | None:
    """The file with some edits, where they go together, parse, and are proven to leave the NVIDIA path alone."""
    data, original = _contents(root, patches, path)
    src = source_file(path, data)
    every = EditSet()
    for edit in edits:
        every.add([edit])
    module = python_module(src) if src.language == "python" else None
    if module is not None:
        every.add(gate_edits(module, edits))
    after = every.apply(data)
    known = next((one for one in patches if one.path == path), None)
    codes = tuple(sorted({*(known.codes if known else ()), finding.code}))
    patch = Patch(path, known.before if known else original, after, codes)
    verdict = verdict_on(patch)
    is_broken = module is not None and python_module(source_file(path, after)) is None
    if is_broken or (verdict is not None and not verdict.is_proven):
        return None
    finding = replace(_on_original(patches, finding), safety=Safety.SAFE, edits=tuple(edits))
    return _Candidate(finding, patch)


def _with(patches: Sequence[Patch], patch: Patch) -> tuple[Patch, ...]:
    return (*(one for one in patches if one.path != patch.path), patch)
