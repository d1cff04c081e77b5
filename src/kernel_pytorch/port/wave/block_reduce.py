"""Block reductions in two functions, widened to whole waves whatever the launch (`--wave native`).

The commonest shape in real code: one function reduces a warp, another calls it, keeps a partial result per warp in
shared memory and calls it again. The widened pair counts in `kpt_wave()`: the wave where the block is one row of whole
waves, 32 everywhere else, so that no launch has to be known. Why the result is the same:

- Each thread's value goes into exactly one partial result, in one operation that is associative and commutative.
- The second step reads as many slots as there are waves, at most half as many as there were warps: the array is large
  enough. What fills up the other lanes is the operation's identity; for a maximum or minimum it may be any value, and
  blocks of 1024 threads, where CUDA's own form has no lane to fill, keep 32 lanes.
- A result that all threads get is the same in all of them. One that only the first warp gets is used by thread 0 alone:
  every use of it is looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.wave.collectives import COLLECTIVES
from kernel_pytorch.port.wave.facts import Facts
from kernel_pytorch.port.wave.hazard import Hazard, replace
from kernel_pytorch.port.wave.model import WaveModel
from kernel_pytorch.port.wave.result_uses import is_block_result_right

_NAME = r"[A-Za-z_]\w*"
_INT = r"(?:const )?(?:unsigned int|unsigned|int|auto|uint32_t|size_t)"
_SHUFFLE = (
    rf"(?P<shuffle>(?P<call>__shfl_(?:down|xor)(?:_sync)?) \( (?:(?P<mask>[^,;()]+?) , )??(?P<moved>{_NAME}) , "
    rf"(?P<by>{_NAME})(?: , (?P<width>[^,;()]+?))? \))"
)
_LOOP = (
    rf"\{{ for \( {_INT} (?P<offset>{_NAME}) = (?P<first>[^;]+?) ; (?P=offset)(?: > 0| >= 1| != 0)? ; "
    r"(?P=offset) (?:>>= 1|/= 2) \) (?P<brace>\{ )?"
)
_ENDS = rf" ; (?(brace)\}} )return (?P<result>{_NAME}) ; \}}"
_WARP_SUM = re.compile(rf"{_LOOP}(?P<value>{_NAME}) \+= {_SHUFFLE}{_ENDS}")
_WARP_CALL = re.compile(rf"{_LOOP}(?P<value>{_NAME}) = (?P<by_function>{_NAME}) \( (?P=value) , {_SHUFFLE} \){_ENDS}")
_PICKS = frozenset({"max", "min", "fmax", "fmin", "fmaxf", "fminf"})
_FULL = 0xFFFFFFFF

_DECLARATIONS = (
    re.compile(rf"(?:static )?__shared__ (?:{_NAME} )+?(?P<slots>{_NAME}) \[ (?P<size>[^\]]+?) \] ; "),
    re.compile(rf"{_INT} (?P<lane>{_NAME}) = threadIdx \. x (?P<lane_by>&|%) (?P<lane_of>[^;]+?) ; "),
    re.compile(rf"{_INT} (?P<warp>{_NAME}) = threadIdx \. x (?P<warp_by>>>|/) (?P<warp_of>[^;]+?) ; "),
    re.compile(rf"{_INT} (?P<warps>{_NAME}) = blockDim \. x (?P<warps_by>>>|/) (?P<warps_of>[^;]+?) ; "),
)


@dataclass(frozen=True)
class _Text:
    """A function's body as words with one space between, and the way back to bytes."""

    words: str
    starts: tuple[int, ...]  # of each word in `words`
    spans: tuple[tuple[int, int], ...]  # of each word in the file

    def span(self, match: re.Match[str], group: str) -> tuple[int, int]:
        first = bisect_left(self.starts, match.start(group))
        last = bisect_left(self.starts, match.end(group)) - 1
        return self.spans[first][0], self.spans[last][1]


@dataclass(frozen=True)
class _WarpReduction:
    """A function that reduces 32 lanes: `operation` is "+", "max" or "min"."""

    facts: Facts
    match: re.Match[str]
    text: _Text
    operation: str

    @property
    def name(self) -> str:
        return self.facts.function.name

    def edits(self, width: str) -> list[Edit]:
        """The widened form."""
        plain = COLLECTIVES[self.match["call"]].plain
        shuffle = f"{plain}({self.match['moved']}, {self.match['by']}, {width})"
        return [
            replace(*self.text.span(self.match, "first"), f"{width} / 2"),
            replace(*self.text.span(self.match, "shuffle"), shuffle),
        ]


