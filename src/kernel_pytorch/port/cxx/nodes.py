"""Syntax nodes of our own, made of tree-sitter's, with positions that can be moved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel_pytorch.port.cxx.source import CxxFile, grammar_names

if TYPE_CHECKING:
    import tree_sitter

# A third of all nodes, and nobody asks for one: what stands between brackets and commas is in the tree.
_LEFT_OUT = frozenset({"comment", "(", ")", "[", "]", "{", "}", ",", ";"})
_WRAP_STATEMENTS = b"void kpt_(){"


@dataclass(eq=False, slots=True)
class Node:
    """One syntax node. `role` is the field it fills in its parent."""

    kind: str
    start: int
    end: int
    role: str
    parent: Node | None
    children: Sequence[Node] = ()

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
            if node.children:
                stack.extend(node.children[::-1])

    def ancestors(self) -> Iterator[Node]:
        """The parents, nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def parse_fragment(text: bytes, offset: int) -> Node:
    """Statements or an expression as a tree whose positions start at `offset`."""
    flat = re.sub(rb"\\\r?\n", lambda found: b" " * len(found.group()), text)
    tree = CxxFile("", _WRAP_STATEMENTS + flat + b";}", "cuda").tree
    bodies = [node for node in tree.root_node.children if node.type == "function_definition"]
    root = bodies[0] if bodies else tree.root_node
    return convert(root, offset - len(_WRAP_STATEMENTS))


def convert(start: tree_sitter.Node, shift: int = 0) -> Node:
    """Our own nodes for a tree-sitter node: named ones, plus operators and keywords, which have no name there."""
    # A node's kind and role as numbers: tree-sitter makes a new string each time it is asked for a name.
    kinds, roles = grammar_names()
    cursor = start.walk()
    new = Node.__new__
    root = Node(start.type, start.start_byte + shift, start.end_byte + shift, "", None)
    if not cursor.goto_first_child():
        return root
    parent = root
    siblings: list[Node] = []
    root.children = siblings
    above: list[list[Node]] = []  # the children of each parent that is still open, outermost first
    while True:
        raw = cursor.node
        assert raw is not None
        kind = kinds[raw.kind_id]
        if kind not in _LEFT_OUT:
            # Without a call of __init__, which would take as long as all the rest.
            node = new(Node)
            node.kind = kind
            node.start = raw.start_byte + shift
            node.end = raw.end_byte + shift
            node.role = roles[cursor.field_id]
            node.parent = parent
            node.children = ()
            siblings.append(node)
            if cursor.goto_first_child():
                above.append(siblings)
                parent = node
                siblings = []
                node.children = siblings
                continue
        while not cursor.goto_next_sibling():
            if not above:
                return root
            cursor.goto_parent()
            assert parent.parent is not None
            parent = parent.parent
            siblings = above.pop()
