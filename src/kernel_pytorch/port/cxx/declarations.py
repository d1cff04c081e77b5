"""Functions, parameters and global constants out of tree-sitter's declarators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kernel_pytorch.port.cxx.nodes import Node, convert
from kernel_pytorch.port.cxx.source import CxxFile, read_once

if TYPE_CHECKING:
    import tree_sitter

_NAMES = frozenset({
    "identifier", "field_identifier", "operator_name", "destructor_name", "type_identifier", "qualified_identifier",
    "template_function", "namespace_identifier",
})  # fmt: skip


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
    source: CxxFile

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node of the body, in the order of the text."""
        return list(self.body.walk())

    @cached_property
    def _by_kind(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            found.setdefault(node.kind, []).append(node)
        return found

    def of_kind(self, *kinds: str) -> list[Node]:
        """The nodes of some kinds, in the order of the text."""
        if len(kinds) == 1:
            return self._by_kind.get(kinds[0], [])
        found = [node for kind in kinds for node in self._by_kind.get(kind, ())]
        # A node stands before those inside it, which may begin where it does.
        return sorted(found, key=lambda node: (node.start, -node.end))

    @cached_property
    def _by_name(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self.of_kind("identifier"):
            found.setdefault(self.text(node), []).append(node)
        return found

    def uses(self, name: str) -> list[Node]:
        """The identifiers of that name, in the order of the text."""
        return self._by_name.get(name, [])

    def mentions(self, word: bytes) -> bool:
        """Whether a word stands anywhere in the text. Cheaper than any look at the nodes."""
        return self.source.data.find(word, self.start, self.end) >= 0

    def text(self, node: Node) -> str:
        """The text of a node of this function."""
        return self.source.characters[node.start : node.end]


def function_from(definition: tree_sitter.Node, template: tree_sitter.Node | None, source: CxxFile) -> Function | None:
    """A function definition; None for one without a body, such as `= default`."""
    body = definition.child_by_field_name("body")
    declarator = definition.child_by_field_name("declarator")
    if body is None or declarator is None:
        return None
    root = convert(definition)
    own_body = next((child for child in root.children if child.role == "body"), None)
    head = source.characters[definition.start_byte : body.start_byte]
    function = _inner(root.child("declarator"), "function_declarator")
    if own_body is None or function is None:
        return None
    kind = "kernel" if "__global__" in head else "device" if _is_for_device(head, source) else "host"
    listed = function.child("parameters")
    parameters = tuple(_parameters(listed, source)) if listed is not None else ()
    templates = tuple(_parameters(convert(template), source)) if template is not None else ()
    result = root.child("type")
    return Function(
        declared_name(function.child("declarator"), source),
        kind,
        definition.start_byte,
        definition.end_byte,
        parameters,
        templates,
        _text(result, source) if result is not None else "",
        own_body,
        source,
    )


# A project's own word for __device__ is often in another header: `DEVICE_QUALIFIER`, `HOST_DEVICE`.
_DEVICE_WORD = re.compile(r"\b[A-Z\d_]*DEVICE[A-Z\d_]*\b")
_DEVICE_MACRO = re.compile(rb"#[ \t]*define[ \t]+(\w+)[ \t]+[^\n(]*\b__device__\b")


@read_once
def _device_macros(source: CxxFile) -> frozenset[str]:
    """The words of a file that stand for __device__."""
    return frozenset(name.decode("latin-1") for name in _DEVICE_MACRO.findall(source.data))


def _is_for_device(head: str, source: CxxFile) -> bool:
    if "__device__" in head:
        return True
    before = head.partition("(")[0]
    return _DEVICE_WORD.search(before) is not None or not _device_macros(source).isdisjoint(_WORD.findall(before))


_WORD = re.compile(r"\w+")


def _inner(node: Node | None, kind: str) -> Node | None:
    while node is not None and node.kind != kind:
        node = node.child("declarator") or next((one for one in node.children if "declarator" in one.kind), None)
    return node


def declared_name(node: Node | None, source: CxxFile) -> str:
    """The last word of a declarator: `*p[4]` declares p, `A::f<int>` declares f."""
    while node is not None:
        if node.kind in _NAMES:
            text = source.characters[node.start : node.end]
            return text.split("<")[0].split("::")[-1].strip()
        node = node.child("declarator") or next(
            (one for one in node.children if "declarator" in one.kind or one.kind in _NAMES), None
        )
    return ""


def _parameters(listed: Node, source: CxxFile) -> Iterator[Parameter]:
    for one in listed.children:
        if one.kind not in ("parameter_declaration", "optional_parameter_declaration"):
            continue
        declarator = one.child("declarator")
        name = declared_name(declarator, source)
        if name and declarator is not None:
            text = source.characters[one.start : declarator.end]
            yield Parameter(name, text, one.child("default_value"))


def global_constants(source: CxxFile) -> Iterator[tuple[str, str, Node]]:
    """Constants outside functions with an initialiser, enumerators included."""
    stack = [source.tree.root_node]
    while stack:
        node = stack.pop()
        for child in node.children:
            if child.type == "enumerator":
                own = convert(child)
                value = own.child("value")
                name = own.child("name")
                if value is not None and name is not None:
                    yield _text(name, source), "int", value
            elif child.type in ("declaration", "field_declaration"):
                if b"const" in source.data[child.start_byte : child.end_byte]:
                    yield from _constants_of(convert(child), source)
                if any(one.type in _OPEN for one in child.children):
                    stack.append(child)
            elif child.type in _OPEN:
                stack.append(child)


_OPEN = frozenset({
    "namespace_definition", "declaration_list", "linkage_specification", "preproc_if", "preproc_ifdef", "preproc_else",
    "preproc_elif", "enum_specifier", "enumerator_list", "struct_specifier", "class_specifier", "template_declaration",
    "field_declaration_list",
})  # fmt: skip


def _constants_of(declaration: Node, source: CxxFile) -> Iterator[tuple[str, str, Node]]:
    kind = declaration.child("type")
    head = source.characters[declaration.start : declaration.end]
    if "const" not in head:
        return
    type_text = _text(kind, source) if kind is not None else ""
    if declaration.kind == "field_declaration":
        name, value = declaration.child("declarator"), declaration.child("default_value")
        if name is not None and value is not None:
            yield declared_name(name, source), type_text, value
        return
    for one in declaration.children:
        if one.kind == "init_declarator":
            value = one.child("value")
            if value is not None:
                yield declared_name(one.child("declarator"), source), type_text, value


def _text(node: Node, source: CxxFile) -> str:
    return source.characters[node.start : node.end]
