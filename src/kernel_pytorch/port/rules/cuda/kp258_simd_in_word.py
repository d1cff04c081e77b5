"""SIMD-in-a-word intrinsics: __vadd2, __vcmpgtu4, __vabsdiffu4 and the like

What: Calls of CUDA's intrinsics on two halves or four bytes of a word.
Why: HIP has none of them.
Fix: kpt adds a definition of each one that is used, in plain C++, at the top of the file. The calls stay as they are.
Source: https://docs.nvidia.com/cuda/cuda-math-api/cuda_math_api/group__CUDA__MATH__INTRINSIC__SIMD.html; the headers
    of ROCm 7.2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.names.rename import newline_of, top_of_file
from kernel_pytorch.port.names.simd_in_word import definition
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP258", "simd-in-word", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__v",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """One finding per file: the intrinsics it uses and nobody defines."""
    found = []
    for name in sorted(words(src)):
        text = definition(name.decode("latin-1")) if name.startswith(b"__v") else None
        if text is None or name in unit.macros or _guard(name) in src.data or unit.functions(name):
            continue
        call = next(calls(src, name), None)
        if call is not None:
            found.append((call, text))
    if not found:
        return
    newline = newline_of(src).decode("utf-8", "replace")
    parts = ["#include <hip/hip_runtime.h>\n"]
    for call, text in found:
        guard = _guard(call.name).decode("utf-8", "replace")
        parts.append(f"#ifndef {guard}\n#define {guard}\n{text}#endif\n")
    place = top_of_file(src)
    edit = Edit(Span(place, place), "".join(parts).replace("\n", newline).encode())
    names = ", ".join(call.name.decode("utf-8", "replace") for call, _ in found[:4]) + (
        f" and {len(found) - 4} more" if len(found) > 4 else ""
    )
    first = min((call for call, _ in found), key=lambda call: call.span.start)
    yield RULE.finding(
        src, first.span, f"{names}: HIP has no SIMD-in-a-word intrinsics: defined at the top of the file", [edit]
    )


def _guard(name: bytes) -> bytes:
    return b"KPT_SIMD_" + name.strip(b"_").upper()
