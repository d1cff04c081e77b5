"""Shuffles, votes, matches, reductions: the mask goes, the width of 32 comes (KP301-303, 310, 313, 316-318)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave import templates
from kernel_pytorch.port.wave.collectives import COLLECTIVES, MASK_READERS, Collective
from kernel_pytorch.port.wave.facts import Call, Facts, strip
from kernel_pytorch.port.wave.hazard import Hazard, replace
from kernel_pytorch.port.wave.model import WaveModel
from kernel_pytorch.port.wave.wide_masks import wide_vote

_FULL = 0xFFFFFFFF
_SIMPLE = frozenset({"identifier", "number_literal", "parenthesized_expression"})
_TYPE_NAME = re.compile(r"(?:std::)?(?:u?int\d*(?:_t)?|unsigned|long|size_t|u?long)")
_PURE_CALLS = frozenset(COLLECTIVES) | frozenset(MASK_READERS)


def collective_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """Every warp intrinsic of one function that needs another form on ROCm."""
    dropped_until = 0  # calls come in the order of the text, those in a mask right after their owner
    for call in facts.calls:
        collective = COLLECTIVES.get(call.name)
        if collective is None or call.callee.kind not in ("identifier", "template_function"):
            continue
        if call.node.start < dropped_until:
            continue
        if call.name in model.own_collectives and facts.function.name != call.name:
            continue  # the program's own macro of that name: its body is what is rewritten
        if collective.mask is not None and call.arguments and not _has_side_effect(facts, call.arguments[0]):
            dropped_until = call.arguments[0].end
        if collective.family == "shuffle":
            yield from _shuffle(model, facts, call, collective)
        elif collective.family == "syncwarp":
            yield from _syncwarp(facts, call)
        elif not _is_our_form(facts, call):
            yield from _vote(model, facts, call, collective)


def _is_our_form(facts: Facts, call: Call) -> bool:
    """Whether the vote already has its half cut out, as we write it."""
    for above in call.node.ancestors():
        if above.kind == "binary_expression":
            right = above.child("right")
            if right is not None and "__lane_id()" in facts.text(right):
                return True
        elif above.kind == "conditional_expression":
            return "__lane_id()" in facts.text(above)
        elif above.kind not in ("parenthesized_expression", "argument_list", "call_expression", "unary_expression"):
            return False
    return False


def _mask_kind(facts: Facts, mask: Node | None) -> str:
    """ "full", "partial" (a constant), "vote" (a collective itself) or "computed"."""
    if mask is None:
        return "full"
    inner = strip(mask)
    if facts.text(inner).replace(" ", "") == "__activemask()":
        return "full"  # a vote without a mask is one of exactly the active lanes
    value = facts.constant(mask)
    if value is None:
        votes = any(one.kind == "call_expression" for one in mask.walk())
        return "vote" if votes and any(name in facts.text(mask) for name in COLLECTIVES) else "computed"
    return "full" if value.value & _FULL == _FULL else "partial"


def _has_side_effect(facts: Facts, node: Node) -> bool:
    for one in node.walk():
        if one.kind in ("assignment_expression", "update_expression", "lambda_expression"):
            return True
        if one.kind == "call_expression":
            callee = one.child("function")
            name = facts.text(callee) if callee is not None else ""
            if name not in _PURE_CALLS and "cast" not in name and not _TYPE_NAME.fullmatch(name):
                return True
    return False


def _shuffle(model: WaveModel, facts: Facts, call: Call, collective: Collective) -> Iterator[Hazard]:
    arguments = call.arguments
    least = 2 if collective.mask is None else 3
    if len(arguments) < least:
        return
    assert collective.width is not None
    if collective.mask is not None:
        mask, following = arguments[0], arguments[1]
        edits: tuple[Edit, ...] = ()
        what = f"{call.name} has a 32-bit mask"
        if _has_side_effect(facts, mask):
            what += ", and making that mask does something else too: keep that and drop the argument"
        elif _needs_sync_form(facts, following):
            live = f"__ballot(1) & (0xffffffffull << {templates.HALF})"
            edits = (replace(mask.start, mask.end, live),)
        else:
            edits = (
                replace(call.callee.start, call.callee.start + len(call.name), collective.plain),
                replace(mask.start, following.start, ""),
            )
        yield Hazard(
            "KP301",
            call.node.start,
            call.node.end,
            f"{what}: HIP's mask is 64-bit and names the live lanes of the wave",
            edits,
        )
    if len(arguments) == least and not _keeps_wave_width(model, facts, call):
        end = arguments[-1].end
        where = "in a loop over lane offsets " if _in_offset_loop(call.node) else ""
        message = f"{call.name} {where}has no width: on a 64-lane wave it reaches across the 32-lane line"
        yield Hazard("KP310", call.node.start, call.node.end, message, (replace(end, end, templates.WIDTH),))


def _needs_sync_form(facts: Facts, value: Node) -> bool:
    """HIP has no plain shuffle of a pair of bfloat16."""
    return value.kind == "identifier" and "bfloat162" in facts.types.get(facts.text(value), "")


def _keeps_wave_width(model: WaveModel, facts: Facts, call: Call) -> bool:
    """Whether the shuffle belongs to code that follows the hardware's width."""
    return model.follows_hardware and not model.is_thirty_two(facts)


