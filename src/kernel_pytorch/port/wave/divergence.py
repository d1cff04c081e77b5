"""Collectives that name all lanes where not all lanes are (KP314)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.collectives import COLLECTIVES
from kernel_pytorch.port.wave.facts import Call, Facts, strip
from kernel_pytorch.port.wave.hazard import Hazard
from kernel_pytorch.port.wave.lane_shape import Group
from kernel_pytorch.port.wave.model import WaveModel, is_device
from kernel_pytorch.port.wave.presence import FIRST, LAST, WHOLE, inner_condition, lanes_passing

_FULL = 0xFFFFFFFF
_MAX_SHOWN = 48
_READS_OTHER_LANES = frozenset({"shuffle", "reduce"})


@dataclass(frozen=True)
class _Reading:
    """What a collective reads: lanes of which group, and which of them are enough to be there."""

    group: Group
    enough: str


def divergence_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """One hazard for every condition that splits a warp above a collective of the full warp."""
    if facts.function.kind not in ("kernel", "device"):
        return
    reported: set[int] = set()
    exits: dict[tuple[int, _Reading], list[Node]] = {}  # early exits by block: a long block has many collectives
    for call in facts.calls:
        for reading in _readings(model, facts, call):
            for guard, how in _splits(model, facts, call.node, reading, exits):
                if id(guard) in reported:
                    continue
                reported.add(id(guard))
                shown = " ".join(facts.text(guard).split())
                shown = shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 3] + "..."
                message = (
                    f"{call.name} names all 32 lanes {how} `{shown}`: lanes that are not there give undefined values"
                )
                yield Hazard("KP314", call.node.start, call.node.end, message)


def _readings(model: WaveModel, facts: Facts, call: Call) -> frozenset[_Reading]:
    """What the collectives with a full mask read, of a call or inside the function it calls."""
    if call.name in COLLECTIVES:
        reading = _reading(model, facts, call)
        return frozenset() if reading is None else frozenset((reading,))
    if call.name not in model.readings:
        model.readings[call.name] = _inside(model, call.name)
    return model.readings[call.name]


_MOST_CALLS_DEEP = 8


def _inside(model: WaveModel, name: str) -> frozenset[_Reading]:
    """What the collectives of a function read, and those of the functions it calls."""
    found: set[_Reading] = set()
    seen = {name}
    level = [name]
    for _ in range(_MOST_CALLS_DEEP + 1):
        following: list[str] = []
        for callee in (callee for one in level for callee in model.values.by_name.get(one, ())):
            if not is_device(callee.function) or callee.function.kind == "kernel":
                continue
            if not callee.called.isdisjoint(COLLECTIVES):
                readings = (_reading(model, callee, call) for call in callee.calls if call.name in COLLECTIVES)
                found.update(reading for reading in readings if reading is not None)
            following.extend(callee.called - seen - COLLECTIVES.keys())
            seen |= callee.called
        level = following
    return frozenset(found)


def _reading(model: WaveModel, facts: Facts, call: Call) -> _Reading | None:
    """What a collective with a constant full mask reads; None for one that reads no lane that may be missing."""
    collective = COLLECTIVES[call.name]
    # A vote of the live lanes is well defined; only values of lanes that are not there are not.
    if collective.mask is None or not call.arguments or collective.family not in _READS_OTHER_LANES:
        return None
    mask = facts.constant(call.arguments[0])
    if mask is None or mask.value & _FULL != _FULL:
        return None
    group = _group(facts, call)
    if call.name == "__shfl_up_sync":
        return _Reading(group, FIRST)  # reads lanes below
    if call.name == "__shfl_down_sync":
        return _Reading(group, LAST)
    source = facts.constant(call.arguments[2]) if call.name == "__shfl_sync" and len(call.arguments) > 2 else None
    # The first lane is there whenever only last ones are missing.
    return _Reading(group, FIRST if source is not None and source.value == 0 else WHOLE)


def _group(facts: Facts, call: Call) -> Group:
    """The lanes among which values move: a whole warp, or as many as the width says."""
    place = COLLECTIVES[call.name].width
    width = call.arguments[place] if place is not None and len(call.arguments) > place else None
    if width is None:
        return Group(32)
    constant = facts.constant(width)
    if constant is None:
        return Group.named(facts.text(width))
    return Group(constant.value) if 0 < constant.value <= 32 else Group(32)


def _splits(
    model: WaveModel, facts: Facts, node: Node, reading: _Reading, exits: dict[tuple[int, _Reading], list[Node]]
) -> Iterator[tuple[Node, str]]:
    child = node
    for above in node.ancestors():
        if above.kind in ("if_statement", "while_statement", "for_statement", "conditional_expression"):
            condition = above.child("condition")
            inside = child.role not in ("initializer", "condition", "update")
            otherwise = child.role == "alternative"
            if condition is not None and inside and _is_split(model, facts, condition, reading, otherwise):
                yield inner_condition(condition), "under"
        if above.kind == "compound_statement":
            yield from _early_exits(model, facts, above, child, reading, exits)
        child = above


def _early_exits(
    model: WaveModel,
    facts: Facts,
    block: Node,
    until: Node,
    reading: _Reading,
    exits: dict[tuple[int, _Reading], list[Node]],
) -> Iterator[tuple[Node, str]]:
    key = (id(block), reading)
    if key not in exits:
        exits[key] = [one for one in block.children if _is_early_exit(model, facts, one, reading)]
    for statement in exits[key]:
        condition = statement.child("condition")
        if statement.start < until.start and condition is not None:
            yield inner_condition(condition), "after leaving on"


def _is_early_exit(model: WaveModel, facts: Facts, statement: Node, reading: _Reading) -> bool:
    if statement.kind != "if_statement" or statement.child("alternative") is not None:
        return False
    body, condition = statement.child("consequence"), statement.child("condition")
    if body is None or condition is None or not _leaves(body):
        return False
    return _is_split(model, facts, condition, reading, True)


def _leaves(body: Node) -> bool:
    last = body
    if body.kind == "compound_statement":
        inner = body.children
        if not inner:
            return False
        last = inner[-1]
    return last.kind in ("return_statement", "continue_statement")


def _is_split(model: WaveModel, facts: Facts, condition: Node, reading: _Reading, negated: bool) -> bool:
    """Whether lanes that a collective reads may be missing where a condition holds (or, negated, does not)."""
    test = inner_condition(condition)
    if _is_rounded_bound(facts, test):
        return False
    return lanes_passing(model.values, facts, test, reading.group, negated) not in (WHOLE, reading.enough)


def _is_rounded_bound(facts: Facts, condition: Node) -> bool:
    """i < n with n rounded up to whole blocks, `(n + b - 1) / b * b`: all threads go round alike."""
    right, sign = condition.child("right"), condition.child("operator")
    if condition.kind != "binary_expression" or right is None or sign is None or sign.kind not in ("<", "<="):
        return False
    bounds = facts.assigned.get(facts.text(right), [right])
    for bound in bounds:
        inner = strip(bound)
        quotient, factor = inner.child("left"), inner.child("right")
        times = inner.child("operator")
        if (
            inner.kind != "binary_expression"
            or times is None
            or times.kind != "*"
            or quotient is None
            or factor is None
        ):
            return False
        division = strip(quotient)
        divisor = division.child("right") if division.kind == "binary_expression" else None
        if divisor is None or facts.text(divisor) != facts.text(factor):
            return False
    return bool(bounds)
