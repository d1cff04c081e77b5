"""The frozen records that pass between reading, classifying, writing and installing."""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA = 1


class DependencyFileError(ValueError):
    """A dependency file that cannot be read as what it claims to be."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True)
class Declared:
    """One requirement as a file declares it.

    `group` is "" for what is always installed, else the extra, dependency group or file suffix. `role` is
    runtime, constraint (limits a version, installs nothing) or build. `url` is a direct or version-control
    address, `local` a folder or wheel of the repository.
    """

    name: str
    written: str
    path: str
    line: int
    group: str = ""
    role: str = "runtime"
    ecosystem: str = "pip"
    extras: tuple[str, ...] = ()
    specifier: str = ""
    marker: str = ""
    url: str = ""
    local: str = ""
    editable: bool = False

    @property
    def origin(self) -> str:
        """Where it was written, as `path:line`."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class IndexOption:
    """A line that says where packages come from, or how pip picks them."""

    kind: str
    value: str
    path: str
    line: int
    group: str = ""
    action: str = "keep"
    reason: str = ""


@dataclass(frozen=True)
class PythonRange:
    """A `requires-python` (or the conda or poetry form of it)."""

    specifier: str
    path: str
    line: int


@dataclass(frozen=True)
class NotRead:
    """A place whose meaning needs the code to run, or that pip itself would refuse."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True)
class Reading:
    """Everything one dependency file says."""

    path: str
    format: str
    declared: tuple[Declared, ...] = ()
    options: tuple[IndexOption, ...] = ()
    python: tuple[PythonRange, ...] = ()
    not_read: tuple[NotRead, ...] = ()
    notes: tuple[str, ...] = ()
    includes_main: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """What happens to one requirement on ROCm, and why. `line` is what the ROCm list says, "" for nothing."""

    requirement: Declared
    action: str
    reason: str
    line: str = ""
    how: str = ""
    source: str = ""
    confidence: str = ""
    requires_torch: bool = False
    is_finding: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class JaxUse:
    """Modules that import the JAX stack: always, behind a guard, or together with torch."""

    unconditional: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    torch_modules: int = 0
    pytorch_only: bool = False


@dataclass(frozen=True)
class PythonNote:
    """What a Python version constraint means for the chosen interpreter."""

    specifier: str
    origin: str
    running: str
    allowed: bool
    conservative: bool | None
    text: str


@dataclass(frozen=True)
class Project:
    """A folder with dependency files, and what its requirements become."""

    folder: str
    files: tuple[str, ...]
    decisions: tuple[Decision, ...]
    options: tuple[IndexOption, ...]
    groups: tuple[str, ...]
    channels: tuple[str, ...] = ()
    includes_main: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TorchBuild:
    """An installed torch, read from its files without importing it."""

    version: str
    hip: str | None
    cuda: str | None
    location: str

    @property
    def is_rocm(self) -> bool:
        """Whether this is a ROCm build."""
        return self.hip is not None


@dataclass(frozen=True)
class Environment:
    """The chosen interpreter: its version, its torch, and the protected packages it holds."""

    python: str
    version: str
    torch: TorchBuild | None
    protected: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Plan:
    """The whole answer of `kpt deps`. Serialises with `dataclasses.asdict`."""

    root: str
    projects: tuple[Project, ...]
    environment: Environment
    torch_used: bool
    jax: JaxUse | None = None
    python_notes: tuple[PythonNote, ...] = ()
    not_read: tuple[NotRead, ...] = ()
    broken: tuple[NotRead, ...] = ()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = field(default=SCHEMA)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All decisions of all projects."""
        return tuple(decision for project in self.projects for decision in project.decisions)

    @property
    def has_findings(self) -> bool:
        """Whether anything has to be changed for ROCm."""
        return any(decision.is_finding for decision in self.decisions) or any(
            option.action == "drop" for project in self.projects for option in project.options
        )
