"""The files that are seen together, and what they define: a source with the project headers it reaches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kernel_pytorch.port.cxx.source import CxxFile, read_once

if TYPE_CHECKING:
    from tree_sitter import Node

BOM = b"\xef\xbb\xbf"
# Without the beginning of the line: Python finds the `#` by itself, and looks at every byte for a `^`.
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+([A-Za-z_]\w*)(\([^)\n]*\))?((?:[^\n\\]|\\\r?\n|\\)*)")


@dataclass(frozen=True)
class Macro:
    """One #define. `parameters` is None for an object-like macro; `body_start` and `body_end` are byte offsets."""

    name: bytes
    file: CxxFile
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
    file: CxxFile
    node: Node


@dataclass(frozen=True)
class Unit:
    """The files of a translation unit or project, and what they define, by name.

    `wave` says which form the wave rules write: "logical32" keeps warps of 32 lanes, "native" uses the whole wave.
    """

    files: tuple[CxxFile, ...]
    wave: str = "logical32"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.files, self.wave))

    def file(self, path: str) -> CxxFile | None:
        """The file of that path, if it belongs to the unit."""
        return self._by_path.get(path)

    @cached_property
    def _by_path(self) -> dict[str, CxxFile]:
        return {file.path: file for file in self.files}

    @cached_property
    def macros(self) -> Mapping[bytes, tuple[Macro, ...]]:
        """Every #define of the unit, by macro name."""
        found: dict[bytes, list[Macro]] = defaultdict(list)
        for file in self.files:
            for macro in macros_of(file):
                found[macro.name].append(macro)
        return {name: tuple(macros) for name, macros in found.items()}

    def functions(self, name: bytes) -> tuple[Function, ...]:
        """The function definitions of that unqualified name. Parses the files that have the word."""
        return tuple(
            function
            for file in self.files
            if file.holds(name) and file.is_parsable
            for function in functions_of(file)
            if function.name == name
        )

    @cached_property
    def has_marks(self) -> bool:
        """Whether a file begins with a byte order mark."""
        return any(file.data.startswith(BOM) for file in self.files)

    @cached_property
    def texts(self) -> tuple[bytes, ...]:
        """The bytes of every file."""
        return tuple(file.data for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.texts))

    def holds(self, text: bytes) -> bool:
        """Whether some bytes stand anywhere in one of the files."""
        if text not in self._held:
            self._held[text] = any(file.holds(text) for file in self.files)
        return self._held[text]

    @cached_property
    def _held(self) -> dict[bytes, bool]:
        return {}


def unit_of(*files: CxxFile) -> Unit:
    """A unit of exactly these files."""
    return Unit(tuple(files))


def macros_of(file: CxxFile) -> Iterable[Macro]:
    """The #defines of one file. Comments are not looked into: a commented-out #define may be listed."""
    for name, parameters, start, body_start, body_end in _defines(file):
        yield Macro(name, file, parameters, start, body_start, body_end)


@read_once
def _defines(file: CxxFile) -> list[tuple[bytes, tuple[bytes, ...] | None, int, int, int]]:
    found = []
    data = file.data
    for match in _DEFINE.finditer(data) if b"define" in data else ():
        start = data.rfind(b"\n", 0, match.start()) + 1
        if data[start : match.start()].strip(b" \t"):
            continue
        parameters = match.group(2)
        names = None
        if parameters is not None:
            names = tuple(name.strip() for name in parameters[1:-1].split(b",") if name.strip())
        found.append((match.group(1), names, start, match.start(3), match.end(3)))
    return found


def functions_of(file: CxxFile) -> Iterable[Function]:
    """The function definitions of one file."""
    for name, node in _definitions(file):
        yield Function(name, file, node)


@read_once
def _definitions(file: CxxFile) -> list[tuple[bytes, Node]]:
    found = []
    pending = [file.tree.root_node]
    while pending:
        node = pending.pop()
        if node.type == "function_definition":
            name = _declared_name(node.child_by_field_name("declarator"))
            if name is not None:
                found.append((file.data[name.start_byte : name.end_byte], node))
        if node.type not in ("compound_statement", "expression_statement", "preproc_include") or (
            node.type == "compound_statement" and node.parent is not None and node.parent.type != "function_definition"
        ):
            pending.extend(reversed(node.children))
    return found


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