@dataclass(frozen=True)
class _BlockReduction:
    """A function that calls a warp reduction twice. `widths` are the spans to change, with their new text."""

    facts: Facts
    warp: _WarpReduction
    widths: tuple[tuple[int, int, str], ...]
    for_all: bool  # every thread gets the result, not only the first warp
    below_1024: bool

    @property
    def name(self) -> str:
        return self.facts.function.name

    def edits(self, width: str) -> list[Edit]:
        """The widened form."""
        return [replace(start, end, text.replace("WIDTH", width)) for start, end, text in self.widths]


def block_reductions(model: WaveModel) -> dict[int, list[Hazard]]:
    """The widened form of each pair that is proved right, by id of Facts."""
    warps = {one.name: one for one in (_warp_reduction(model, facts) for facts in model.facts) if one is not None}
    blocks: dict[str, list[_BlockReduction]] = {}
    for facts in model.facts:
        found = _block_reduction(facts, warps)
        if found is not None:
            blocks.setdefault(found.warp.name, []).append(found)
    hazards: dict[int, list[Hazard]] = {}
    for name, pairs in blocks.items():
        warp = warps[name]
        # Nobody else may call the warp's part: it no longer means 32 lanes.
        if _mentions(model, name) != 1 + 2 * len(pairs) or not all(_is_used_rightly(model, one) for one in pairs):
            continue
        width = "kpt_wave(1024)" if any(one.below_1024 for one in pairs) else "kpt_wave()"
        parts: list[_WarpReduction | _BlockReduction] = [warp, *pairs]
        for one in parts:
            edits = tuple(sorted(one.edits(width), key=lambda edit: edit.span.start))
            message = f"{one.name} reduces a block 32 lanes at a time: it may use whole waves"
            hazards[id(one.facts)] = [Hazard("KP310", edits[0].span.start, edits[-1].span.end, message, edits)]
    return hazards


def _mentions(model: WaveModel, name: str) -> int:
    word = name.encode("latin-1")
    return sum(
        syntax.source.text(token) == word
        for syntax in model.files
        if word in syntax.source.data
        for token in syntax.source.code
    )


def _words(facts: Facts) -> _Text | None:
    """The body without comments and #pragma unroll; None where the preprocessor chooses between texts."""
    source = facts.function.source
    body = facts.function.body
    code = source.code
    pieces: list[str] = []
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    at = skip_until = 0
    for token in code[bisect_left(code.starts, body.start) : bisect_left(code.starts, body.end)]:
        if token.start < skip_until:
            continue
        text = source.text(token).decode("latin-1")
        if token.kind == "directive":
            if text.replace(" ", "") != "#pragma":
                return None
            skip_until = source.line_span(token.start)[1]
            continue
        pieces.append(text)
        starts.append(at)
        spans.append((token.start, token.end))
        at += len(text) + 1
    return _Text(" ".join(pieces), (*starts, at), tuple(spans)) if len(pieces) < 400 else None


def _value(facts: Facts, text: _Text, match: re.Match[str], group: str) -> int | None:
    """The constant an expression of the text comes to."""
    start, end = text.span(match, group)
    node = next((one for one in facts.function.nodes if one.start == start and one.end == end), None)
    constant = facts.constant(node)
    return None if constant is None or constant.from_wave else constant.value


def _warp_reduction(model: WaveModel, facts: Facts) -> _WarpReduction | None:
    function = facts.function
    if function.kind != "device" or len(function.parameters) != 1 or "&" in function.parameters[0].type_text:
        return None
    text = _words(facts)
    match = (_WARP_SUM.fullmatch(text.words) or _WARP_CALL.fullmatch(text.words)) if text is not None else None
    if text is None or match is None:
        return None
    named = {match["value"], match["moved"], match["result"]}
    if named != {function.parameters[0].name} or match["by"] != match["offset"]:
        return None
    takes_mask = match["call"].endswith("_sync")
    if takes_mask != (match["mask"] is not None) or _value(facts, text, match, "first") != 16:
        return None
    if match["width"] is not None and _value(facts, text, match, "width") != 32:
        return None
    if takes_mask:
        mask = _value(facts, text, match, "mask")
        if mask is None or mask & _FULL != _FULL:
            return None
    by_function = match.groupdict().get("by_function")
    operation = "+" if by_function is None else _operation(model, by_function)
    return None if operation is None else _WarpReduction(facts, match, text, operation)


