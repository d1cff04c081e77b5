"""cub's warp collectives and cooperative groups (KP302, 305, 319-321)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.cxx.syntax import FileSyntax, in_comment
from kernel_pytorch.port.wave.collectives import MASK_READERS
from kernel_pytorch.port.wave.facts import Call, Facts
from kernel_pytorch.port.wave.hazard import Hazard, replace
from kernel_pytorch.port.wave.model import WaveModel, is_device

# How many template arguments stand before the logical width.
_CUB_WARP = {"WarpReduce": 1, "WarpScan": 1, "WarpExchange": 2, "WarpMergeSort": 2}
_CUB_WARP_OTHER = frozenset({"WarpLoad", "WarpStore"})
_CUB = re.compile(rb"\b(?:cub::)(Warp(?:Reduce|Scan|Exchange|MergeSort|Load|Store))\s*<")
_BLOCK_BARRIERS = frozenset({"__syncthreads", "sync", "__syncthreads_count", "__syncthreads_or", "__syncthreads_and"})
_GROUP_FEATURES = frozenset({
    "reduce", "inclusive_scan", "exclusive_scan", "memcpy_async", "labeled_partition", "invoke_one",
    "invoke_one_broadcast", "wait_prior", "reduce_update_async", "reduce_store_async", "inclusive_scan_update",
    "exclusive_scan_update",
})  # fmt: skip
# Written out where the header is included or the function called (port/tables/hip_shims/).
_GROUP_SHIMS = {
    "reduce": "reduce", "inclusive_scan": "scan", "exclusive_scan": "scan", "labeled_partition": "",
    "memcpy_async": "memcpy_async", "wait_prior": "memcpy_async",
}  # fmt: skip
_WIDE = re.compile(r"\bauto\b|\blong\b|64")
_GROUP_HEADER = re.compile(rb"<\s*cooperative_groups/(reduce|scan|memcpy_async)\.h\s*>")


def library_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """Uses of cub and cooperative groups in one function."""
    if not is_device(facts.function):
        return
    yield from _lane_ids(model, facts)
    yield from _storage_reuse(facts)
    yield from _group_features(model, facts)
    yield from _group_ballots(facts)


def file_library_hazards(model: WaveModel, syntax: FileSyntax) -> Iterator[Hazard]:
    """cub's warp collectives without a width, wherever they are named: in a function, an alias, a class."""
    data = syntax.source.data
    follows = model.follows_hardware and any("wave" in one for one in model.evidence.values())
    for match in _CUB.finditer(data):
        if in_comment(syntax, match.start()):
            continue
        name = match.group(1).decode()
        close, commas = _template_end(data, match.end())
        if close < 0 or follows:
            continue
        message = f"cub::{name} without a width: hipCUB's default is the hardware wave, so two warps fold into one"
        if name in _CUB_WARP_OTHER:
            if commas < 3:
                yield Hazard("KP319", match.start(), close, message + "; give it 32 as its fourth template argument")
        elif commas + 1 == _CUB_WARP[name]:
            yield Hazard("KP319", match.start(), close, message, (replace(close, close, ", 32"),))
    for match in _GROUP_HEADER.finditer(data):
        if match.group(1) == b"memcpy_async":
            message = "cooperative_groups/memcpy_async.h is missing from ROCm: the group copies in a loop"
            edit = replace(match.start(), match.end(), "<hip/hip_cooperative_groups.h>")
            yield Hazard("KP321", match.start(), match.end(), message, (edit,))
            continue
        since = "7.13" if match.group(1) == b"reduce" else "7.14"
        message = f"cooperative_groups/{match.group(1).decode()}.h came to ROCm about {since}: written out until then"
        edit = replace(match.start(), match.end(), "<hip/hip_cooperative_groups.h>")
        yield Hazard("KP321", match.start(), match.end(), message, (edit,))


def _template_end(data: bytes, start: int) -> tuple[int, int]:
    """Where the template arguments that begin at `start` end, and how many commas they have at the top."""
    depth, commas = 1, 0
    for at in range(start, min(start + 400, len(data))):
        byte = data[at : at + 1]
        if byte in (b"<", b"("):
            depth += 1
        elif byte in (b">", b")"):
            depth -= 1
            if depth == 0:
                return at, commas
        elif byte == b"," and depth == 1:
            commas += 1
        elif byte in (b";", b"{"):
            break
    return -1, 0


