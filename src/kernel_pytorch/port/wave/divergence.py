"""Collectives that name all lanes where not all lanes are (KP314)."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.collectives import COLLECTIVES
from kernel_pytorch.port.wave.facts import Call, Facts, plain_children, strip
from kernel_pytorch.port.wave.hazard import Hazard
from kernel_pytorch.port.wave.model import WaveModel, is_device
from kernel_pytorch.port.wave.reaching import reaching_values

_FULL = 0xFFFFFFFF
_MAX_SHOWN = 48
_MAX_DEPTH = 12
_TESTS = frozenset({"&&", "||", "==", "!=", "<", ">", "<=", ">="})
_READS_OTHER_LANES = frozenset({"shuffle", "reduce"})


def divergence_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """One hazard for every condition that splits a warp above a collective of the full warp."""
    if facts.function.kind not in ("kernel", "device"):
        return
    told: set[int] = set()
    known: dict[int, list[Node]] = {}  # early exits by block: a long block has many collectives
    for call in facts.calls:
        family = _full_warp_family(model, facts, call)
        # A vote of the live lanes is well defined; only values of lanes that are not there are not.
        if family not in _READS_OTHER_LANES:
            continue
        for guard, how in _splits(model, facts, call.node, known):
            if id(guard) in told:
                continue
            told.add(id(guard))
            shown = " ".join(facts.text(guard).split())
            shown = shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 3] + "..."
            message = f"{call.name} names all 32 lanes {how} `{shown}`: lanes that are not there give undefined values"
            yield Hazard("KP314", call.node.start, call.node.end, message)


def _full_warp_family(model: WaveModel, facts: Facts, call: Call) -> str:
    """The family of a collective with a constant full mask, also of one inside a called function."""
    collective = COLLECTIVES.get(call.name)
    if collective is not None:
        if collective.mask is None or not call.arguments or collective.family == "syncwarp":
            return ""
        value = facts.constant(call.arguments[0])
        return collective.family if value is not None and value.value & _FULL == _FULL else ""
    return _callee_family(model, call.name, frozenset())


def _callee_family(model: WaveModel, name: str, seen: frozenset[str]) -> str:
    if name in seen or len(seen) > 8:
        return ""
    for callee in model.values.by_name.get(name, ()):
        if not is_device(callee.function) or callee.function.kind == "kernel":
            continue
        for call in callee.calls:
            if call.name in COLLECTIVES:
                found = _full_warp_family(model, callee, call)
            else:
                found = _callee_family(model, call.name, seen | {name})
            if found:
                return found
    return ""


def _splits(model: WaveModel, facts: Facts, node: Node, known: dict[int, list[Node]]) -> Iterator[tuple[Node, str]]:
    child = node
    for above in node.ancestors():
        if above.kind in ("if_statement", "while_statement", "for_statement", "conditional_expression"):
            condition = above.child("condition")
            inside = child.role not in ("initializer", "condition", "update")
            if condition is not None and inside and _splits_warp(model, facts, condition):
                yield _inner(condition), "under"
        if above.kind == "compound_statement":
            yield from _early_exits(model, facts, above, child, known)
        child = above


def _early_exits(
    model: WaveModel, facts: Facts, block: Node, until: Node, known: dict[int, list[Node]]
) -> Iterator[tuple[Node, str]]:
    if id(block) not in known:
        known[id(block)] = [one for one in block.children if _is_early_exit(model, facts, one)]
    for statement in known[id(block)]:
        condition = statement.child("condition")
        if statement.start < until.start and condition is not None:
            yield _inner(condition), "after leaving on"


def _is_early_exit(model: WaveModel, facts: Facts, statement: Node) -> bool:
    if statement.kind != "if_statement" or statement.child("alternative") is not None:
        return False
    body, condition = statement.child("consequence"), statement.child("condition")
    return body is not None and condition is not None and _leaves(body) and _splits_warp(model, facts, condition)


def _leaves(body: Node) -> bool:
    last = body
    if body.kind == "compound_statement":
        inner = plain_children(body)
        if not inner:
            return False
        last = inner[-1]
    return last.kind in ("return_statement", "continue_statement")


def _splits_warp(model: WaveModel, facts: Facts, condition: Node) -> bool:
    return _differs(model, facts, _inner(condition), 0)


def _differs(model: WaveModel, facts: Facts, node: Node, depth: int) -> bool:
    """Whether a condition may differ between the lanes of a warp, judged by the values that reach this place.

    A name that was a thread's number in one loop may count offsets in the next, and a flag may have been voted on.
    """
    if "thread" not in model.values.of(facts, node) or depth > _MAX_DEPTH or _is_rounded_bound(facts, node):
        return False
    if node.kind == "unary_expression" and len(node.children) == 2:
        return _differs(model, facts, _inner(node.children[1]), depth + 1)
    sign = node.child("operator")
    if node.kind == "binary_expression" and sign is not None and sign.kind in _TESTS:
        sides = (node.child("left"), node.child("right"))
        return any(one is not None and _differs(model, facts, _inner(one), depth + 1) for one in sides)
    if node.kind == "identifier":
        reaching = reaching_values(facts, facts.text(node), node)
        if reaching is not None:
            return any(_differs(model, facts, _inner(one), depth + 1) for one in reaching)
    return True


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


def _inner(condition: Node) -> Node:
    value = condition.child("value")
    if value is not None:
        return value
    inner = plain_children(condition) if condition.kind in ("parenthesized_expression", "condition_clause") else []
    return inner[0] if len(inner) == 1 else condition
