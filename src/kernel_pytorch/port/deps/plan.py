"""From a repository to a plan: find the files, read them, decide, and note what bites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.printable import has_controls, on_one_line
from kernel_pytorch.core.read_file import why_refused
from kernel_pytorch.port.deps.classify import decide, decide_option
from kernel_pytorch.port.deps.discover import Found, find_files
from kernel_pytorch.port.deps.environment import describe, inspect_python
from kernel_pytorch.port.deps.imports import scan_imports
from kernel_pytorch.port.deps.model import (
    Decision,
    Declared,
    DependencyFileError,
    JaxUse,
    NotRead,
    Plan,
    Project,
    PythonNote,
    Reading,
)
from kernel_pytorch.port.deps.packages import classify, normalize
from kernel_pytorch.port.deps.python_range import python_note
from kernel_pytorch.port.deps.read_conda import is_conda_environment, read_conda
from kernel_pytorch.port.deps.read_pyproject import read_pyproject
from kernel_pytorch.port.deps.read_requirements import read_requirements, read_text
from kernel_pytorch.port.deps.read_setup_cfg import read_pipfile, read_setup_cfg
from kernel_pytorch.port.deps.read_setup_py import read_setup_py

# The order in which files of one folder are trusted when they disagree.
_FORMAT_ORDER = ("pyproject", "setup.cfg", "setup.py", "pipfile", "requirements", "conda")


def make_plan(path: Path, python: str) -> Plan:
    """Read every dependency file under `path` and decide each requirement for ROCm. Changes nothing."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder; name a repository or one of its dependency files")
    found, skipped = find_files(path)
    root = path if path.is_dir() else path.parent
    if path.is_file() and not found:
        raise UsageError(
            f"{path}: not a dependency file; requirements*.txt, pyproject.toml, setup.py, setup.cfg, Pipfile and "
            "conda environment files are read"
        )
    readings, broken = _read_all(found, root)
    imports = scan_imports(path) if path.is_dir() else JaxUse()
    declared = [requirement for _, reading in readings for requirement in reading.declared]
    torch_used = _runs_on_torch(imports, any(_is_torch(requirement) for requirement in declared))
    interpreter = inspect_python(python)
    projects = _projects(readings, root, torch_used)
    return Plan(
        str(path),
        projects,
        describe(interpreter),
        torch_used,
        _jax_use(imports, declared, torch_used),
        _python_notes(readings, interpreter.version, root),
        tuple(note for _, reading in readings for note in reading.not_read),
        tuple(broken),
        tuple(skipped),
    )


def names_to_settle(root: Path) -> tuple[str, ...]:
    """The packages that a plain `pip install` of the project would break a ROCm machine with, for a scan's last line.

    Reads the dependency files and nothing else: no interpreter is asked and no source is parsed.
    """
    readings, _ = _read_all(find_files(root)[0], root)
    declared = [requirement for _, reading in readings for requirement in reading.declared]
    torch_used = any(_is_torch(requirement) for requirement in declared)
    made = [decide(requirement, torch_used=torch_used) for requirement in declared if requirement.role != "constraint"]
    return tuple(dict.fromkeys(one.requirement.name for one in made if one.action != "keep"))


def _runs_on_torch(imports: JaxUse, declared: bool) -> bool:
    """Whether torch is what the code runs on, and not a by-product in a JAX repository.

    One example that imports torch among dozens of JAX modules, or a torch that is declared and never imported, does
    not make a PyTorch path: leaving JAX out would leave nothing.
    """
    jax_modules = len(imports.unconditional) + len(imports.guarded)
    if declared:
        return imports.torch_modules > 0 or jax_modules == 0
    return imports.torch_modules > 0 and imports.torch_modules >= jax_modules


def _is_torch(requirement: Declared) -> bool:
    row = classify(requirement.name, requirement.extras, requirement.ecosystem)
    return row is not None and (row.action == "protected" or row.requires_torch)


