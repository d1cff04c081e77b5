"""A small syntax tree of one file: functions, macro bodies, constants. Positions are byte offsets of the file.

tree-sitter leaves macro bodies as text, and that is where many warp idioms live. They are parsed apart and their
nodes moved to where the body stands, so that everything after this module sees one kind of node.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.port.cxx.declarations import Function, Parameter, function_from, global_constants
from kernel_pytorch.port.cxx.nodes import Node, parse_fragment
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import macros_of

if TYPE_CHECKING:
    import tree_sitter

_COMMENT = re.compile(rb"//[^\n]*|/\*[\s\S]*?\*/")


@dataclass(frozen=True)
class Macro:
    """A #define: `parameters` is None for one without a parameter list."""

    name: str
    parameters: tuple[str, ...] | None
    body: bytes
    body_start: int


@dataclass(frozen=True)
class FileSyntax:
    """What the analysis needs of one file."""

    source: CxxFile
    functions: tuple[Function, ...]
    globals: tuple[tuple[str, str, Node], ...]  # name, declared type, initialiser
    macros: tuple[Macro, ...]

    def text(self, node: Node) -> str:
        """The text of a node of this file."""
        return self.source.characters[node.start : node.end]


Interest = Callable[[bytes, int, int], bool]


# Syntax and tokens take some sixty times the memory of their text. What is kept is for headers that units share.
_MOST_KEPT_BYTES = 1_000_000
_KEPT: OrderedDict[tuple[CxxFile, Interest, bool], FileSyntax] = OrderedDict()
_kept_bytes = 0


def file_syntax(source: CxxFile, interest: Interest, *, parse: bool = True) -> FileSyntax:
    """Reads one file. Functions that do not match `interest` are left out; without `parse` all are."""
    global _kept_bytes
    key = (source, interest, parse)
    found = _KEPT.get(key)
    if found is not None:
        _KEPT.move_to_end(key)
        return found
    found = _KEPT[key] = _read(source, interest, parse)
    _kept_bytes += len(source.data)
    while len(_KEPT) > 1 and _kept_bytes > _MOST_KEPT_BYTES:
        (dropped, _, _), _ = _KEPT.popitem(last=False)
        _kept_bytes -= len(dropped.data)
    return found


def _read(source: CxxFile, interest: Interest, parse: bool) -> FileSyntax:
    functions: list[Function] = []
    values: list[tuple[str, str, Node]] = []
    macros = read_macros(source)
    if parse and source.is_parsable:
        for definition, template in _definitions(source.tree.root_node):
            if interest(source.data, definition.start_byte, definition.end_byte):
                found = function_from(definition, template, source)
                if found is not None:
                    functions.append(found)
        values.extend(global_constants(source))
        functions.extend(_macro_functions(source, macros, interest))
    return FileSyntax(source, tuple(functions), tuple(values), macros)


def in_comment(syntax: FileSyntax, at: int) -> bool:
    """Whether an offset lies in a comment or a string."""
    split = syntax.source.split
    for tokens in (split.comments, split.strings):
        index = bisect_right(tokens, at, key=lambda token: token.start) - 1
        if index >= 0 and at < tokens[index].end:
            return True
    return False


def read_macros(source: CxxFile) -> tuple[Macro, ...]:
    """All #defines with a body, whatever branch they stand in."""
    found = []
    for macro in macros_of(source):
        body = _COMMENT.sub(lambda comment: b" " * len(comment.group()), macro.body)
        if body.strip():
            names = macro.parameters
            parameters = None if names is None else tuple(name.decode("latin-1") for name in names)
            found.append(Macro(macro.name.decode("latin-1"), parameters, body, macro.body_start))
    return tuple(found)


def _macro_functions(source: CxxFile, macros: tuple[Macro, ...], interest: Interest) -> Iterator[Function]:
    for macro in macros:
        if not interest(macro.body, 0, len(macro.body)):
            continue
        body = parse_fragment(macro.body, macro.body_start)
        parameters = tuple(Parameter(name, "", None) for name in macro.parameters or ())
        end = macro.body_start + len(macro.body)
        yield Function(macro.name, "macro", macro.body_start, end, parameters, (), "", body, source)


def _definitions(root: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, tree_sitter.Node | None]]:
    """Every function definition with the template parameters around it. Bodies are not entered, classes are."""
    stack: list[tuple[tree_sitter.Node, tree_sitter.Node | None]] = [(root, None)]
    while stack:
        node, template = stack.pop()
        for child in node.children:
            kind = child.type
            if kind == "function_definition":
                yield child, template
            elif kind == "template_declaration":
                stack.append((child, child.child_by_field_name("parameters") or template))
            elif kind in _CONTAINERS:
                stack.append((child, template if kind in _CLASSES else None if kind != "declaration" else template))


_CLASSES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "field_declaration_list"})
_CONTAINERS = _CLASSES | {
    "translation_unit", "namespace_definition", "declaration_list", "linkage_specification", "declaration",
    "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "ERROR", "field_declaration",
    "type_definition",
}  # fmt: skip
