"""Block reductions that may use whole waves (`--wave native`).

Widening changes which threads make up a warp, so it is offered only where nobody can tell: every 32 is a lane, a warp
number, a warp count, a reduction's first offset or an array of per-warp slots; lanes and warp numbers only pick leaders
and slots in shared memory; what comes out of a shuffle leaves the block through a leader; and every launch in sight has
blocks of whole 64-lane waves. Sums of floating-point numbers are then made in another order, as with any other tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.collectives import COLLECTIVES
from kernel_pytorch.port.wave.facts import Call, Facts, strip
from kernel_pytorch.port.wave.hazard import Hazard, replace
from kernel_pytorch.port.wave.model import WaveModel
from kernel_pytorch.port.wave.rows import block_extents, launches

_WIDTH_NUMBERS = frozenset({5, 16, 31, 32})
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_COMMUTATIVE = frozenset({"+=", "&=", "|=", "^=", "*="})
_PICKS = frozenset({"max", "min", "fmax", "fmin", "fmaxf", "fminf"})
_ATOMICS = re.compile(r"atomic(?:Add|Max|Min|Or|And|Xor)\w*")
_STORES = ("assignment_expression", "call_expression")
_FULL = 0xFFFFFFFF


@dataclass(eq=False)
class _Widening:
    """Edits of one function while it is being looked at."""

    model: WaveModel
    facts: Facts
    explained: set[int] = field(default_factory=set)
    edits: list[Edit] = field(default_factory=list)

    def merged(self) -> list[Hazard]:
        """One hazard for all edits: half of them would be worse than none."""
        if not self.edits:
            return []
        edits = tuple(sorted(self.edits, key=lambda edit: edit.span.start))
        message = f"{self.facts.function.name} reduces 32 lanes at a time: it may use whole waves"
        return [Hazard("KP310", edits[0].span.start, edits[0].span.end, message, edits)]

    def explain(self, node: Node) -> None:
        self.explained.update(id(one) for one in node.walk())


def native_hazards(model: WaveModel, group: list[Facts]) -> dict[int, list[Hazard]] | None:
    """The widened form of functions that call each other, by id of Facts; None where it is not proved right."""
    kernels = [one for one in group if one.function.kind == "kernel"]
    if not kernels or any(one.function.kind == "macro" for one in group):
        return None
    if not all(_whole_waves(model, one) for one in kernels):
        return None
    returning = {one.function.name for one in group if _shuffles(one)}
    found: dict[int, list[Hazard]] = {}
    for one in group:
        widening = _Widening(model, one)
        if not _widens(widening, returning):
            return None
        found[id(one)] = widening.merged()
    return found


def _whole_waves(model: WaveModel, kernel: Facts) -> bool:
    blocks = [block_extents(owner, block) for owner, name, block in launches(model) if name == kernel.function.name]
    return bool(blocks) and all(
        len(one) >= 1 and one[0] is not None and one[0] % 64 == 0 and all(extent == 1 for extent in one[1:])
        for one in blocks
    )


def _shuffles(facts: Facts) -> list[Call]:
    return [call for call in facts.calls if call.name in COLLECTIVES and COLLECTIVES[call.name].family == "shuffle"]


def _widens(widening: _Widening, returning: set[str]) -> bool:
    facts = widening.facts
    if any(
        call.name in COLLECTIVES and COLLECTIVES[call.name].family not in ("shuffle", "syncwarp")
        for call in facts.calls
    ):
        return False
    return (
        all(_shuffle(widening, call) for call in _shuffles(facts))
        and all(_index(widening, node) for node in facts.function.of_kind("binary_expression"))
        and _no_other_widths(widening)
        and all(_leaves_through_leader(widening, node, returning) for node in facts.function.of_kind(*_STORES))
    )


def _shuffle(widening: _Widening, call: Call) -> bool:
    """A step of a reduction loop from 16 down, combined in a way that does not care about order."""
    facts = widening.facts
    collective = COLLECTIVES[call.name]
    rest = call.arguments[1:] if collective.mask is not None else call.arguments
    if len(rest) != 2 or collective.plain not in ("__shfl_down", "__shfl_xor"):
        return False
    loop = next((one for one in call.node.ancestors() if one.kind == "for_statement"), None)
    if loop is None or not _combines(facts, call):
        return False
    start, condition, update = loop.child("initializer"), loop.child("condition"), loop.child("update")
    value = next((one.child("value") for one in start.walk() if one.kind == "init_declarator"), None) if start else None
    constant = facts.constant(value)
    name = facts.text(rest[1])
    if value is None or constant is None or condition is None or update is None or start is None:
        return False
    counts = re.fullmatch(rf"{name}\s*(?:>\s*0|>=\s*1|!=\s*0)?", facts.text(condition)) is not None
    halves = (
        re.fullmatch(rf"{name}\s*(?:>>=\s*1|/=\s*2)|{name}\s*=\s*{name}\s*(?:>>\s*1|/\s*2)", facts.text(update))
        is not None
    )
    if constant.value != 16 or not counts or not halves or not re.search(rf"\b{name}\b", facts.text(start)):
        return False
    if not constant.from_wave and id(value) not in widening.explained:
        widening.edits.append(replace(value.start, value.end, "warpSize / 2"))
    widening.explain(value)
    if collective.mask is not None:
        mask = facts.constant(call.arguments[0])
        if mask is None or mask.value & _FULL != _FULL:
            return False
        widening.explain(call.arguments[0])
        widening.edits += [
            replace(call.callee.start, call.callee.start + len(call.name), collective.plain),
            replace(call.arguments[0].start, call.arguments[1].start, ""),
        ]
    return True


def _combines(facts: Facts, call: Call) -> bool:
    """v += shuffle(v, o), or v = max(v, shuffle(v, o))."""
    above = call.node.parent
    if above is not None and above.kind == "argument_list" and above.parent is not None:
        callee = above.parent.child("function")
        if callee is None or facts.text(callee).split("::")[-1] not in _PICKS:
            return False
        above = above.parent.parent
        sign = above.child("operator") if above is not None else None
        return above is not None and above.kind == "assignment_expression" and sign is not None and sign.kind == "="
    sign = above.child("operator") if above is not None else None
    return (
        above is not None and above.kind == "assignment_expression" and sign is not None and sign.kind in _COMMUTATIVE
    )


def _index(widening: _Widening, node: Node) -> bool:
    """Lane, warp number, warp count or first-warp test; anything else is none of ours."""
    facts, model = widening.facts, widening.model
    left, sign, right = node.child("left"), node.child("operator"), node.child("right")
    if left is None or sign is None or right is None:
        return False
    constant = facts.constant(right)
    tags = model.values.of(facts, left)
    if constant is None or not tags & {"thread", "blockdim"}:
        return True
    text = {("&", 31): "% warpSize", ("%", 32): "% warpSize", ("/", 32): "/ warpSize", (">>", 5): "/ warpSize"}.get(
        (sign.kind, constant.value)
    )
    if text is not None:
        if not _only_picks(widening, node):
            return False
        widening.explain(right)
        if not constant.from_wave:
            widening.edits.append(replace(sign.start, right.end, text))
        return True
    if sign.kind == "<" and constant.value == 32 and "lane" not in tags:
        widening.explain(right)
        if not constant.from_wave:
            widening.edits.append(replace(right.start, right.end, "warpSize"))
    return True


def _only_picks(widening: _Widening, node: Node) -> bool:
    """Whether a lane or warp number only chooses a leader or a shared slot, also through a variable."""
    facts = widening.facts
    above = node.parent
    while above is not None and above.kind == "parenthesized_expression":
        node, above = above, above.parent
    if above is None:
        return False
    if above.kind == "init_declarator":
        target = above.child("declarator")
        name = facts.text(target) if target is not None else ""
        if name in facts.compound or len(facts.assigned.get(name, [])) != 1:
            return False
        return all(_only_picks(widening, use) for use in facts.function.uses(name) if use is not target)
    sign = above.child("operator")
    if above.kind == "binary_expression" and sign is not None and sign.kind in _COMPARISONS:
        return True
    if above.kind == "subscript_argument_list" and above.parent is not None:
        base = above.parent.child("argument")
        return base is not None and "__shared__" in facts.types.get(facts.text(base), "")
    return False


def _no_other_widths(widening: _Widening) -> bool:
    """Whether every number that could be a width has been explained."""
    facts = widening.facts
    for node in facts.function.of_kind("number_literal", "identifier"):
        if id(node) in widening.explained:
            continue
        if node.kind == "identifier" and facts.text(node) == "warpSize":
            continue
        constant = facts.constant(node)
        if constant is None or constant.value not in _WIDTH_NUMBERS:
            continue
        above = node.parent
        is_bound = above is not None and above.kind == "array_declarator" and constant.value == 32
        if not is_bound:
            return False
    return True


def _leaves_through_leader(widening: _Widening, node: Node, returning: set[str]) -> bool:
    """A store or an atomic outside shared memory either holds nothing that was shuffled or is a leader's."""
    facts = widening.facts
    if node.kind == "assignment_expression":
        target = strip(node.child("left") or node)
        base = target.child("argument") if target.kind == "subscript_expression" else None
        if target.kind == "identifier" or (base is not None and "__shared__" in facts.types.get(facts.text(base), "")):
            return True
        return not _tainted(facts, node.child("right"), returning) or _under_leader(widening, node)
    if node.kind == "call_expression":
        callee, arguments = node.child("function"), node.child("arguments")
        name = facts.text(callee) if callee is not None else ""
        if not name.startswith("atomic"):
            return True
        if arguments is not None and not _tainted(facts, arguments, returning):
            return True
        return _ATOMICS.fullmatch(name) is not None and _under_leader(widening, node)
    return True


def _tainted(facts: Facts, node: Node | None, returning: set[str], depth: int = 0) -> bool:
    if node is None or depth > 6:
        return depth > 6
    for one in node.walk():
        if one.kind == "call_expression":
            callee = one.child("function")
            name = facts.text(callee).split("<")[0] if callee is not None else ""
            if name in COLLECTIVES or name in returning:
                return True
        elif one.kind == "identifier":
            name = facts.text(one)
            if "__shared__" in facts.types.get(name, ""):
                return True
            if any(
                _tainted(facts, value, returning, depth + 1)
                for value in facts.assigned.get(name, [])
                if value is not node
            ):
                return True
    return False


def _under_leader(widening: _Widening, node: Node) -> bool:
    facts, model = widening.facts, widening.model
    child = node
    for above in node.ancestors():
        if above.kind == "if_statement" and child.role == "consequence":
            condition = above.child("condition")
            for one in condition.walk() if condition is not None else ():
                sign, right = one.child("operator"), facts.constant(one.child("right"))
                leader = one.kind == "binary_expression" and sign is not None and sign.kind == "=="
                if (
                    leader
                    and right is not None
                    and right.value == 0
                    and "thread" in model.values.of(facts, one.child("left"))
                ):
                    return True
        child = above
    return False
