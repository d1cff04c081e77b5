"""64-bit lane masks in code that follows the hardware's width: vote, variable, readers, shifts (KP301-304).

Done only where every use of the mask is seen: counted, searched, tested against zero, or given to a `_sync` function.
"""

from __future__ import annotations

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.collectives import COLLECTIVES, MASK_READERS, Collective
from kernel_pytorch.port.wave.facts import Call, Facts, strip
from kernel_pytorch.port.wave.hazard import Hazard, replace

_NARROW = frozenset({"unsigned", "unsigned int", "uint32_t", "std::uint32_t", "uint", "int", "auto"})
# A count of leading zeros, or a reversed word, means something else in 64 bits.
_COUNTING = frozenset({"__popc", "__ffs", "__builtin_popcount", "__builtin_ffs"})
_BITWISE = frozenset({"&", "|", "^"})


def wide_vote(facts: Facts, call: Call, collective: Collective) -> Hazard | None:
    """The widened form of one vote and of all that reads it, as one hazard; None where a use is not understood."""
    found = _plain_vote(call, collective)
    message = f"{call.name} has 64 bits in code that follows warpSize, and 32 where it is kept or read"
    if _reader(facts, call.node, found):
        return Hazard("KP302", call.node.start, call.node.end, message, tuple(found))
    declarator = call.node.parent
    if declarator is None or declarator.kind != "init_declarator" or declarator.parent is None:
        return None
    target, kind = declarator.child("declarator"), declarator.parent.child("type")
    if target is None or kind is None or facts.text(kind) not in _NARROW:
        return None
    name = facts.text(target)
    alone = sum(one.role == "declarator" for one in declarator.parent.children) == 1
    if not alone or len(facts.assigned.get(name, [])) != 1 or name in facts.compound:
        return None
    if facts.text(kind) != "auto":
        found.append(replace(kind.start, kind.end, "unsigned long long"))
    for use in facts.function.uses(name):
        if use is not target and not _understood(facts, use, found):
            return None
    return Hazard("KP303", call.node.start, call.node.end, message, tuple(found)) if found else None


def _plain_vote(call: Call, collective: Collective) -> list[Edit]:
    if collective.mask is None:
        return []
    return [
        replace(call.callee.start, call.callee.end, collective.plain),
        replace(call.arguments[0].start, call.arguments[1].start, ""),
    ]


def _understood(facts: Facts, use: Node, found: list[Edit]) -> bool:
    return _reader(facts, use, found) or _tested(facts, use) or _is_mask_argument(facts, use)


def _reader(facts: Facts, node: Node, found: list[Edit]) -> bool:
    """Whether a count or search reads the value, bit operations in between; widens it and the shifts beside it."""
    child, above = node, node.parent
    while above is not None:
        sign = above.child("operator")
        bitwise = above.kind == "binary_expression" and sign is not None and sign.kind in _BITWISE
        inverted = above.kind == "unary_expression" and sign is not None and sign.kind == "~"
        if not bitwise and not inverted and above.kind != "parenthesized_expression":
            break
        child, above = above, above.parent
    if above is None or above.kind != "argument_list" or above.parent is None:
        return False
    callee = above.parent.child("function")
    name = facts.text(callee) if callee is not None else ""
    if callee is None or name not in _COUNTING:
        return False
    found.append(replace(callee.start, callee.end, MASK_READERS[name]))
    names = {facts.text(one) for one in child.walk() if one.kind == "identifier"}
    if sum(_holds_vote(facts, name) for name in names) > 1:
        return False  # two masks that meet would have to be widened together
    for one in child.walk():
        left, sign = one.child("left"), one.child("operator")
        if one.kind == "binary_expression" and sign is not None and sign.kind == "<<" and left is not None:
            value = facts.constant(left)
            if value is None or value.value != 1:
                return False
            found.append(replace(left.start, left.end, "1ull"))
    return True


def _holds_vote(facts: Facts, name: str) -> bool:
    return any(word in facts.text(one) for one in facts.assigned.get(name, []) for word in ("__ballot", "__activemask"))


def _tested(facts: Facts, use: Node) -> bool:
    above = use.parent
    while above is not None and above.kind == "parenthesized_expression":
        above = above.parent
    if above is None:
        return False
    if above.kind == "binary_expression":
        sign, right = above.child("operator"), above.child("right")
        value = facts.constant(right)
        return sign is not None and sign.kind in ("==", "!=") and value is not None and value.value == 0
    sign = above.child("operator")
    return above.kind == "condition_clause" or (
        above.kind == "unary_expression" and sign is not None and sign.kind == "!"
    )


def _is_mask_argument(facts: Facts, use: Node) -> bool:
    listed = use.parent
    call = listed.parent if listed is not None and listed.kind == "argument_list" else None
    callee = call.child("function") if call is not None else None
    collective = COLLECTIVES.get(facts.text(callee)) if callee is not None else None
    if collective is None or collective.family != "shuffle" or collective.mask is None or listed is None:
        return False
    first = next((one for one in listed.children if one.kind not in ("(", ")", ",")), None)
    return first is not None and strip(first) is use
