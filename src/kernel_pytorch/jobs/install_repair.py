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
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.jobs.proof import verdict_on
from kernel_pytorch.port.build_files.install_gates import gated_condition, past_line
from kernel_pytorch.port.builds.hipified_tree import line_map
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.python.rewrite import gate_edits
from kernel_pytorch.port.source import source_file
from kernel_pytorch.verify.install.judge import judged, not_judged
from kernel_pytorch.verify.install.parting import partings
from kernel_pytorch.verify.install.record import InstallRecord, InstallTrial
from kernel_pytorch.verify.install.run import InstallRequest, try_installs, try_on_rocm
from kernel_pytorch.verify.install_level import judged_trial, not_possible, setup_files
from kernel_pytorch.verify.levels import LevelResult

MAX_ROUNDS = 12
MAX_CANDIDATES = 16
REPAIRABLE = ("KP810", "KP811", "KP812", "KP816", "KP817")


@dataclass(frozen=True)
class PortInstall:
    """What the trials of a port came to: the patches with their gates, and the findings on the project's own lines."""

    patches: tuple[Patch, ...]
    findings: tuple[Finding, ...] = ()
    level: LevelResult = LevelResult("install")  # noqa: RUF009 (frozen)


@dataclass(frozen=True)
class _Repaired:
    """The patches with the gates that the trials asked for, and one automatic finding for each gate."""

    patches: tuple[Patch, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """One way on: a file of the project with one more gate."""

    finding: Finding
    patch: Patch


def install_port(root: Path, listed: Sequence[str], patches: Sequence[Patch], gpu: str) -> PortInstall:
    """Run every setup.py with the patches applied, and repair what the runs show. This runs the project's code."""
    setups = setup_files(root, listed)
    reason = not_possible() if setups else ""
    if reason or not setups:
        return PortInstall(tuple(patches), (), LevelResult("install", (), reason))
    done = _Repaired(tuple(patches))
    with TemporaryDirectory(prefix="kpt-install-") as folder:
        scratch = Path(folder)
        trials = dict(zip(setups, _trials(root, listed, done.patches, setups, gpu, scratch), strict=True))
        for setup, trial in trials.items():
            done = _repaired(root, listed, done, setup, trial, gpu, scratch)
        if done.findings:
            # From the beginning, CUDA too: what one setup.py asked for may change another, and CUDA's must not change.
            again = dict(zip(setups, _trials(root, listed, done.patches, setups, gpu, scratch), strict=True))
            if any(_built(trials[setup].cuda) != _built(again[setup].cuda) for setup in setups):
                done = _Repaired(tuple(patches))
            else:
                trials = again
        results = [judged_trial(trial, scratch) for trial in trials.values()]
    left = tuple(_on_original(root, done.patches, one) for _, findings in results for one in findings)
    level = LevelResult("install", tuple(check for checks, _ in results for check in checks))
    return PortInstall(done.patches, (*done.findings, *left), level)


def _trials(
    root: Path, listed: Sequence[str], patches: Sequence[Patch], setups: Sequence[str], gpu: str, scratch: Path
) -> tuple[InstallTrial, ...]:
    return try_installs([_request(root, listed, patches, setup) for setup in setups], gpu, scratch)


def _built(record: InstallRecord) -> set[tuple[str, str]]:
    return {(command.extension, command.source) for command in record.compiles}


def _on_original(root: Path, patches: Sequence[Patch], finding: Finding) -> Finding:
    """A finding in a patched file, on the line that the user has."""
    patch = next((one for one in patches if one.path == finding.path and one.before is not None), None)
    if patch is None or patch.before is None:
        return finding
    return replace(finding, line=line_map(patch.before, patch.after).get(finding.line, finding.line))


def _request(root: Path, listed: Sequence[str], patches: Sequence[Patch], setup: str) -> InstallRequest:
    changed = {patch.path: patch.after for patch in patches}
    return InstallRequest(root, tuple(listed), PurePosixPath(setup).parent.as_posix(), changed)


def _repaired(
    root: Path, listed: Sequence[str], done: _Repaired, setup: str, trial: InstallTrial, gpu: str, scratch: Path
) -> _Repaired:
    """Greedy: of all ways on, the one that gets furthest stays, and the next begins from there."""
    if not_judged(trial.cuda):
        return done
    before = done
    for _ in range(MAX_ROUNDS):
        if not any(one.code in REPAIRABLE for one in judged(trial)):
            return done
        candidates = list(_candidates(root, done.patches, trial))[:MAX_CANDIDATES]
        tried = [_with(done.patches, one.patch) for one in candidates]
        trials = try_on_rocm(trial, [_request(root, listed, one, setup) for one in tried], gpu, scratch)
        scores = [_score(one) for one in trials]
        best = max(range(len(scores)), key=lambda index: scores[index], default=None)
        if best is None or scores[best] <= _score(trial):
            break
        done, trial = _Repaired(tried[best], (*done.findings, candidates[best].finding)), trials[best]
    return done if _score(trial) >= (1,) else before  # gates that did not lead to an install are not kept


def _score(trial: InstallTrial) -> tuple[float, ...]:
    """How far an install gets: a later line is better than an earlier one, fewer findings better than more."""
    failure = trial.rocm.failure
    if failure is None:
        return (1, -float(len(judged(trial))))
    # Counted from the end of a file: a gate adds lines, and only above the place that is reached with it.
    lines = [place.line - _line_count(trial.tree / place.path) for place in failure.stack]
    return (0, *map(float, lines), math.inf)


def _line_count(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def _candidates(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[_Candidate]:
    found = judged(trial)[0]
    seen: set[tuple[str, bytes]] = set()
    for path, groups in _edit_groups(root, patches, trial):
        for line, edits in groups:
            candidate = _candidate(root, patches, path, edits, replace(found, path=path, line=line))
            if candidate is not None and (path, candidate.patch.after) not in seen:
                seen.add((path, candidate.patch.after))
                yield candidate


_Groups = list[tuple[int, tuple[Edit, ...]]]


def _edit_groups(root: Path, patches: Sequence[Patch], trial: InstallTrial) -> Iterator[tuple[str, _Groups]]:
    failure = trial.rocm.failure
    stack = (*failure.stack[::-1], *failure.cause[::-1]) if failure is not None else ()
    parted = partings(trial.cuda, trial.rocm)
    together: dict[str, list[Edit]] = {}
    for kind in ("flag", "operand", "test"):
        for one in (item for item in parted if item.condition.kind == kind):
            where = one.condition
            module, original = _module(root, patches, where.path)
            if module is None:
                continue
            edit = gated_condition(module, where.span[1:], one.on_cuda, original)  # type: ignore[arg-type]
            if edit is not None:
                together.setdefault(where.path, []).append(edit)
                yield where.path, [(where.line, (edit,))]
    for place in dict.fromkeys(stack):
        module, original = _module(root, patches, place.path)
        if module is not None:
            yield place.path, [(place.line, edits) for edits in past_line(module, place.line, original)]
    for path, edits in together.items():
        if len(edits) > 1:
            yield path, [(1, tuple(edits))]


def _module(root: Path, patches: Sequence[Patch], path: str) -> tuple[PythonModule | None, bytes]:
    """The file as it is now, and its text before the port."""
    patch = next((one for one in patches if one.path == path), None)
    original = patch.before if patch is not None else read_if_there(root / path, root)
    data = patch.after if patch is not None else original
    return (python_module(source_file(path, data)) if data else None), original or b""


def _candidate(
    root: Path, patches: Sequence[Patch], path: str, edits: Sequence[Edit], finding: Finding
) -> _Candidate | None:
    """The file with some edits, where they go together, parse, and are proven to leave the NVIDIA path alone."""
    module, original = _module(root, patches, path)
    assert module is not None
    every = EditSet()
    for edit in edits:
        every.add([edit])
    every.add(gate_edits(module, edits))
    after = every.apply(module.src.data)
    known = next((one for one in patches if one.path == path), None)
    codes = tuple(sorted({*(known.codes if known else ()), finding.code}))
    patch = Patch(path, known.before if known else original, after, codes)
    verdict = verdict_on(patch)
    if python_module(source_file(path, after)) is None or (verdict is not None and not verdict.is_proven):
        return None
    finding = replace(_on_original(root, patches, finding), safety=Safety.SAFE, edits=tuple(edits))
    return _Candidate(finding, patch)


def _with(patches: Sequence[Patch], patch: Patch) -> tuple[Patch, ...]:
    return (*(one for one in patches if one.path != patch.path), patch)
