"""Install what is missing, one package at a time, and take a step back if torch is not the same after it."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.port.deps.classify import decide
from kernel_pytorch.port.deps.environment import Interpreter
from kernel_pytorch.port.deps.model import Decision, Declared, Project
from kernel_pytorch.port.deps.packages import normalize
from kernel_pytorch.port.deps.safeguard import (
    Backup,
    files_of,
    identify,
    protected_distributions,
    refuse_leftover,
)

PIP_TIMEOUT_S = 1800
_OPTION_KINDS = frozenset({"extra-index-url", "find-links", "trusted-host", "index-url"})


@dataclass(frozen=True)
class InstallStep:
    """One package: what was asked for, by whom, and how it went."""

    requirement: str
    wanted_by: str
    outcome: str  # installed | present | left out | conflict | failed | rolled back
    detail: str = ""


@dataclass(frozen=True)
class Installation:
    """The whole run. `intact` says whether the protected packages are what they were before it."""

    steps: tuple[InstallStep, ...]
    intact: bool
    torch: str

    @property
    def ok(self) -> bool:
        """Everything wanted is there, and nothing was rolled back."""
        return self.intact and not any(step.outcome in {"failed", "conflict", "rolled back"} for step in self.steps)


@dataclass(frozen=True)
class _Wanted:
    requirement: Requirement
    by: str
    editable: bool = False


def check_ready(interpreter: Interpreter) -> str:
    """Refuse to start without a ROCm torch to protect; returns its description."""
    torch = identify(interpreter).torch
    if torch is None:
        raise UsageError(
            f"{interpreter.executable} has no torch: install one for ROCm first, for example pip install torch "
            "--index-url https://download.pytorch.org/whl/rocm6.4"
        )
    if torch.hip is None:
        kind = f"CUDA {torch.cuda}" if torch.cuda else "CPU"
        raise UsageError(
            f"torch {torch.version} in {interpreter.executable} is a {kind} build, so there is no ROCm torch to "
            "protect: replace it first, for example pip install --force-reinstall torch --index-url "
            "https://download.pytorch.org/whl/rocm6.4"
        )
    refuse_leftover(interpreter)
    return f"torch {torch.version}, HIP {torch.hip}"


def direct_requirements(project: Project, groups: Iterable[str], interpreter: Interpreter) -> list[Decision]:
    """The decisions of the main list and the chosen groups that apply to this interpreter."""
    wanted = {"", *groups}
    everything = "all" in wanted
    chosen = []
    for decision in project.decisions:
        requirement = decision.requirement
        if requirement.role != "runtime" or requirement.ecosystem != "pip":
            continue
        if not (everything or requirement.group in wanted):
            continue
        if _applies(requirement.marker, interpreter):
            chosen.append(decision)
    return chosen


def _applies(marker: str, interpreter: Interpreter, extra: str = "") -> bool:
    if not marker:
        return True
    try:
        return Marker(marker).evaluate({**interpreter.markers, "extra": extra})
    except InvalidMarker:
        return True


def install(
    project: Project,
    interpreter: Interpreter,
    groups: Iterable[str] = (),
    progress: Callable[[InstallStep], None] = lambda step: None,
) -> Installation:
    """Install the project's missing requirements and theirs. Stops at the first step that touches torch."""
    description = check_ready(interpreter)
    before = identify(interpreter)
    run = _Run(project, interpreter, progress)
    for decision in direct_requirements(project, groups, interpreter):
        run.enqueue(decision, decision.requirement.origin)
    backup = Backup(
        [path for held in protected_distributions(interpreter).values() for path in files_of(held)],
        interpreter.purelib,
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            constraints = Path(folder) / "constraints.txt"
            constraints.write_text(_constraints(project, before.versions, run.queue), encoding="utf-8")
            run.work_off(constraints, backup)
    finally:
        # Also on Ctrl-C in the middle of a step: never leave half a torch behind.
        if before.difference(identify(interpreter)):
            backup.restore()
        intact = not before.difference(identify(interpreter))
        if intact:
            backup.discard()
    return Installation(tuple(run.steps), intact, description)


def _constraints(project: Project, protected: Iterable[tuple[str, str]], direct: Iterable[_Wanted]) -> str:
    """Pins of the protected packages, and the project's own limits, so that needs of needs respect them too."""
    lines = [f"{name}=={version}" for name, version in protected]
    lines += [
        f"{normalize(wanted.requirement.name)}{wanted.requirement.specifier}"
        for wanted in direct
        if wanted.requirement.specifier and not wanted.requirement.url
    ]
    lines += [
        decision.line
        for decision in project.decisions
        if decision.requirement.role == "constraint" and decision.line and not decision.requirement.extras
    ]
    return "".join(f"{line}\n" for line in lines)


class _Run:
    """The queue of one installation: what is wanted, what was done, what this run itself put there."""

    def __init__(self, project: Project, interpreter: Interpreter, progress: Callable[[InstallStep], None]) -> None:
        self.interpreter = interpreter
        self.options = _pip_options(project)
        self.progress = progress
        self.steps: list[InstallStep] = []
        self.queue: deque[_Wanted] = deque()
        self.seen: set[str] = set()
        self.ours: set[str] = set()
        self.limits: dict[str, SpecifierSet] = {}

    def record(self, requirement: str, by: str, outcome: str, detail: str = "") -> None:
        step = InstallStep(requirement, by, outcome, detail)
        self.steps.append(step)
        self.progress(step)

    def enqueue(self, decision: Decision, by: str) -> None:
        """Queue what the decision lets through, or record why it is left out."""
        text = decision.requirement.written
        if not decision.line:
            reason = decision.how or decision.reason if decision.action == "keep" else decision.reason
            self.record(text, by, "left out", f"{decision.action}: {reason}")
            return
        try:
            requirement = Requirement(decision.line)
        except InvalidRequirement as error:
            self.record(text, by, "failed", str(error).splitlines()[0])
            return
        requirement.marker = None  # It applies to this interpreter, or it would not be here.
        self.queue.append(_Wanted(requirement, by, decision.requirement.editable))

    def work_off(self, constraints: Path, backup: Backup) -> None:
        """Take one requirement after the other until the queue is empty or torch was touched."""
        while self.queue:
            wanted = self.queue.popleft()
            name = normalize(wanted.requirement.name)
            present = self.interpreter.distributions().get(name)
            self.limits[name] = self.limits.get(name, SpecifierSet()) & wanted.requirement.specifier
            fits = present is not None and _satisfies(present, wanted.requirement)
            if present is None or (not fits and name in self.ours):
                if not self._install(wanted, name, constraints, backup):
                    return
                present = self.interpreter.distributions().get(name)
                if present is None or not _satisfies(present, wanted.requirement):
                    continue
            elif not fits:
                detail = f"{present.version} is there and is left alone; a person decides"
                self.record(str(wanted.requirement), wanted.by, "conflict", detail)
                continue
            elif name not in self.seen:
                self.record(str(wanted.requirement), wanted.by, "present", present.version)
            key = f"{name}=={present.version}[{','.join(sorted(wanted.requirement.extras))}]"
            if key not in self.seen:
                self.seen |= {name, key}
                self._enqueue_needs(present, wanted.requirement)

    def _install(self, wanted: _Wanted, name: str, constraints: Path, backup: Backup) -> bool:
        """Install one package, within all limits met so far; False if torch was touched and the run must stop."""
        target = wanted
        if name in self.ours and not wanted.requirement.url:
            # This run picked a version before it knew of this limit: pick again within all of them.
            picked = Requirement(str(wanted.requirement))
            picked.specifier = self.limits[name]
            target = _Wanted(picked, wanted.by)
        outcome, detail = _one(target, name, self.interpreter, constraints, self.options, backup)
        if outcome == "installed":
            self.ours.add(name)
        elif outcome == "failed" and name in self.ours:
            outcome = "conflict"
        self.record(str(target.requirement), wanted.by, outcome, detail)
        return outcome != "rolled back"

    def _enqueue_needs(self, held: Distribution, asked: Requirement) -> None:
        """Queue what a package's own metadata asks for, each put through the same table."""
        by = normalize(held.metadata["Name"] or asked.name)
        for text in held.requires or []:
            try:
                need = Requirement(text)
            except InvalidRequirement:
                continue
            if not any(_applies(str(need.marker or ""), self.interpreter, extra) for extra in ["", *asked.extras]):
                continue
            need.marker = None
            declared = Declared(
                normalize(need.name), str(need), by, 0, extras=tuple(sorted(need.extras)),
                specifier=str(need.specifier), url=need.url or "",
            )  # fmt: skip
            decision = decide(declared, torch_used=True)
            if decision.line or f"left:{declared.name}" not in self.seen:
                self.seen.add(f"left:{declared.name}")
                self.enqueue(decision, by)


def _satisfies(held: Distribution, wanted: Requirement) -> bool:
    if wanted.url:
        return True
    return SpecifierSet(str(wanted.specifier)).contains(held.version, prereleases=True)


def _pip_options(project: Project) -> list[str]:
    return [
        part
        for option in project.options
        if option.kind in _OPTION_KINDS and option.action == "keep" and option.value
        for part in (f"--{option.kind}", option.value)
    ]


def pip_command(interpreter: Interpreter) -> list[str]:
    """The interpreter's own pip, or this one's pip pointed at it."""
    if interpreter.has_pip:
        return [interpreter.executable, "-m", "pip"]
    return python_module("pip", "--python", interpreter.executable)


def _one(
    wanted: _Wanted,
    name: str,
    interpreter: Interpreter,
    constraints: Path,
    options: list[str],
    backup: Backup,
) -> tuple[str, str]:
    """Install one package without its dependencies, undo it if torch changed; (outcome, detail)."""
    before = identify(interpreter)
    others = set(interpreter.distributions())
    requirement = wanted.requirement
    target = [str(requirement)]
    if wanted.editable and requirement.url:
        target = ["-e", requirement.url if "egg=" in requirement.url else f"{requirement.url}#egg={name}"]
    arguments = ["install", "--no-deps", "--no-input", "--disable-pip-version-check", "-c", str(constraints)]
    run = _pip(interpreter, [*arguments, *options, *target])
    difference = before.difference(identify(interpreter))
    if not difference and run.returncode == 0:
        held = interpreter.distributions().get(name)
        return ("installed", held.version) if held else ("failed", f"pip installed no package named {name}")
    if not difference:
        lines = [line for line in run.stderr.splitlines() if line.startswith("ERROR")] or run.stderr.splitlines()
        return ("failed", (lines or ["pip gave no reason"])[0])
    added = sorted({*interpreter.distributions(), name} - (others - {name}))
    _pip(interpreter, ["uninstall", "-y", "--disable-pip-version-check", *added])
    backup.restore()
    remaining = before.difference(identify(interpreter))
    if remaining:
        copies = f"copies of the files are kept in {backup.folder}"
        return "rolled back", f"{difference}; and the way back failed ({remaining}): {copies}"
    return "rolled back", f"{difference}; {name} was removed again and the files were put back"


def _pip(interpreter: Interpreter, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        # As a person would: pip puts back what it was replacing, and then ends.
        return run_child(
            [*pip_command(interpreter), *arguments], timeout_s=PIP_TIMEOUT_S, ends_with=signal.SIGINT, grace_s=10.0
        )
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(error.cmd, 1, "", f"ERROR: pip took longer than {PIP_TIMEOUT_S} s")
