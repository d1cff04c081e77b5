"""Which assignments reach a use of a variable, by the shape of the statements around them."""

from __future__ import annotations

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.facts import Facts

_LOOPS = frozenset({"while_statement", "do_statement", "for_statement"})
_CONDITIONAL = _LOOPS | {"if_statement", "conditional_expression", "case_statement", "lambda_expression"}


def reaching_values(facts: Facts, name: str, use: Node) -> list[Node] | None:
    """The values a variable may have at a use; None where what reaches it is not seen, as for a parameter."""
    given = sorted(facts.assigned.get(name, []), key=lambda one: one.start)
    loops = [above for above in use.ancestors() if above.kind in _LOOPS]
    found: list[Node] = []
    killer: Node | None = None
    for value in reversed([one for one in given if one.end <= use.start]):
        found.append(value)
        if _replaces(value) and _dominates(value, use):
            killer = value
            break
    for loop in loops:
        if killer is not None and loop.start <= killer.start < loop.end:
            break
        # What the last round left: the assignments behind the use, up to one that is always made.
        for value in reversed([one for one in given if use.start < one.start < loop.end]):
            found.append(value)
            if _replaces(value) and _always_in(value, loop):
                break
    return found if killer is not None else None


def _replaces(value: Node) -> bool:
    """Whether the old value is gone afterwards."""
    above = value.parent
    if above is None or above.kind == "init_declarator":
        return True
    left, sign = above.child("left"), above.child("operator")
    plain = left is not None and left.kind == "identifier"
    return above.kind == "assignment_expression" and plain and sign is not None and sign.kind == "="


def _dominates(value: Node, use: Node) -> bool:
    """Whether the assignment is made whenever the use is reached: its block holds the use, no condition between."""
    above_use = {id(one) for one in use.ancestors()}
    for above in value.ancestors():
        if above.kind == "compound_statement" or (above.kind == "for_statement" and id(above) in above_use):
            return id(above) in above_use
        if above.kind in _CONDITIONAL:
            return False
    return False


def _always_in(value: Node, loop: Node) -> bool:
    """Whether every round of the loop makes the assignment."""
    body = loop.child("body")
    for above in value.ancestors():
        if above is body or above is loop:
            return True
        if above.kind in _CONDITIONAL:
            return False
    return False
