"""How an integer expression differs between the lanes of a group: a multiple of a step, an offset, and a part by lane.

`threadIdx.x` is a multiple of 32 that the warp shares, plus 0 to 31; divided by 32 it is the same in all lanes; of
`blockIdx.x * blockDim.x + threadIdx.x` the shared part is a multiple of 32 again, because a kernel that names all lanes
of its warps is launched with whole warps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.facts import Facts, strip
from kernel_pytorch.port.wave.reaching import reaching_values
from kernel_pytorch.port.wave.values import ValueModel

_MAX_DEPTH = 12
_SYMBOL = 1 << 20  # stands for a group's width that is known by name only; no constant of a program is a multiple


@dataclass(frozen=True)
class LaneShape:
    """A value in the lanes of a group: k * `step` + `offset` + a part of 0 ... `spread` - 1 that depends on the lane.

    k is the same in all lanes; a step of 0 means there is no such term. `rises`: the part by lane never falls as the
    lane's number rises.
    """

    step: int
    offset: int
    spread: int = 1
    rises: bool = True

    @property
    def is_uniform(self) -> bool:
        return self.spread == 1


UNIFORM = LaneShape(1, 0)


@dataclass(frozen=True)
class Group:
    """The lanes that must agree: `size` of them, or as many as the expression `name` says."""

    size: int
    name: str = ""

    @classmethod
    def named(cls, name: str) -> Group:
        """A group whose width is a name without a known value, such as a template's parameter."""
        return cls(_SYMBOL, name)


def shape_of(model: ValueModel, facts: Facts, node: Node | None, group: Group, depth: int = 0) -> LaneShape | None:
    """The shape of an expression in the lanes of a group; None where it may be anything in every lane."""
    if node is None or depth > _MAX_DEPTH:
        return None
    node = strip(node)
    found = _known(model, facts, node, group, depth)
    if found is None and "thread" not in model.of(facts, node):
        return UNIFORM
    return found


def _known(model: ValueModel, facts: Facts, node: Node, group: Group, depth: int) -> LaneShape | None:
    if group.name and facts.text(node) == group.name:
        return LaneShape(0, _SYMBOL)
    constant = facts.constant(node)
    if constant is not None:
        return LaneShape(0, constant.value)
    if node.kind == "identifier":
        return _name(model, facts, node, group, depth)
    if node.kind == "field_expression":
        return _field(facts, node, group)
    if node.kind == "cast_expression":
        return shape_of(model, facts, node.child("value"), group, depth + 1)
    if node.kind == "binary_expression":
        return _binary(model, facts, node, group, depth)
    if node.kind == "conditional_expression":
        arms = [shape_of(model, facts, node.child(role), group, depth + 1) for role in ("consequence", "alternative")]
        choice = node.child("condition")
        return _joined(arms) if choice is not None and "thread" not in model.of(facts, choice) else None
    if node.kind == "call_expression":
        return _call(model, facts, node, group, depth)
    return None


def _field(facts: Facts, node: Node, group: Group) -> LaneShape | None:
    text = facts.text(node)
    if text == "threadIdx.x":
        return LaneShape(group.size, 0, group.size)
    if text == "blockDim.x":
        return LaneShape(group.size, 0)
    return UNIFORM if text.startswith(("blockIdx.", "gridDim.", "blockDim.")) else None


def _name(model: ValueModel, facts: Facts, node: Node, group: Group, depth: int) -> LaneShape | None:
    name = facts.text(node)
    tags = model.variable(facts, name)
    values = reaching_values(facts, name, node)
    if values is None and "lane" in tags and group.size == 32:
        return LaneShape(0, 0, 32)
    if name in facts.types and not facts.assigned.get(name):
        return _parameter(model, facts, name, group, depth)
    if values is None:
        # Not seen to be set on every way; without a thread's number in it the caller takes it for uniform.
        values = facts.assigned.get(name, [])
        if "thread" in tags or not values:
            return None
    plain = [value for value in values if not _is_change(value)]
    found = _joined([shape_of(model, facts, value, group, depth + 1) for value in plain])
    if found is None or name not in facts.compound:
        return found
    return _changed(model, facts, name, found, group, depth)


def _is_change(value: Node) -> bool:
    sign = value.parent.child("operator") if value.parent is not None else None
    return (
        sign is not None
        and value.parent is not None
        and value.parent.kind == "assignment_expression"
        and sign.kind != "="
    )


def _changed(
    model: ValueModel, facts: Facts, name: str, start: LaneShape, group: Group, depth: int
) -> LaneShape | None:
    """A variable that a loop counts on: `i += 32` keeps multiples of 32, `i++` keeps nothing, both keep uniformity."""
    step = gcd(start.step, 0)
    for value in facts.assigned.get(name, []):
        above = value.parent
        if not _is_change(value) or above is None:
            continue
        sign = above.child("operator")
        amount = shape_of(model, facts, value, group, depth + 1)
        if amount is None or not amount.is_uniform or sign is None:
            return None
        if sign.kind in ("+=", "-="):
            step = gcd(step, amount.step, amount.offset)
        elif not start.is_uniform:
            return None
        else:
            step = 1
    if _is_stepped(facts, name):
        step = 1
    return replace(start, step=step)