def _in_offset_loop(node: Node) -> bool:
    return any(above.kind in ("for_statement", "while_statement", "do_statement") for above in node.ancestors())


def _syncwarp(facts: Facts, call: Call) -> Iterator[Hazard]:
    if not call.arguments:
        return
    mask = call.arguments[0]
    if _has_side_effect(facts, mask):
        edits: tuple[Edit, ...] = ()
    else:
        edits = (replace(mask.start, mask.end, ""),)
    message = (
        "__syncwarp has a 32-bit mask: HIP's is 64-bit, and a barrier of the whole wave holds every 32-lane warp in it"
    )
    yield Hazard("KP316", call.node.start, call.node.end, message, edits)


def _vote(model: WaveModel, facts: Facts, call: Call, collective: Collective) -> Iterator[Hazard]:
    arguments = call.arguments
    mask = arguments[0] if collective.mask is not None and arguments else None
    rest = arguments[1:] if collective.mask is not None else arguments
    code, message = _vote_code(model, facts, call, collective)
    start, end = call.node.start, call.node.end
    if mask is not None and (_has_side_effect(facts, mask) or _mask_kind(facts, mask) == "vote"):
        yield Hazard(code, start, end, message + "; put its mask into a variable first")
        return
    if model.follows_hardware and not model.is_thirty_two(facts):
        yield from _hardware_vote(facts, call, collective, code)
        return
    pieces = _pieces(collective, mask, rest, _mask_kind(facts, mask), facts)
    if pieces is None:
        return
    yield Hazard(code, start, end, message, _around(call, mask, rest, pieces))


def _hardware_vote(facts: Facts, call: Call, collective: Collective, code: str) -> Iterator[Hazard]:
    """In code that follows the wave's width a vote may stay whole, if nobody keeps its result in 32 bits."""
    start, end = call.node.start, call.node.end
    arguments = call.arguments
    masked = collective.mask is not None and len(arguments) > 1
    full = collective.family == "activemask" or (masked and _mask_kind(facts, arguments[0]) == "full")
    if full and collective.family in ("any", "all"):
        edits = (
            replace(call.callee.start, call.callee.end, collective.plain),
            replace(arguments[0].start, arguments[1].start, ""),
        )
        yield Hazard(code, start, end, f"{call.name} has a 32-bit mask: HIP's is 64-bit", edits)
        return
    if collective.mask is None and collective.family in ("any", "all"):
        return
    wide = wide_vote(facts, call, collective) if full and collective.family in ("ballot", "activemask") else None
    if wide is not None:
        yield wide
        return
    message = f"{call.name} in code that follows warpSize has 64-bit masks: widen its variables, or keep 32 lanes"
    yield Hazard(code, start, end, message)


