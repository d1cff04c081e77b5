"""Functions of the project that HIP has too, and calls that fit several

What: A project's own `template <typename T> __device__ T max(T a, T b)` beside HIP's, or `max(a, b)`, `pow(a, b)` of
    two types.
Why: CUDA's functions are plain ones, which win over a template, and CUDA has one for every pair of types. HIP's are
    templates. Both fit equally well, so the call is ambiguous.
Fix: kpt leaves the project's definition out on ROCm, where HIP's does the same. If the project has none, kpt converts
    both arguments to the type of `a + b`, as CUDA's functions do.
Source: clang/lib/Headers/__clang_hip_math.h in llvm/llvm-project; https://eel.is/c++draft/over.match.best (a plain
    function beats a template)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.repairs.calls import call_near
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP282",
    "function-hip-has-too",
    re.compile(
        r"(?:call to '(max|min|pow|powf|fmax|fmin|fmod|atan2|hypot|copysign|fdim|clamp|lerp|rsqrt)' is ambiguous|"
        r"no matching function for call to '(max|min|pow|fmax|fmin|fmod|atan2)'|"
        r"redefinition of '(max|min|pow|clamp|lerp|abs|rsqrt)'|"
        # C++20's <math.h> has `using std::lerp`; torch asks for C++20.
        r"declaration conflicts with target of using declaration already in scope)"
    ),
)
_BEFORE_DEFINITION = (b";", b"}", b"{")


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The project's definition where the place is one, else the arguments of the call."""
    name = next((name for name in place.found.groups() if name), "lerp").encode()
    definition = _definition(place, name)
    if definition is not None:
        return (Edit(definition, b""),)
    if not any(place.found.groups()):
        return ()
    if any("candidate" in note for note in place.complaint.context) and len(place.complaint.spots) > 1:
        others = place.complaint.spots[1:]
        if any(spot.path != place.src.path or spot.line != place.src.line_col(place.offset)[0] for spot in others):
            return ()  # one of the candidates is the project's own
    return _converted(place, name)


def _definition(place: RepairPlace, name: bytes) -> Span | None:
    src = place.src
    start, end = place.line
    for index in words(src).get(name, ()):
        if not start <= src.code[index].start < end or text_at(src, index + 1) != b"(":
            continue
        close = closing(src, index + 1)
        body = close + 1 if close is not None and text_at(src, close + 1) == b"{" else None
        last = closing(src, body) if body is not None else None
        if last is None:
            continue
        first = index
        while first > 0 and not _ends_before(src, first - 1):
            first -= 1
        words_before = {text_at(src, at) for at in range(first, index)}
        if b"__device__" in words_before or any(b"DEVICE" in word or b"device" in word for word in words_before):
            return Span(src.code[first].start, src.code[last].end)
    return None


def _ends_before(src: CxxFile, index: int) -> bool:
    return text_at(src, index) in _BEFORE_DEFINITION or is_in_directive(src, src.code[index].start)


def _converted(place: RepairPlace, name: bytes) -> tuple[Edit, ...]:
    src = place.src
    call = call_near(src, (name,), place.offset)
    if call is None or len(call.arguments) != 2:
        return ()
    first, second = call.argument(src, 0), call.argument(src, 1)
    if b"decltype" in first + second or b"{" in first + second:
        return ()
    kind = b"decltype((" + first + b") + (" + second + b"))"
    texts = ((call.arguments[0], first), (call.arguments[1], second))
    return tuple(Edit(span, b"static_cast<" + kind + b">(" + text + b")") for span, text in texts)
