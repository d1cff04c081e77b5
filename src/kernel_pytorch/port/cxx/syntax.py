"""A small syntax tree of one file: functions, macro bodies, kernel launches. Positions are byte offsets of the file.

tree-sitter leaves macro bodies as text, and that is where many warp idioms live. They are parsed apart and their
nodes moved to where the body stands, so that everything after this module sees one kind of node.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.port.source import SourceFile

if TYPE_CHECKING:
    import tree_sitter

_WRAP_STATEMENTS = b"void kpt_(){"
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b((?:[^\n\\]|\\\r?\n|\\.)*)", re.MULTILINE)
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^()\n]*\))?((?:[^\n\\]|\\\r?\n|\\.)*)", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*[\s\S]*?\*/")
# Macros only an AMD compile has. USE_ROCM is left out: a project may define it or not, both branches then matter.
_ROCM_MACROS = re.compile(
    rb"\b(?:__HIP_PLATFORM_AMD__|__HIP_PLATFORM_HCC__|__HIPCC__|__HIP__|__HIP_DEVICE_COMPILE__)\b"
)
_USE_ROCM = re.compile(rb"\b(?:USE_ROCM|USE_HIP|GGML_USE_HIP|BUILD_HIP)\b")


@dataclass(eq=False, slots=True)
class Node:
    """One syntax node. `role` is the field it fills in its parent."""

    kind: str
    start: int
    end: int
    role: str
    parent: Node | None
    children: list[Node] = field(default_factory=list)

    def child(self, role: str) -> Node | None:
        """The first child with that role."""
        for one in self.children:
            if one.role == role:
                return one
        return None

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in the order of the text."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def ancestors(self) -> Iterator[Node]:
        """The parents, nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


@dataclass(eq=False)
class Parameter:
    """A function's parameter."""

    name: str
    type_text: str
    default: Node | None


@dataclass(eq=False)
class Function:
    """A function or macro body. `kind` is "kernel", "device", "host" or "macro"."""

    name: str
    kind: str
    start: int
    end: int
    parameters: tuple[Parameter, ...]
    template_parameters: tuple[Parameter, ...]
    return_type: str
    body: Node
    source: SourceFile

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node of the body, in the order of the text."""
        return list(self.body.walk())

    def text(self, node: Node) -> str:
        """The text of a node of this function."""
        return self.source.data[node.start : node.end].decode("latin-1")


@dataclass(frozen=True)
class Macro:
    """A #define: `parameters` is None for one without a parameter list."""

    name: str
    parameters: tuple[str, ...] | None
    body: bytes
    body_start: int


@dataclass(frozen=True)
class Launch:
    """kernel<<<grid, block, ...>>>(...): the node of the block size and the function it stands in."""

    kernel: str
    block: Node
    function: Function


@dataclass(frozen=True)
class FileSyntax:
    """What the analysis needs of one file."""

    source: SourceFile
    functions: tuple[Function, ...]
    globals: tuple[tuple[str, str, Node], ...]  # name, declared type, initialiser
    macros: tuple[Macro, ...]
    rocm_only: tuple[tuple[int, int], ...]
    rocm_never: tuple[tuple[int, int], ...]

    def text(self, node: Node) -> str:
        """The text of a node of this file."""
        return self.source.data[node.start : node.end].decode("latin-1")


Interest = Callable[[bytes, int, int], bool]


@lru_cache(maxsize=32)
def file_syntax(source: SourceFile, interest: Interest, *, parse: bool = True) -> FileSyntax:
    """Reads one file. Functions that do not match `interest` are left out; without `parse` all are."""
    from kernel_pytorch.port.cxx.declarations import function_from, global_constants

    functions: list[Function] = []
    values: list[tuple[str, str, Node]] = []
    macros = read_macros(source.data)
    if parse and source.is_parsable:
        for definition, template in _definitions(source.tree.root_node):
            if interest(source.data, definition.start_byte, definition.end_byte):
                found = function_from(definition, template, source)
                if found is not None:
                    functions.append(found)
        values.extend(global_constants(source))
        functions.extend(_macro_functions(source, macros, interest))
    only, never = rocm_branches(source.data)
    return FileSyntax(source, tuple(functions), tuple(values), macros, only, never)


def in_comment(syntax: FileSyntax, at: int) -> bool:
    """Whether an offset lies in a comment or a string."""
    tokens = syntax.source.tokens
    index = bisect_right(tokens, at, key=lambda token: token.start) - 1
    return index >= 0 and tokens[index].kind in ("comment", "string") and at < tokens[index].end