def _read_all(found: list[Found], root: Path) -> tuple[list[tuple[Found, Reading]], list[NotRead]]:
    known = {entry.path.resolve(): entry.group for entry in found if entry.format == "requirements"}
    readings: list[tuple[Found, Reading]] = []
    broken: list[NotRead] = []
    for entry in found:
        shown = entry.path.relative_to(root).as_posix()
        if has_controls(shown):
            broken.append(NotRead(on_one_line(shown), 1, "its name holds control characters: not read"))
            continue
        if reason := why_refused(entry.path, root):
            broken.append(NotRead(shown, 1, f"{reason}: not read"))
            continue
        try:
            reading = _read(entry, root, shown, known)
        except DependencyFileError as error:
            broken.append(NotRead(error.path, error.line, error.message))
            continue
        except OSError as error:
            broken.append(NotRead(shown, 1, f"cannot be read: {error.strerror or error}"))
            continue
        except RecursionError:
            broken.append(NotRead(shown, 1, "nested too deeply to be read"))
            continue
        if reading is not None:
            readings.append((entry, reading))
    return readings, broken


def _read(entry: Found, root: Path, shown: str, known: dict[Path, str]) -> Reading | None:
    path = entry.path
    if entry.format == "requirements":
        return read_requirements(path, root, group=entry.group, known=known)
    if entry.format == "pyproject":
        return read_pyproject(path, root, shown, known)
    if entry.format == "setup.cfg":
        return read_setup_cfg(path, root, shown, known)
    if entry.format == "setup.py":
        return read_setup_py(path, shown)
    if entry.format == "pipfile":
        return read_pipfile(path, shown)
    # Many tools have an env.yml of their own: only one with a dependencies list is conda's.
    return read_conda(path, root, shown, entry.group) if is_conda_environment(read_text(path, shown)) else None


def _projects(readings: list[tuple[Found, Reading]], root: Path, torch_used: bool) -> tuple[Project, ...]:
    folder_of_name = {
        name: entry.project.relative_to(root).as_posix() for entry, reading in readings for name in reading.names
    }
    own_names = frozenset(folder_of_name)
    by_folder: dict[str, list[tuple[Found, Reading]]] = {}
    for entry, reading in readings:
        by_folder.setdefault(entry.project.relative_to(root).as_posix(), []).append((entry, reading))
    projects = []
    for folder, parts in sorted(by_folder.items()):
        parts.sort(key=lambda part: _FORMAT_ORDER.index(part[0].format))
        requirements = _unique(
            _located(requirement, folder, folder_of_name, own_names)
            for entry, reading in parts
            for requirement in _own(entry, reading, parts)
        )
        requirements = _with_own_extras(requirements, {name for _, reading in parts for name in reading.names})
        options = [decide_option(option) for _, reading in parts for option in reading.options]
        decisions = tuple(decide(requirement, torch_used=torch_used) for requirement in requirements)
        if not decisions and not options:
            continue
        projects.append(
            Project(
                folder,
                tuple(reading.path for _, reading in parts),
                decisions,
                tuple(options),
                _groups(decisions),
                tuple(option.value for option in options if option.kind == "conda-channel" and option.action == "keep"),
                tuple(sorted({group for _, reading in parts for group in reading.includes_main})),
                (*_notes(decisions), *_tool_notes(parts)),
            )
        )
    return tuple(projects)


def _with_own_extras(requirements: list[Declared], own: set[str]) -> list[Declared]:
    """`project[extra]` inside the project's own lists stands for what that extra lists."""

    def content(extra: str, group: str, seen: frozenset[str]) -> list[Declared]:
        found: list[Declared] = []
        for requirement in requirements:
            if requirement.role != "runtime" or requirement.group != normalize(extra):
                continue
            if requirement.name in own and requirement.extras:
                for inner in requirement.extras:
                    if normalize(inner) not in seen:
                        found += content(inner, group, seen | {normalize(inner)})
            else:
                found.append(replace(requirement, group=group))
        return found

    result: list[Declared] = []
    for requirement in requirements:
        if requirement.name in own and requirement.extras and not requirement.url:
            for extra in requirement.extras:
                result += content(extra, requirement.group, frozenset({normalize(extra)}))
        else:
            result.append(requirement)
    return _unique(result)