def _lane_ids(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    for call in facts.calls:
        text = facts.text(call.callee)
        if text.endswith("cub::LaneId") and not model.follows_hardware:
            if call.node.parent is not None and "& 31" in facts.text(call.node.parent):
                continue
            message = "cub::LaneId counts to 63 on a 64-lane wave, where the program counts in 32s"
            yield Hazard(
                "KP305",
                call.node.start,
                call.node.end,
                message,
                (replace(call.node.start, call.node.start, "("), replace(call.node.end, call.node.end, " & 31)")),
            )
        elif text.endswith("cub::WarpId") and not model.follows_hardware:
            message = "cub::WarpId numbers 64-lane waves on CDNA: use the thread's number in the block divided by 32"
            yield Hazard("KP305", call.node.start, call.node.end, message)


def _storage_reuse(facts: Facts) -> Iterator[Hazard]:
    """One TempStorage given to two block collectives with no barrier in between."""
    storages = {name for name, kind in facts.types.items() if "TempStorage" in kind and "Warp" not in kind}
    if not storages:
        return
    barriers = [call.node.start for call in facts.calls if call.name in _BLOCK_BARRIERS]
    last: dict[str, Node] = {}
    for call in facts.calls:
        used = next((facts.text(one) for one in call.arguments if _storage_name(facts, one) in storages), None)
        if used is None or call.node.parent is None or call.node.parent.kind != "field_expression":
            continue
        before = last.get(used)
        is_separated = before is None or any(before.start < at < call.node.start for at in barriers)
        if before is not None and not is_separated and not _exclusive(before, call.node):
            message = f"{used} is used again without __syncthreads: a block of one 64-lane wave has no barrier inside"
            yield Hazard("KP320", call.node.start, call.node.end, message)
        last[used] = call.node


def _storage_name(facts: Facts, node: Node) -> str:
    return re.split(r"[.\[]", facts.text(node))[0]


def _exclusive(first: Node, second: Node) -> bool:
    """Whether the two stand in different branches of one if."""
    above = {id(one): one for one in first.ancestors()}
    child = second
    for one in second.ancestors():
        if id(one) in above:
            return one.kind in ("if_statement", "else_clause") and child.role in ("alternative", "consequence")
        child = one
    return False


def _is_group_call(facts: Facts, call: Call) -> bool:
    scope = call.callee.child("scope") if call.callee.kind == "qualified_identifier" else None
    return call.name in _GROUP_FEATURES and scope is not None and facts.text(scope) in ("cg", "cooperative_groups")


def _is_written_out(model: WaveModel, facts: Facts, call: Call) -> bool:
    """Whether a shim stands for the function: HIP's group shuffles are what it is made of."""
    header = _GROUP_SHIMS.get(call.name)
    if header is None:
        return False
    if header == "scan" and not _is_tile(facts, call):
        return False
    name = f"cooperative_groups/{header}.h".encode()
    return not header or any(name in file.source.data for file in model.files)


def _is_tile(facts: Facts, call: Call) -> bool:
    if not call.arguments:
        return False
    group = facts.text(call.arguments[0])
    made_by = (facts.text(one).replace(" ", "") for one in facts.assigned.get(group, []))
    return "thread_block_tile" in facts.types.get(group, "") or any("tiled_partition<" in text for text in made_by)


def _group_features(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    for call in facts.calls:
        if _is_group_call(facts, call) and not _is_written_out(model, facts, call):
            message = (
                f"cooperative groups' {call.name} is missing from ROCm before 7.13: write it with the tile's shuffles"
            )
            yield Hazard("KP321", call.node.start, call.node.end, message)


def _group_ballots(facts: Facts) -> Iterator[Hazard]:
    """__ffs(tile.ballot(p)): the ballot is 64-bit on HIP, and __ffs has no such overload. So is a variable's that holds
    one, and is `auto` or of 64 bits itself."""
    for call in facts.calls:
        if call.name not in MASK_READERS or len(call.arguments) != 1:
            continue
        inner = call.arguments[0]
        vote = next((one for node in inner.walk() if (one := _group_vote(facts, node)) is not None), None)
        if vote is None or inner.kind == "cast_expression" or (inner.kind == "call_expression" and vote is not inner):
            continue
        callee = vote.child("function")
        word, owner = (callee.child("field"), callee.child("argument")) if callee is not None else (None, None)
        if word is None:
            continue
        declared = facts.types.get(facts.text(owner), "") if owner is not None else ""
        values = facts.assigned.get(facts.text(owner), []) if owner is not None else []
        message = f"{call.name} of a group's 64-bit {facts.text(word)}: ambiguous on HIP"
        if "coalesced" in declared or any("coalesced_threads" in facts.text(one) for one in values):
            text = message + "; a coalesced group may have 64 lanes: use " + MASK_READERS[call.name]
            wider = replace(call.callee.start, call.callee.end, MASK_READERS[call.name])
            yield Hazard("KP302", call.node.start, call.node.end, text, (wider,))
            continue
        is_one = inner.kind in ("call_expression", "identifier", "parenthesized_expression")
        cast = replace(inner.start, inner.start, "(unsigned)" if is_one else "(unsigned)(")
        edits = (cast,) if is_one else (cast, replace(inner.end, inner.end, ")"))
        yield Hazard("KP302", call.node.start, call.node.end, message, edits)


def _group_vote(facts: Facts, node: Node) -> Node | None:
    """The call of a group's vote that a node is, or whose result a wide variable holds."""
    if node.kind == "call_expression":
        callee = node.child("function")
        word = callee.child("field") if callee is not None and callee.kind == "field_expression" else None
        return node if word is not None and facts.text(word) in ("ballot", "match_any", "match_all") else None
    if node.kind != "identifier" or not _WIDE.search(facts.types.get(facts.text(node), "")):
        return None
    values = facts.assigned.get(facts.text(node), [])
    return next((value for value in values if _group_vote(facts, value) is value), None)