def _operation(model: WaveModel, name: str) -> str | None:
    if name in _PICKS:
        return "max" if "max" in name else "min"
    return "+" if _is_sum(model, name) else None


def _is_sum(model: WaveModel, name: str) -> bool:
    """Whether every function of that name with two parameters adds them, and there is one."""
    head = rf"\b{re.escape(name)}\s*\(\s*[\w:]+\s+(\w+)\s*,\s*[\w:]+\s+(\w+)\s*\)\s*\{{([^{{}}]*)\}}"
    pattern = re.compile(head.encode("latin-1"))
    found = [match for syntax in model.files for match in pattern.finditer(syntax.source.data)]
    return bool(found) and all(_adds(*(part.decode("latin-1") for part in match.groups())) for match in found)


def _adds(left: str, right: str, body: str) -> bool:
    value = re.fullmatch(r"\s*return\s+([^;]+);\s*", body)
    if value is None:
        return False
    text = re.sub(r"\s+", "", value.group(1))
    fields = rf"make_float2\({left}\.x\+{right}\.x,{left}\.y\+{right}\.y\)"
    return re.fullmatch(rf"{left}\+{right}|__hadd2?\({left},{right}\)|{fields}", text) is not None


_CONDITION = (
    r"(?:\( )*(?P<whose>{lane}|threadIdx \. x) < (?:\( )*(?:{warps}blockDim \. x (?P<count_by>>>|/) "
    r"(?P<count_of>[^;?]+?))(?: \))* \?"
)


def _block_reduction(facts: Facts, warps: dict[str, _WarpReduction]) -> _BlockReduction | None:
    """Matches the body piece by piece: declarations in any order, then the two steps."""
    function = facts.function
    if function.kind != "device" or not any(call.name in warps for call in facts.calls):
        return None
    text = _words(facts)
    if text is None or not text.words.startswith("{ "):
        return None
    seen: dict[str, re.Match[str]] = {}
    at = 2
    while True:
        match = next((one for pattern in _DECLARATIONS if (one := pattern.match(text.words, at)) is not None), None)
        if match is None:
            break
        for group in match.groupdict():
            if group in seen:
                return None
            seen[group] = match
        at = match.end()
    if not {"slots", "lane", "warp"} <= seen.keys():
        return None
    slots, lane, warp = seen["slots"]["slots"], seen["lane"]["lane"], seen["warp"]["warp"]
    tail = _tail(text, at, slots, lane, warp, seen["warps"]["warps"] if "warps" in seen else None)
    by_value = {one.name for one in function.parameters if "&" not in one.type_text and "*" not in one.type_text}
    if tail is None or tail["reducer"] not in warps or tail["value"] not in by_value:
        return None
    reducer = warps[tail["reducer"]]
    if not _are_thirty_twos(facts, text, seen, tail):
        return None
    filled = _identity(tail["filler"], reducer.operation)
    if filled is None:
        return None
    widths = [
        (*_joint(text, seen["lane_by"], "lane_by", "lane_of"), "% WIDTH"),
        (*_joint(text, seen["warp_by"], "warp_by", "warp_of"), "/ WIDTH"),
    ]
    if "warps" in seen:
        widths.append((*_joint(text, seen["warps_by"], "warps_by", "warps_of"), "/ WIDTH"))
    groups = tail.groupdict()
    if groups.get("count_of") is not None:
        is_float = re.fullmatch(r"32\.0*f?", groups["count_of"]) is not None
        widths.append((*_joint(text, tail, "count_by", "count_of"), "/ float(WIDTH)" if is_float else "/ WIDTH"))
    by_lane = tail["whose"] == lane
    for_all = groups.get("shared_result") is not None or (
        by_lane and groups.get("first_only") is None and "xor" in reducer.match["call"]
    )
    return _BlockReduction(facts, reducer, tuple(widths), for_all, filled == "any")


