"""Which lanes of a group pass a condition: all or none of them, the first ones, the last ones, or any."""

from __future__ import annotations

from math import gcd

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.facts import Facts
from kernel_pytorch.port.wave.lane_shape import Group, LaneShape, shape_of
from kernel_pytorch.port.wave.reaching import reaching_values
from kernel_pytorch.port.wave.values import ValueModel

_MAX_DEPTH = 12
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

# Of a group: "whole" passes or stays out together; "first" and "last" are the lanes below or above some lane.
WHOLE, FIRST, LAST, ANY = "whole", "first", "last", "any"


def lanes_passing(
    model: ValueModel, facts: Facts, node: Node, group: Group, negated: bool = False, depth: int = 0
) -> str:
    """The lanes for which a condition holds (or, `negated`, for which it does not)."""
    node = inner_condition(node)
    if "thread" not in model.of(facts, node):
        return WHOLE
    if depth > _MAX_DEPTH:
        return ANY
    sign = node.child("operator")
    if node.kind == "unary_expression" and len(node.children) == 2 and node.children[0].kind == "!":
        return lanes_passing(model, facts, node.children[1], group, not negated, depth + 1)
    if node.kind == "binary_expression" and sign is not None:
        left, right = node.child("left"), node.child("right")
        if left is None or right is None:
            return ANY
        if sign.kind in ("&&", "||"):
            parts = [lanes_passing(model, facts, one, group, negated, depth + 1) for one in (left, right)]
            return _both(parts)
        return _compared(model, facts, (left, sign.kind, right), group, negated)
    if node.kind == "identifier":
        values = reaching_values(facts, facts.text(node), node)
        if values:
            return _both([lanes_passing(model, facts, one, group, negated, depth + 1) for one in values])
    shape = shape_of(model, facts, node, group)
    return WHOLE if shape is not None and shape.is_uniform else ANY


def inner_condition(condition: Node) -> Node:
    """The expression of a condition, its parentheses gone."""
    value = condition.child("value")
    if value is not None:
        return value
    inner = condition.children if condition.kind in ("parenthesized_expression", "condition_clause") else []
    return inner_condition(inner[0]) if len(inner) == 1 else condition


def _both(parts: list[str]) -> str:
    """Common lanes, or all lanes of either: of first ones both are first ones again."""
    kinds = set(parts) - {WHOLE}
    if not kinds:
        return WHOLE
    return kinds.pop() if len(kinds) == 1 else ANY


def _compared(model: ValueModel, facts: Facts, test: tuple[Node, str, Node], group: Group, negated: bool) -> str:
    left, sign, right = test
    a, b = shape_of(model, facts, left, group), shape_of(model, facts, right, group)
    if a is None or b is None:
        return ANY
    if a.is_uniform and b.is_uniform:
        return WHOLE
    if sign not in _MIRRORED:
        return ANY
    if a.is_uniform:
        a, b, sign = b, a, _MIRRORED[sign]
    if not b.is_uniform:
        return ANY
    if negated:
        sign = _OPPOSITE[sign]
    if _is_shared(a, b, sign):
        return WHOLE
    if not a.rises:
        return ANY
    return FIRST if sign in ("<", "<=") else LAST


def _is_shared(value: LaneShape, bound: LaneShape, sign: str) -> bool:
    """Whether all lanes are on the same side of a bound: no multiple of the step lies among their parts."""
    step = gcd(value.step, bound.step)
    # x <= b is x < b + 1, and x > b is its opposite.
    offset = value.offset - bound.offset - (1 if sign in ("<=", ">") else 0)
    if step == 0:
        return offset >= 0 or offset + value.spread <= 0
    return offset % step + value.spread <= step
