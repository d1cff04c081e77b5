"""What a build description asked for on one platform: the extensions, and every compiler command of their build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath

GPU_COMPILERS = ("nvcc", "hipcc")


@dataclass(frozen=True)
class SourceLine:
    """A line of the project."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class CompileCommand:
    """One source as the build would compile it. Paths inside the project are relative to it."""

    extension: str
    source: str
    words: tuple[str, ...]

    @property
    def compiler(self) -> str:
        return PurePath(self.words[0]).name

    @property
    def is_gpu(self) -> bool:
        return self.compiler in GPU_COMPILERS


@dataclass(frozen=True)
class Extension:
    """One extension module. `made_at` is the line that made it, where torch's own functions did."""

    name: str
    kind: str
    sources: tuple[str, ...]
    missing: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    made_at: SourceLine | None = None


@dataclass(frozen=True)
class Condition:
    """A condition of the project that was asked: where it stands, in `ast`'s terms, and the answers it gave."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str  # see conditions.py
    answers: tuple[bool, ...] = ()

    @property
    def span(self) -> tuple[str, int, int, int, int]:
        return self.path, self.line, self.column, self.end_line, self.end_column


@dataclass(frozen=True)
class Failure:
    """The project's own code raised. `stack` are the project's lines on the way, outermost first.

    `cause` are those of the exception that was being handled, where there was one.
    """

    error: str
    stack: tuple[SourceLine, ...] = ()
    cause: tuple[SourceLine, ...] = ()
    missing_module: str = ""

    @property
    def place(self) -> SourceLine | None:
        """The deepest line of the project."""
        return self.stack[-1] if self.stack else None


@dataclass(frozen=True)
class InstallRecord:
    """One run of a build description."""

    platform: str
    extensions: tuple[Extension, ...] = ()
    compiles: tuple[CompileCommand, ...] = ()
    links: tuple[tuple[str, ...], ...] = ()
    failure: Failure | None = None
    renamed: tuple[tuple[str, str], ...] = ()  # a source as written, and as torch's hipify names it
    conditions: tuple[Condition, ...] = ()
    not_tried: tuple[str, ...] = ()  # calls that build an extension and were not reached, each with the reason
    asked_network: SourceLine | None = None  # the first line that asked for the network, which is off

    @property
    def sources(self) -> tuple[str, ...]:
        """Every source that is compiled."""
        return tuple(one.source for one in self.compiles)

    def units(self, extension: str) -> set[str]:
        """The sources of an extension that are compiled."""
        return {one.source for one in self.compiles if one.extension == extension}

    def gpu_units(self, extension: str) -> tuple[str, ...]:
        """The sources of an extension that the GPU's compiler gets."""
        return tuple(one.source for one in self.compiles if one.extension == extension and one.is_gpu)

    def as_written(self, source: str) -> str:
        """The file a person edits, for a source that torch's hipify may have renamed."""
        return next((old for old, new in self.renamed if new == source), source)


@dataclass(frozen=True)
class InstallTrial:
    """One setup.py on both platforms. `tree` is the ROCm copy, with the files that torch's hipify wrote.

    `again` is a second run for ROCm in the same tree, as after a build in place.
    """

    setup: str
    cuda: InstallRecord
    rocm: InstallRecord
    tree: Path
    again: InstallRecord | None = None

    @property
    def tools(self) -> Path:
        """What looks like an installed ROCm in that run."""
        return self.tree.parent / "tools"