def _vote_code(model: WaveModel, facts: Facts, call: Call, collective: Collective) -> tuple[str, str]:
    family = collective.family
    if family == "reduce":
        return "KP318", f"{call.name} reduces a whole 64-lane wave on HIP"
    if family.startswith("match"):
        return "KP317", f"{call.name} takes and returns 64-bit masks on HIP"
    if family in ("any", "all"):
        if _is_loop_condition(call.node):
            return "KP313", f"{call.name} decides a loop: on a 64-lane wave two warps leave it at different times"
        return "KP301", f"{call.name} asks a whole 64-lane wave, and its mask is 32-bit"
    reader = _reader_of(model, facts, call)
    if reader:
        return "KP302", f"{reader} of {call.name}: on a 64-lane wave it looks at the lower half of the vote"
    return "KP303", f"{call.name} is kept in 32 bits: lanes 32-63 of the wave are dropped"


def _is_loop_condition(node: Node) -> bool:
    child = node
    for above in node.ancestors():
        if above.kind in ("while_statement", "do_statement", "for_statement"):
            return child.role == "condition"
        if above.kind == "if_statement" and child.role == "condition":
            body = above.child("consequence")
            return (
                body is not None
                and any(one.kind == "break_statement" for one in body.walk())
                and _in_offset_loop(above)
            )
        if above.kind in ("expression_statement", "declaration", "compound_statement"):
            return False
        child = above
    return False


def _reader_of(model: WaveModel, facts: Facts, call: Call) -> str:
    """The __popc or __ffs that reads this vote directly, if one does."""
    for above in call.node.ancestors():
        if above.kind == "call_expression":
            callee = above.child("function")
            name = facts.text(callee) if callee is not None else ""
            return name if name in MASK_READERS else ""
        if above.kind.endswith("_statement") or above.kind in (
            "declaration",
            "init_declarator",
            "assignment_expression",
        ):
            return ""
    return ""


def _pieces(
    collective: Collective, mask: Node | None, rest: tuple[Node, ...], kind: str, facts: Facts
) -> tuple[str, ...] | None:
    """The template cut at its arguments: text before, between and after them."""
    family = collective.family
    full = kind == "full"
    wanted = {"activemask": 0, "match-all": 2}.get(family, 1)
    if len(rest) != wanted:
        return None
    if family == "reduce":
        operation = collective.name.split("_")[3]
        if mask is not None and not full:
            return tuple(templates.reduce_of_text(operation, facts.text(mask), "\0").split("\0"))
        return tuple(templates.reduce_text(operation, "\0").split("\0"))
    text = {
        "ballot": templates.BALLOT if full else templates.BALLOT_OF,
        "any": templates.ANY if full else templates.ANY_OF,
        "all": templates.ALL if full else templates.ALL_OF,
        "activemask": templates.ACTIVE,
        "match-any": templates.MATCH_ANY if full else templates.MATCH_ANY_OF,
        "match-all": templates.MATCH_ALL if full else templates.MATCH_ALL_OF,
    }[family]
    if mask is not None and not full:
        mask_text = facts.text(mask)
        text = text.replace(
            "{mask}", mask_text if strip(mask) is not mask or mask.kind in _SIMPLE else f"({mask_text})"
        )
    return tuple(text.replace("{predicate}", "\0").replace("{value}", "\0").split("\0"))


def _around(call: Call, mask: Node | None, rest: tuple[Node, ...], pieces: tuple[str, ...]) -> tuple[Edit, ...]:
    """Edits that leave the argument's own text alone, so that a vote inside it can be rewritten as well."""
    start, end = call.node.start, call.node.end
    if not rest:
        return (replace(start, end, pieces[0]),)
    edits = [replace(start, rest[0].start, pieces[0])]
    for index, piece in enumerate(pieces[1:-1]):
        edits.append(replace(rest[index].end, rest[index + 1].start, piece))
    edits.append(replace(rest[-1].end, end, pieces[-1]))
    return tuple(edits)
