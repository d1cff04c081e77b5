"""A lane function under another name

What: A macro that only gives a lane function another name, `#define shfl __shfl` or `#define ballot __ballot_sync`, or
    that hands its arguments on as they come: `#define shfl(...) __shfl_sync(0xFFFFFFFF, __VA_ARGS__)`.
Why: kpt does not follow such a name, so no other rule looks at its uses. On a 64-lane wave a shuffle without a width
    reaches across the 32-lane line, and a ballot in 32 bits loses the upper half: wrong values, without a message.
Fix: On AMD the macro gets named parameters and CUDA's width, `#define shfl(value, lane) __shfl(value, lane, 32)`, and a
    ballot keeps the 32 bits of the lane's own group, `(unsigned)(__ballot(x) >> (__lane_id() & 32))`. kpt writes that
    where every use is a call with two arguments (one for a ballot), in the project's files seen together. Else it is
    left to you: do the same, or write the calls out, and kpt ports them.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html (warp cross-lane
    functions); hip/amd_detail/amd_warp_functions.h, ROCm 7.2
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.cxx.unit import Macro, Unit, macros_of
from kernel_pytorch.port.rule import Rule

RULE = Rule(
    "KP325",
    "lane-function-by-another-name",
    languages=("cuda", "c++"),
    safety=Safety.SAFE,
    triggers=(b"__shfl", b"__ballot", b"__activemask", b"__match_"),
)
_ALIAS = re.compile(rb"\s*(__(?:shfl(?:_up|_down|_xor)?|ballot|activemask|match_any|match_all)(?:_sync)?)\s*")
# Every lane of the warp, whatever the arguments are.
_ALL_LANES = re.compile(rb"\s*__shfl\w*_sync\s*\(\s*(?:0[xX][fF]{8}[uU]?|-1|~0[uU]?)\s*,\s*__VA_ARGS__\s*\)\s*")
_FORMS = {
    b"__shfl": b"(value, lane) __shfl(value, lane, 32)",
    b"__shfl_up": b"(value, delta) __shfl_up(value, delta, 32)",
    b"__shfl_down": b"(value, delta) __shfl_down(value, delta, 32)",
    b"__shfl_xor": b"(value, mask) __shfl_xor(value, mask, 32)",
    b"__ballot": b"(predicate) static_cast<unsigned>(__ballot(predicate) >> (__lane_id() & 32))",
}
_HANDED_ON = re.compile(rb"\b(__shfl(?:_up|_down|_xor)?(?:_sync)?)\s*\([^()]*__VA_ARGS__")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such macro that a file of the unit uses."""
    for macro in macros_of(src):
        meant = _ALIAS.fullmatch(macro.body) if macro.parameters is None else _HANDED_ON.search(macro.body)
        # A name of CUDA's own that somebody writes again is what the rules know anyway.
        if meant is None or macro.name.startswith(b"__") or not _is_used(unit, macro.name):
            continue
        name, function = macro.name.decode("latin-1"), meant[1].decode()
        message = f"{name} is {function} under another name: its uses are not looked at, and on 64 lanes they mean more"
        form = _form(unit, macro, meant[1])
        span = Span(macro.start, macro.body_end)
        edits = [Edit(span, b"#define " + macro.name + form)] if form is not None else []
        yield RULE.finding(src, span, message, edits)


def _form(unit: Unit, macro: Macro, function: bytes) -> bytes | None:
    """Parameters and text of the macro for groups of 32 lanes; None where a use is no plain call."""
    plain = function.removesuffix(b"_sync")
    if unit.wave != "logical32" or (plain != function and not _ALL_LANES.fullmatch(macro.body)):
        return None
    if plain not in _FORMS or (macro.parameters is not None and not _ALL_LANES.fullmatch(macro.body)):
        return None
    form = _FORMS[plain]
    wanted = form.partition(b")")[0].count(b",") + 1
    for file in unit.files:
        if macro.name not in file.data:
            continue
        made = [call for call in calls(file, macro.name) if not _is_defined(file, call)]
        uses = len(words(file).get(macro.name, ()))
        if uses - len(made) > sum(other.name == macro.name for other in macros_of(file)):
            return None
        if any(len(call.arguments) != wanted for call in made):
            return None
    return form


def _is_defined(file: CxxFile, call: Call) -> bool:
    """`shfl(...)` behind #define is no call."""
    start = file.data.rfind(b"\n", 0, call.span.start) + 1
    return re.match(rb"[ \t]*#[ \t]*define[ \t]*$", file.data[start : call.span.start]) is not None


def _is_used(unit: Unit, name: bytes) -> bool:
    word = re.compile(rb"(?<!define )(?<!define\t)\b" + re.escape(name) + rb"\s*\(")
    return any(word.search(file.data) for file in unit.files if name in file.data)
