"""Every use of a kernel in a unit: launches, launches through a variable, and `cudaLaunchKernel`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kernel_pytorch.port.cxx.constants import ConstantTable
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.syntax import file_syntax
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.wave.facts import Facts, read_facts, strip

# What asks or sets something of a kernel and does not launch it.
_ATTRIBUTES = re.compile(r"(?:cuda|hip)(?:Func\w+|Occupancy\w+)")
_LAUNCHERS = re.compile(r"(?:cuda|hip)Launch(?:Cooperative)?Kernel")
_ATTRIBUTES_BEFORE = re.compile(
    rb"(?:cuda|hip)(?:Func\w+|Occupancy\w+)\s*\([\s\\]*(?:[&\w\s,]*,)?\s*(?:\([^()]*\)\s*)?&?\s*\Z"
)
_SHORT = 600  # bytes of a device function that may do no more than return a number


@dataclass(frozen=True)
class Use:
    """A launch: the function it stands in, the template arguments of the kernel, the size of a block."""

    facts: Facts
    arguments: tuple[str, ...]
    block: Node


def uses_of(name: bytes, unit: Unit) -> list[Use | None]:
    """All uses of a kernel but its declarations; None for one that is no launch we can read."""
    found: list[Use | None] = []
    callers = facts_with(name, unit)
    for file in unit.files:
        for index in words(file).get(name, ()):
            if is_definition(file, index) or _ATTRIBUTES_BEFORE.search(_before(file, index)):
                continue
            start = file.code[index].start
            around = [
                one for one in callers
                if one.function.source.path == file.path and one.function.start <= start < one.function.end
            ]  # fmt: skip
            uses = list(_uses_at(around[-1], start)) if around else []
            found.extend(uses or [None])
    return found


@lru_cache(maxsize=8)
def facts_with(name: bytes, unit: Unit) -> list[Facts]:
    """The functions and macros of the host in the files that have a word."""
    table = ConstantTable()
    return [
        read_facts(function, table)
        for file in unit.files
        if file.holds(name)
        for function in file_syntax(file, _is_of_host).functions
    ]


def _is_of_host(data: bytes, start: int, end: int) -> bool:
    head = data[start : min(end, start + 300)].split(b"{")[0]
    device = b"__global__" in head or b"__device__" in head
    return not device or (end - start < _SHORT and b"return" in data[start:end])


def is_definition(src: CxxFile, index: int) -> bool:
    """Whether a name is defined or declared there, and not used."""
    at = index - 1
    while at >= 0 and text_at(src, at) not in (b";", b"{", b"}", b"(", b"=", b",") and src.code[at].kind != "directive":
        if text_at(src, at) == b"__global__":
            return True
        at -= 1
    close = closing(src, index + 1) if text_at(src, index + 1) == b"(" else None
    return close is not None and text_at(src, close + 1) == b"{"


def _before(src: CxxFile, index: int) -> bytes:
    return src.data[max(0, src.code[index].start - 160) : src.code[index].start].rpartition(b";")[2]


def _uses_at(facts: Facts, start: int) -> Iterator[Use]:
    """The launches that a kernel's name at an offset leads to; none where it goes somewhere else."""
    node = next((one for one in facts.function.of_kind("identifier") if one.start == start), None)
    if node is None:
        return
    while node.parent is not None and node.parent.kind in ("template_function", "qualified_identifier"):
        node = node.parent
    arguments = tuple(facts.text(one) for one in template_arguments(node))
    block = _block_of(facts, node)
    if block is not None:
        yield Use(facts, arguments, block)
        return
    alias = _alias(facts, node)
    for block in _launches_of(facts, alias) if alias else ():
        yield Use(facts, arguments, block)


def template_arguments(node: Node) -> list[Node]:
    """The arguments in `name<...>`."""
    while node.kind == "qualified_identifier":
        inner = node.child("name")
        if inner is None:
            return []
        node = inner
    listed = node.child("arguments") if node.kind == "template_function" else None
    return [] if listed is None else [_plain(one) for one in listed.children if one.kind not in ("<", ">")]


def _plain(node: Node) -> Node:
    """A name that tree-sitter takes for a type."""
    return node.children[0] if node.kind == "type_descriptor" and len(node.children) == 1 else node


def _block_of(facts: Facts, callee: Node) -> Node | None:
    """The block's size, if a callee is launched there."""
    call = callee.parent
    if call is not None and call.kind == "call_expression" and callee.role == "function":
        sizes = next((one.children for one in call.children if one.kind == "kernel_call_syntax"), ())
        given = [one for one in sizes if one.kind not in ("<<<", ">>>")]
        return given[1] if len(given) > 1 else None
    call = _call_around(callee)
    name = call.child("function") if call is not None else None
    listed = call.child("arguments") if call is not None else None
    if name is None or listed is None or not _LAUNCHERS.fullmatch(facts.text(name)) or len(listed.children) < 3:
        return None
    return listed.children[2] if listed.children[0].start <= callee.start < listed.children[0].end else None


def _call_around(node: Node) -> Node | None:
    """The call whose argument a node is, through casts and addresses."""
    for one in node.ancestors():
        if one.kind == "argument_list":
            return one.parent
        if one.kind not in ("cast_expression", "pointer_expression", "parenthesized_expression", "call_expression"):
            return None
    return None


def _alias(facts: Facts, value: Node) -> str:
    """The variable that is declared with a kernel's address: `auto kernel = &name<...>;`."""
    node = value
    while node.parent is not None and node.parent.kind in ("pointer_expression", "parenthesized_expression"):
        node = node.parent
    owner = node.parent
    if owner is None or owner.kind != "init_declarator":
        return ""
    names = [name for name, values in facts.assigned.items() if any(one is node for one in values)]
    return names[0] if len(names) == 1 and len(facts.assigned[names[0]]) == 1 else ""


def _launches_of(facts: Facts, alias: str) -> list[Node]:
    """The block sizes of a variable's launches; none where it is used for something that we do not know."""
    blocks = []
    for use in facts.function.uses(alias):
        if any(one.kind == "init_declarator" and use.role == "declarator" for one in use.ancestors()):
            continue
        block = _block_of(facts, strip(use))
        if block is not None:
            blocks.append(block)
            continue
        call = _call_around(use)
        name = call.child("function") if call is not None else None
        if name is None or not _ATTRIBUTES.fullmatch(facts.text(name).split("<")[0]):
            return []
    return blocks