def _tail(text: _Text, at: int, slots: str, lane: str, warp: str, warps: str | None) -> re.Match[str] | None:
    """From the first call of the warp's part to the end."""
    call = rf"(?P<reducer>{_NAME})(?: < [^;{{}}()]* >)? \( (?P<value>{_NAME}) \) ; "
    again = r"(?P=reducer)(?: < [^;{}()]* >)? "
    kind = rf"(?:(?:const )?{_NAME} )?"
    either = f"{warps}|" if warps else ""
    condition = _CONDITION.format(lane=lane, warps=either)
    leader = rf"if \( {lane} == 0 \) "
    first = rf"{kind}(?P<partial>{_NAME}) = {call}{leader}(?:\{{ )?{slots} \[ {warp} \] = (?P=partial) ; (?:\}} )?"
    sync = r"__syncthreads \( \) ; "
    read = rf"{kind}(?P<read>{_NAME}) = {condition} {slots} \[ {lane} \] : (?P<filler>[^;]+?) ; "
    last = rf"{kind}(?P<total>{_NAME}) = {again}\( (?P=read) \) ; "
    first_only = rf"(?P<first_only>if \( {warp} == 0 \) (?:\{{ )?)?"
    plain = rf"{first}{sync}{read}{first_only}{last}(?(first_only)(?:\}} )?)return (?P=total) ; \}}"
    shared = (
        rf"{first}{sync}if \( {warp} == 0 \) \{{ {read}{last}{leader}(?:\{{ )?{slots} \[ 0 \] = (?P=total) ; (?:\}} )?"
        rf"\}} {sync}return (?P<shared_result>{slots} \[ 0 \]) ; \}}"
    )
    for pattern in (plain, shared):
        match = re.compile(pattern).fullmatch(text.words, at)
        # `if (warp == 0) total = ...` leaves `total` as it was elsewhere: it must be the variable that was read.
        if match is not None and (not match.groupdict().get("first_only") or match["read"] == match["total"]):
            return match
    return None


def _joint(text: _Text, match: re.Match[str], first: str, last: str) -> tuple[int, int]:
    return text.span(match, first)[0], text.span(match, last)[1]


def _are_thirty_twos(facts: Facts, text: _Text, seen: dict[str, re.Match[str]], tail: re.Match[str]) -> bool:
    """Whether every width is 32 (or 31 and 5 in the bit forms) and the array has a slot for each warp."""
    expected = {"lane": {"&": 31, "%": 32}, "warp": {">>": 5, "/": 32}, "warps": {">>": 5, "/": 32}}
    for name, wanted in expected.items():
        if name in seen:
            match = seen[f"{name}_by"]
            if _value(facts, text, match, f"{name}_of") != wanted[match[f"{name}_by"]]:
                return False
    size = _value(facts, text, seen["size"], "size")
    if size is None or size < 32:
        return False
    if tail.groupdict().get("count_of") is None:
        return "warps" in seen
    if re.fullmatch(r"32\.0*f?", tail["count_of"]):
        return tail["count_by"] == "/"
    return _value(facts, text, tail, "count_of") == expected["warps"][tail["count_by"]]


def _identity(filler: str, operation: str) -> str | None:
    """ "exact" for the operation's identity, "any" for a constant that a maximum or minimum may meet, else None."""
    plain = re.sub(rf"^\( {_NAME} \) |^{_NAME} (?=\()|[() ]", "", filler)
    if operation == "+":
        return "exact" if re.fullmatch(r"0(?:\.0*)?f?", plain) else None
    if plain == ("-INFINITY" if operation == "max" else "INFINITY"):
        return "exact"
    return "any" if re.fullmatch(r"-?(?:\d[\w.+-]*|[A-Z][A-Z0-9_]*)", plain) else None


def _is_used_rightly(model: WaveModel, block: _BlockReduction) -> bool:
    """Whether all threads of a kernel call it, and whoever uses a result of the first warp alone is thread 0."""
    sites = [(facts, call) for facts in model.facts for call in facts.calls if call.name == block.name]
    if not sites or _mentions(model, block.name) != 1 + len(sites):
        return False
    return all(is_block_result_right(facts, call, block.for_all) for facts, call in sites)
