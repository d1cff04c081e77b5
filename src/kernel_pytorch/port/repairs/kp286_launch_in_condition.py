"""Kernel launches inside ?: or parentheses

What: `wide ? wide_kernel<<<g, b>>>(x) : narrow_kernel<<<g, b>>>(x);` and `(kernel<<<g, b>>>(x));`
Why: torch's renaming turns a launch into the macro hipLaunchKernelGGL, which is a statement. It also takes the opening
    parenthesis for a part of the kernel's name.
Fix: on ROCm, kpt writes `if (wide) wide_kernel<<<g, b>>>(x); else narrow_kernel<<<g, b>>>(x);` and
    `([&] { kernel<<<g, b>>>(x); }());`.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_hip_runtime.h in ROCm/rocm-systems (hipLaunchKernelGGLInternal)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import closing, text_at
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair(
    "KP286",
    "launch-in-condition",
    re.compile(r"expected expression|expected '\)'|expected ':'|too few arguments provided to function-like macro"),
)


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The statement that the launch is in, as an if and an else, or in a function of its own."""
    src = place.src
    if not any("hipLaunchKernelGGL" in note for note in place.complaint.context):
        return ()
    code = src.code
    here = next((index for index, token in enumerate(code) if token.end > place.offset), None)
    if here is None:
        return ()
    first = here
    while (
        first > 0
        and text_at(src, first - 1) not in (b";", b"{", b"}")
        and not is_in_directive(src, code[first - 1].start)
    ):
        first -= 1
    if text_at(src, first) == b"(":
        return _in_a_function(src, first)
    question = colon = None
    at = first
    while at < len(code) and text_at(src, at) != b";":
        text = text_at(src, at)
        if text in (b"(", b"["):
            at = closing(src, at) or at
        elif text == b"?" and question is None:
            question = at
        elif text == b":" and question is not None and colon is None:
            colon = at
        at += 1
    if question is None or colon is None or at >= len(code):
        return ()
    condition = src.data[code[first].start : code[question - 1].end]
    yes = src.data[code[question + 1].start : code[colon - 1].end]
    no = src.data[code[colon + 1].start : code[at - 1].end]
    if b"<<<" not in yes + no or b"=" in condition.replace(b"==", b"").replace(b"!=", b"").replace(b"<=", b"").replace(
        b">=", b""
    ):
        return ()
    span = Span(code[first].start, code[at].end)
    return (Edit(span, b"if (" + condition + b") { " + yes + b"; } else { " + no + b"; }"),)


def _in_a_function(src: CxxFile, opening: int) -> tuple[Edit, ...]:
    """`(kernel<<<g, b>>>(x));`, whose parentheses hold the launch and nothing else, as the call of a function."""
    close = closing(src, opening)
    if close is None or text_at(src, close + 1) != b";":
        return ()
    launch = next((at for at in range(opening + 1, close) if text_at(src, at) in (b"<<<", b"(", b",")), close)
    whole, inside = Span(src.code[opening].start, src.code[close].end), (src.code[opening].end, src.code[close].start)
    if text_at(src, launch) != b"<<<":
        return ()
    # The parentheses stay: a macro around the statement would take the launch's commas for its own.
    return (Edit(whole, b"([&] { " + src.data[slice(*inside)] + b"; }())"),)
