"""What one function declares, assigns and calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from kernel_pytorch.port.cxx.constants import Constant, ConstantTable, Lookup, evaluate, function_lookup
from kernel_pytorch.port.cxx.declarations import Function, declared_name
from kernel_pytorch.port.cxx.nodes import Node


@dataclass(eq=False)
class Call:
    """One call. `name` is the last word of the callee, `callee` its node."""

    name: str
    callee: Node
    node: Node
    arguments: tuple[Node, ...]


@dataclass(eq=False)
class Facts:
    """One function, read once."""

    function: Function
    calls: list[Call] = field(default_factory=list)
    assigned: dict[str, list[Node]] = field(default_factory=dict)
    compound: set[str] = field(default_factory=set)  # names changed by +=, ++, & and the like
    types: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, list[Node]] = field(default_factory=dict)
    fields: list[tuple[str, Node]] = field(default_factory=list)  # field name, assigned value
    returns: list[Node] = field(default_factory=list)
    lane_asm: set[str] = field(default_factory=set)  # variables that PTX fills with the lane id
    mask_asm: set[str] = field(default_factory=set)  # ... with a lane mask
    lookup: Lookup = lambda name, depth: None

    @cached_property
    def called(self) -> frozenset[str]:
        """The names of the functions it calls."""
        return frozenset(call.name for call in self.calls)

    def constant(self, node: Node | None) -> Constant | None:
        """The value of an expression of this function."""
        return None if node is None else evaluate(node, self.function.text, self.lookup)

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self.function.text(node)


def strip(node: Node) -> Node:
    """The expression inside parentheses, casts left in place."""
    while node.kind in ("parenthesized_expression", "condition_clause"):
        inner = node.children
        if len(inner) != 1:
            return node
        node = inner[0]
    return node


# Kept as long as the function is: a unit is looked at again for every file of it that changes. The values must not name
# the function itself, or it would be kept for good.
_READ: WeakKeyDictionary[Function, tuple[dict[str, Any], dict[str, Node]]] = WeakKeyDictionary()


def read_facts(function: Function, table: ConstantTable) -> Facts:
    """One function, with the constants of its unit."""
    kept = _READ.get(function)
    if kept is None:
        facts, settled = _read(function)
        contents = {name: value for name, value in vars(facts).items() if name not in ("function", "lookup")}
        kept = _READ[function] = contents, settled
    contents, settled = kept
    return Facts(function, **contents, lookup=function_lookup(function, table, settled))


def _read(function: Function) -> tuple[Facts, dict[str, Node]]:
    """What the function itself says, and the variables that have one value for good."""
    facts = Facts(function)
    for parameter in function.parameters:
        facts.types[parameter.name] = parameter.type_text
    for node in function.nodes:
        reader = _READERS.get(node.kind)
        if reader is not None:
            reader(facts, node)
    for name in facts.compound:
        facts.assigned.setdefault(name, [])
    settled = {
        name: values[0]
        for name, values in facts.assigned.items()
        if len(values) == 1
        and name not in facts.compound
        and values[0].parent is not None
        and values[0].parent.kind == "init_declarator"
    }
    return facts, settled


def _read_call(facts: Facts, node: Node) -> None:
    callee, arguments = node.child("function"), node.child("arguments")
    if callee is None or arguments is None:
        return
    last = callee
    while last.kind in (
        "qualified_identifier",
        "template_function",
        "field_expression",
        "template_method",
        "dependent_name",
    ):
        following = last.child("name") or last.child("field")
        if following is None:
            break
        last = following
    facts.calls.append(Call(facts.text(last), callee, node, tuple(arguments.children)))


def _read_declaration(facts: Facts, node: Node) -> None:
    kind = node.child("type")
    head = facts.function.source.characters[node.start : kind.end if kind is not None else node.start]
    for one in node.children:
        if one.role != "declarator":
            continue
        name = declared_name(one, facts.function.source)
        if not name:
            continue
        inner = one.child("declarator") if one.kind == "init_declarator" else one
        shape = "*" if inner is not None and inner.kind == "pointer_declarator" else ""
        facts.types.setdefault(name, head + shape)
        facts.declarations.setdefault(name, []).append(node)
        facts.assigned.setdefault(name, [])
        value = one.child("value") if one.kind == "init_declarator" else None
        if value is not None:
            facts.assigned[name].append(value)


def _read_assignment(facts: Facts, node: Node) -> None:
    left, right, sign = node.child("left"), node.child("right"), node.child("operator")
    if left is None or right is None:
        return
    left = strip(left)
    if left.kind == "identifier":
        facts.assigned.setdefault(facts.text(left), []).append(right)
        if sign is not None and sign.kind != "=":
            facts.compound.add(facts.text(left))
    elif left.kind == "field_expression":
        name = left.child("field")
        if name is not None:
            facts.fields.append((facts.text(name), right))
    elif left.kind == "subscript_expression":
        base = left.child("argument")
        if base is not None and base.kind == "identifier":
            facts.assigned.setdefault(facts.text(base), []).append(right)


def _read_change(facts: Facts, node: Node) -> None:
    argument = node.child("argument")
    if argument is not None and argument.kind == "identifier":
        facts.compound.add(facts.text(argument))


def _read_address(facts: Facts, node: Node) -> None:
    sign, argument = node.child("operator"), node.child("argument")
    if sign is not None and sign.kind == "&" and argument is not None and argument.kind == "identifier":
        facts.compound.add(facts.text(argument))


def _read_return(facts: Facts, node: Node) -> None:
    facts.returns.extend(node.children[1:2])


def _read_asm(facts: Facts, node: Node) -> None:
    code = node.child("assembly_code")
    outputs = node.child("output_operands")
    if code is None or outputs is None:
        return
    text = facts.text(code)
    kind = (
        facts.lane_asm if "laneid" in text else facts.mask_asm if "lanemask_" in text or "activemask" in text else None
    )
    if kind is None:
        return
    for operand in outputs.children:
        value = operand.child("value")
        if value is not None:
            kind.add(facts.text(value))


_READERS = {
    "call_expression": _read_call,
    "declaration": _read_declaration,
    "assignment_expression": _read_assignment,
    "update_expression": _read_change,
    "pointer_expression": _read_address,
    "return_statement": _read_return,
    "gnu_asm_expression": _read_asm,
}