def read_macros(data: bytes) -> tuple[Macro, ...]:
    """All #defines with a body, whatever branch they stand in."""
    found = []
    for match in _DEFINE.finditer(data):
        body = _COMMENT.sub(lambda comment: b" " * len(comment.group()), match.group(3))
        if not body.strip():
            continue
        parameters = None
        if match.group(2) is not None:
            words = match.group(2)[1:-1].decode("latin-1").split(",")
            parameters = tuple(word.strip() for word in words if word.strip())
        found.append(Macro(match.group(1).decode("latin-1"), parameters, body, match.start(3)))
    return tuple(found)


def _macro_functions(source: SourceFile, macros: tuple[Macro, ...], interest: Interest) -> Iterator[Function]:
    for macro in macros:
        if not interest(macro.body, 0, len(macro.body)):
            continue
        body = parse_fragment(macro.body, macro.body_start)
        parameters = tuple(Parameter(name, "", None) for name in macro.parameters or ())
        end = macro.body_start + len(macro.body)
        yield Function(macro.name, "macro", macro.body_start, end, parameters, (), "", body, source)


def parse_fragment(text: bytes, offset: int) -> Node:
    """Statements or an expression as a tree whose positions start at `offset`."""
    from kernel_pytorch.port import source as source_module

    flat = re.sub(rb"\\\r?\n", lambda found: b" " * len(found.group()), text)
    tree = source_module.SourceFile("", _WRAP_STATEMENTS + flat + b";}", "cuda").tree
    bodies = [node for node in tree.root_node.children if node.type == "function_definition"]
    root = bodies[0] if bodies else tree.root_node
    return convert(root, offset - len(_WRAP_STATEMENTS))


def convert(start: tree_sitter.Node, shift: int = 0) -> Node:
    """Our own nodes for a tree-sitter node: named ones, plus operators, which tree-sitter keeps nameless."""
    cursor = start.walk()
    root = Node(start.type, start.start_byte + shift, start.end_byte + shift, "", None)
    parent = root
    if not cursor.goto_first_child():
        return root
    depth = 1
    while True:
        raw = cursor.node
        assert raw is not None
        role = cursor.field_name or ""
        if raw.type != "comment":
            node = Node(raw.type, raw.start_byte + shift, raw.end_byte + shift, role, parent)
            parent.children.append(node)
            if raw.child_count and cursor.goto_first_child():
                parent = node
                depth += 1
                continue
        while not cursor.goto_next_sibling():
            cursor.goto_parent()
            depth -= 1
            if depth == 0:
                return root
            assert parent.parent is not None
            parent = parent.parent


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


def rocm_branches(data: bytes) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Spans that only an AMD compile sees, and spans that it never sees."""
    only: list[tuple[int, int]] = []
    never: list[tuple[int, int]] = []
    stack: list[tuple[int, str]] = []
    for match in _DIRECTIVE.finditer(data):
        word, rest = match.group(1), match.group(2)
        if word in (b"if", b"ifdef", b"ifndef"):
            stack.append((match.end(), _branch_kind(word, rest)))
            continue
        if not stack:
            continue
        start, kind = stack.pop()
        (only if kind == "only" else never if kind == "never" else []).append((start, match.start()))
        if word != b"endif":
            opposite = {"only": "never", "never": "only", "maybe-never": "only"}.get(kind, "")
            if word == b"elif":
                opposite = _branch_kind(b"if", rest)
            stack.append((match.end(), opposite))
    return tuple(only), tuple(span for span in never)


def _branch_kind(word: bytes, rest: bytes) -> str:
    sure = _ROCM_MACROS.search(rest)
    named = sure or _USE_ROCM.search(rest)
    if named is None or (b"&&" in rest and b"!" in rest and word == b"if"):
        return ""
    negated = word == b"ifndef" or bool(re.search(rb"!\s*(?:defined\b)?\s*\(?\s*" + re.escape(named.group()), rest))
    if not negated:
        # nvcc or hipcc: both see it. nvcc and hipcc: torch's build renames __CUDACC__, and the author meant AMD.
        either = b"||" in rest and (b"__CUDACC__" in rest or b"__NVCC__" in rest)
        return "" if either else "only"
    return "never" if sure else "maybe-never"