def _is_stepped(facts: Facts, name: str) -> bool:
    """`i++` somewhere in the function, or its address taken."""
    for node in facts.function.of_kind("update_expression", "pointer_expression"):
        argument = node.child("argument")
        if argument is not None and facts.text(argument) == name:
            return True
    return False


def _parameter(model: ValueModel, facts: Facts, name: str, group: Group, depth: int) -> LaneShape | None:
    """What the callers and launches of the function give, where they are seen."""
    names = [one.name for one in facts.function.parameters]
    if name not in names or depth > _MAX_DEPTH // 2:
        return None
    place = names.index(name)
    given = []
    for caller in model.facts:
        for call in caller.calls:
            if call.name == facts.function.name and caller is not facts and len(call.arguments) > place:
                given.append(shape_of(model, caller, call.arguments[place], group, depth + 3))
    return _joined(given) if given else None


def _joined(shapes: list[LaneShape | None]) -> LaneShape | None:
    """One shape for a value that may have any of several."""
    known = [one for one in shapes if one is not None]
    if not known or len(known) < len(shapes):
        return None
    first, *others = known
    for other in others:
        step = gcd(first.step, other.step, abs(first.offset - other.offset))
        if not first.is_uniform and not other.is_uniform and first.spread != other.spread:
            return None
        spread, rises = max(first.spread, other.spread), first.rises and other.rises
        first = LaneShape(step, first.offset % step if step else first.offset, spread, rises)
    return first


def _binary(model: ValueModel, facts: Facts, node: Node, group: Group, depth: int) -> LaneShape | None:
    sign = node.child("operator")
    left = shape_of(model, facts, node.child("left"), group, depth + 1)
    right = shape_of(model, facts, node.child("right"), group, depth + 1)
    if left is None or right is None or sign is None:
        return None
    amount = right.offset if right.is_uniform and right.step == 0 else None
    if sign.kind == "+":
        return _sum(left, right)
    if sign.kind == "-":
        return _sum(left, LaneShape(right.step, -right.offset)) if right.is_uniform else None
    if sign.kind == "*" or (sign.kind == "<<" and amount is not None):
        factor = LaneShape(0, 1 << amount) if sign.kind == "<<" and amount is not None and amount < 64 else right
        return _product(left, factor) if right.is_uniform else _product(right, left) if left.is_uniform else None
    if sign.kind in ("/", ">>") and amount is not None and amount >= 0:
        return _quotient(left, amount if sign.kind == "/" else 1 << min(amount, 63))
    if sign.kind in ("%", "&") and amount is not None and amount > 0:
        whole = amount if sign.kind == "%" else amount + 1
        is_power = whole & (whole - 1) == 0
        return _remainder(left, whole) if sign.kind == "%" or is_power else None
    return None


def _sum(left: LaneShape, right: LaneShape) -> LaneShape:
    spread = left.spread + right.spread - 1
    return LaneShape(gcd(left.step, right.step), left.offset + right.offset, spread, left.rises and right.rises)


def _product(value: LaneShape, factor: LaneShape) -> LaneShape | None:
    if factor.step == 0:
        by = factor.offset
        if by <= 0:
            return LaneShape(0, 0) if by == 0 else None if not value.is_uniform else UNIFORM
        return LaneShape(value.step * by, value.offset * by, (value.spread - 1) * by + 1, value.rises)
    if not value.is_uniform:
        return None
    # Of (a k + b)(c m + d) every term has one of these factors.
    return LaneShape(
        gcd(value.step * factor.step, value.step * factor.offset, value.offset * factor.step),
        value.offset * factor.offset,
    )


def _quotient(value: LaneShape, by: int) -> LaneShape | None:
    if by <= 0:
        return None
    if value.step % by == 0 and value.offset >= 0:
        start, last = value.offset // by, (value.offset + value.spread - 1) // by
        return LaneShape(value.step // by, start, last - start + 1, value.rises)
    return UNIFORM if value.is_uniform else None


def _remainder(value: LaneShape, by: int) -> LaneShape | None:
    start = value.offset % by
    if value.step % by == 0 and start + value.spread <= by:
        return LaneShape(0, start, value.spread, value.rises)
    return UNIFORM if value.is_uniform else None


def _call(model: ValueModel, facts: Facts, node: Node, group: Group, depth: int) -> LaneShape | None:
    tags = model.of(facts, node)
    if "lane" in tags and group.size == 32:
        return LaneShape(0, 0, 32)
    callee, arguments = node.child("function"), node.child("arguments")
    name = facts.text(callee).split("::")[-1].split("<")[0] if callee is not None else ""
    if name in ("min", "max", "__min", "__max") and arguments is not None:
        shapes = [shape_of(model, facts, one, group, depth + 1) for one in arguments.children]
        known = [one for one in shapes if one is not None]
        if len(known) == len(shapes) == 2:
            spread = max(one.spread for one in known)
            return LaneShape(1, 0, spread, all(one.rises for one in known))
    return None