def _own(entry: Found, reading: Reading, parts: list[tuple[Found, Reading]]) -> Iterable[Declared]:
    """A file's requirements, without what a setup.py only reads from requirements files listed anyway."""
    if entry.format != "setup.py":
        return reading.declared
    listed = {_content(one) for other, found in parts if other.format == "requirements" for one in found.declared}
    return [requirement for requirement in reading.declared if _content(requirement) not in listed]


def _content(requirement: Declared) -> tuple[str, ...]:
    return (
        requirement.name, requirement.specifier, requirement.marker, requirement.url, requirement.group,
        requirement.role, *requirement.extras,
    )  # fmt: skip


def _located(requirement: Declared, folder: str, folder_of_name: dict[str, str], own_names: frozenset[str]) -> Declared:
    """A requirement on another project of the same repository points at that project's folder."""
    if requirement.local.startswith("workspace:") or (
        requirement.name in own_names and not requirement.url and not requirement.local
    ):
        target = folder_of_name.get(requirement.name)
        if target is not None:
            return replace(requirement, local=_relative(target, folder), editable=True)
    return requirement


def _relative(target: str, folder: str) -> str:
    up = "" if folder == "." else "../" * (folder.count("/") + 1)
    return (up + target) if target != "." else (up or ".")


def _unique(requirements: Iterable[Declared]) -> list[Declared]:
    seen: set[tuple[str, ...]] = set()
    result = []
    for requirement in requirements:
        key = (requirement.origin, requirement.group, requirement.role, requirement.written)
        if key not in seen:
            seen.add(key)
            result.append(requirement)
    return result


def _groups(decisions: Iterable[Decision]) -> tuple[str, ...]:
    found = {decision.requirement.group for decision in decisions if decision.requirement.role == "runtime"}
    return tuple(sorted(found - {""}))


def _notes(decisions: Iterable[Decision]) -> tuple[str, ...]:
    """Packages pinned to two versions in one list."""
    notes = []
    twice: dict[tuple[str, str], dict[str, str]] = {}
    for decision in decisions:
        requirement = decision.requirement
        if requirement.role == "runtime" and "==" in requirement.specifier and not requirement.marker:
            pins = twice.setdefault((requirement.group, requirement.name), {})
            pins.setdefault(requirement.specifier, requirement.origin)
    for (group, name), pins in sorted(twice.items()):
        if len(pins) > 1:
            places = ", ".join(f"{specifier} ({origin})" for specifier, origin in pins.items())
            notes.append(f"{name}{f' in {group}' if group else ''} is pinned twice: {places}; the first is used")
    return tuple(notes)


def _tool_notes(parts: list[tuple[Found, Reading]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for _, reading in parts for note in reading.notes))


def _jax_use(imports: JaxUse, declared: list[Declared], torch_used: bool) -> JaxUse | None:
    uses_jax = bool(imports.unconditional or imports.guarded) or any(
        (row := classify(requirement.name, requirement.extras)) is not None and "jax" in row.tags
        for requirement in declared
    )
    uses_torch = torch_used or imports.torch_modules > 0
    return replace(imports, pytorch_only=torch_used) if uses_jax and uses_torch else None


def _python_notes(readings: list[tuple[Found, Reading]], running: str, root: Path) -> tuple[PythonNote, ...]:
    notes = []
    for entry, reading in readings:
        for constraint in reading.python:
            folder = entry.project if entry.project.is_dir() else root
            note = python_note(constraint, running, folder)
            if note is not None:
                notes.append(note)
    return tuple(notes)
