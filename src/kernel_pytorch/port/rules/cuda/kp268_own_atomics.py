"""The project's own atomic functions that HIP has

What: A definition of atomicMin or atomicMax for float or double, or of atomicAdd for double, at file scope, for the
    device. A function of that name for the host alone, or in a namespace, does not clash with HIP's and stays.
Why: CUDA has no such overload (or had none), so projects write one with atomicCAS. HIP has it, and the two clash.
Fix: kpt leaves the definition out on ROCm. HIP's function returns the old value too.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_hip_atomic.h in ROCm/rocm-systems
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import is_in_named_namespace, text_at, words
from kernel_pytorch.port.names.table import matching
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

_IN_HIP = {b"atomicMin": (b"float", b"double"), b"atomicMax": (b"float", b"double"), b"atomicAdd": (b"double",)}

RULE = Rule("KP268", "own-atomics", languages=("cuda",), safety=Safety.SAFE, triggers=tuple(_IN_HIP))

_BEFORE = frozenset((b"__device__", b"__forceinline__", b"static", b"inline", b"__inline__", b"__host__"))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each definition of an overload that HIP declares."""
    for index in sorted(index for name in _IN_HIP for index in words(src).get(name)):
        span = _definition(src, unit, index)
        if span is not None and not is_in_named_namespace(src, index):
            name, kind = text_at(src, index).decode(), text_at(src, index + 2).decode()
            yield RULE.finding(src, span, f"{name} for {kind} is declared by HIP as well", [Edit(span, b"")])


def _definition(src: CxxFile, unit: Unit, index: int) -> Span | None:
    code = src.code
    closing = (
        matching(src.data, code, index + 1) if index + 1 < len(code) and src.text(code[index + 1]) == b"(" else None
    )
    if closing is None or closing + 1 >= len(code) or src.text(code[closing + 1]) != b"{":
        return None
    inner = [
        src.text(token)
        for token in code[index + 2 : closing]
        if src.text(token) not in (b"const", b"volatile", b"__restrict__")
    ]
    kind = inner[0] if inner else b""
    # One that returns nothing clashes too: functions cannot differ in their return type alone.
    if (
        index == 0
        or src.text(code[index - 1]) not in (kind, b"void")
        or kind not in _IN_HIP[src.text(code[index])]
        or len(inner) != 6
        or inner[:2] != [kind, b"*"]
        or inner[3:5] != [b",", kind]
    ):
        return None
    first = index - 1
    is_for_device = False
    while first > 0 and _is_specifier(src, unit, first - 1):
        first -= 1
        is_for_device = is_for_device or _marks_device(unit, src.text(code[first]))
    if not is_for_device:
        return None
    # After `>` it is a template, after `::` a member of something: not HIP's overload.
    if first > 0 and src.text(code[first - 1]) in (b">", b"::"):
        return None
    end = matching(src.data, code, closing + 1)
    return Span(code[first].start, code[end].end) if end is not None else None


def _is_specifier(src: CxxFile, unit: Unit, index: int) -> bool:
    """A word that may stand before a function's type: one of the language, or a macro of the project's."""
    word = src.text(src.code[index])
    return (word in _BEFORE or word in unit.macros) and not is_in_directive(src, src.code[index].start)


def _marks_device(unit: Unit, word: bytes) -> bool:
    """`__device__`, or a macro of the project that says it."""
    return word == b"__device__" or any(b"__device__" in macro.body for macro in unit.macros.get(word, ()))
