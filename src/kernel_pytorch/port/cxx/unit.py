"""The files that are seen together: a source with the project headers it reaches.

Includes are resolved inside the project only. Third-party folders are left alone: their own HIP support, if any, is
theirs to switch on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.source import SourceFile, source_file

if TYPE_CHECKING:
    from tree_sitter import Node

THIRD_PARTY_FOLDERS = frozenset({
    "third_party", "third-party", "thirdparty", "3rdparty", "external", "externals", "extern", "vendor", "vendored",
    "cutlass", "submodules", "node_modules", ".git",
})  # fmt: skip

_INCLUDE = re.compile(
    rb"^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>)", re.MULTILINE
)
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(\([^)\n]*\))?((?:[^\n\\]|\\\r?\n|\\)*)", re.MULTILINE)


@dataclass(frozen=True)
class Include:
    """One #include: the name as written and the bytes of the quoted part, delimiters included."""

    name: str
    quoted: bool
    start: int
    end: int


@dataclass(frozen=True)
class Macro:
    """One #define. `parameters` is None for an object-like macro; `body_start` and `body_end` are byte offsets."""

    name: bytes
    file: SourceFile
    parameters: tuple[bytes, ...] | None
    start: int
    body_start: int
    body_end: int

    @property
    def body(self) -> bytes:
        """The replacement text, line continuations included."""
        return self.file.data[self.body_start : self.body_end]


@dataclass(frozen=True)
class Function:
    """One function definition: the tree-sitter node of the whole definition."""

    name: bytes
    file: SourceFile
    node: Node


@dataclass(frozen=True)
class Unit:
    """The files of a translation unit or project, and what they define, by name.

    `wave` says which form the wave rules write: "logical32" keeps warps of 32 lanes, "native" uses the whole wave.
    """

    files: tuple[SourceFile, ...]
    wave: str = "logical32"

    def file(self, path: str) -> SourceFile | None:
        """The file of that path, if it belongs to the unit."""
        return self._by_path.get(path)

    @cached_property
    def _by_path(self) -> dict[str, SourceFile]:
        return {file.path: file for file in self.files}

    @cached_property
    def macros(self) -> Mapping[bytes, tuple[Macro, ...]]:
        """Every #define of the unit, by macro name."""
        found: dict[bytes, list[Macro]] = defaultdict(list)
        for file in self.files:
            for macro in macros_of(file):
                found[macro.name].append(macro)
        return {name: tuple(macros) for name, macros in found.items()}

    @cached_property
    def functions(self) -> Mapping[bytes, tuple[Function, ...]]:
        """Every function definition of the unit, by unqualified name. Parses the files."""
        found: dict[bytes, list[Function]] = defaultdict(list)
        for file in self.files:
            if file.is_parsable:
                for function in functions_of(file):
                    found[function.name].append(function)
        return {name: tuple(functions) for name, functions in found.items()}


def unit_of(*files: SourceFile) -> Unit:
    """A unit of exactly these files."""
    return Unit(tuple(files))


def macros_of(file: SourceFile) -> Iterable[Macro]:
    """The #defines of one file. Comments are not looked into: a commented-out #define may be listed."""
    for match in _DEFINE.finditer(file.data):
        parameters = match.group(2)
        names = None
        if parameters is not None:
            names = tuple(name.strip() for name in parameters[1:-1].split(b",") if name.strip())
        yield Macro(match.group(1), file, names, match.start(), match.start(3), match.end(3))


def functions_of(file: SourceFile) -> Iterable[Function]:
    """The function definitions of one file."""
    pending = [file.tree.root_node]
    while pending:
        node = pending.pop()
        if node.type == "function_definition":
            name = _declared_name(node.child_by_field_name("declarator"))
            if name is not None:
                yield Function(file.data[name.start_byte : name.end_byte], file, node)
        if node.type not in ("compound_statement", "expression_statement", "preproc_include") or (
            node.type == "compound_statement" and node.parent is not None and node.parent.type != "function_definition"
        ):
            pending.extend(reversed(node.children))


def _declared_name(node: Node | None) -> Node | None:
    """The identifier a declarator declares: the last part of a qualified name."""
    while node is not None:
        if node.type in ("identifier", "field_identifier", "operator_name", "destructor_name", "type_identifier"):
            return node
        inner = node.child_by_field_name("declarator") or node.child_by_field_name("name")
        if inner is None:
            inner = next(
                (child for child in node.named_children if child.type.endswith(("declarator", "identifier"))), None
            )
        node = inner
    return None


def includes_of(data: bytes) -> list[Include]:
    """The #include lines of a file, in order."""
    found = []
    for match in _INCLUDE.finditer(data):
        group = 1 if match.group(1) is not None else 2
        name = match.group(group).decode("utf-8", "surrogateescape").strip()
        found.append(Include(name, group == 1, match.start(group) - 1, match.end(group) + 1))
    return found


def is_third_party(relative: PurePosixPath | Path) -> bool:
    """Whether a path inside a project lies in a folder of somebody else's code."""
    return any(part.lower() in THIRD_PARTY_FOLDERS for part in relative.parts[:-1])


def third_party_folder(relative: PurePosixPath | Path) -> PurePosixPath:
    """The folder of somebody else's code that a path lies in: `csrc/third_party` of csrc/third_party/glm/a.hpp."""
    count = next(number for number, part in enumerate(relative.parts, 1) if part.lower() in THIRD_PARTY_FOLDERS)
    return PurePosixPath(*relative.parts[:count])


def resolve_include(include: Include, includer: Path, search: Sequence[Path]) -> Path | None:
    """The project file an #include names, or None: quotes start beside the includer, angles at the search folders."""
    folders = [includer.parent, *search] if include.quoted else [*search, includer.parent]
    for folder in folders:
        candidate = folder / include.name
        try:
            if candidate.is_file():
                return candidate.resolve()
        except (OSError, ValueError):
            return None
    return None


def include_closure(
    main: Path, root: Path, search: Sequence[Path] = (), read: Callable[[Path], bytes] = read_bytes
) -> dict[Path, bytes]:
    """The main file and every project header it reaches, with their bytes, in the order of first inclusion.

    Only files below `root`, outside third-party folders, are followed. `search` are the -I folders; those of the
    project that people forget to name (the root, its include folders) are tried after them.
    """
    root = root.resolve()
    folders = [*search, root, root / "include", root / "src"]
    seen: dict[Path, bytes] = {}
    pending = [main.resolve()]
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        try:
            data = read(path)
        except OSError:
            continue
        seen[path] = data
        reached = []
        for include in includes_of(data):
            found = resolve_include(include, path, folders)
            if found is None or found in seen or not found.is_relative_to(root):
                continue
            if not is_third_party(found.relative_to(root)):
                reached.append(found)
        pending.extend(reversed(reached))
    return seen


def build_unit(
    main: Path, root: Path, search: Sequence[Path] = (), shown: Callable[[Path], str] = Path.as_posix
) -> Unit:
    """The unit of a source file: itself, then the project headers it reaches. `shown` names a path in findings."""
    return Unit(tuple(source_file(shown(path), data) for path, data in include_closure(main, root, search).items()))
