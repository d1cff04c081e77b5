"""The project's own operators for float2, int4 and the like

What: `operator*`, `operator/` and the compound `+=`, `-=`, `*=`, `/=` of two equal vector types, marked __host__ and
    __device__ both, as in the helper_math.h of CUDA's samples.
Why: CUDA's vector types have no operators, so projects write them. HIP's types have these six as members and friends,
    __host__ __device__ as well. The two are equally good, and every use is ambiguous. All other operators stay: HIP's
    binary `+` and `-`, comparisons and bit operators are templates, which a plain function beats; a function marked
    for one side only is preferred there; forms with a scalar match better.
Fix: The definition is left out on ROCm, where HIP's does the same element by element.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_hip_vector_types.h in ROCm/rocm-systems. Each form above was
    compiled with the headers of ROCm 7.1 and 7.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.names.table import matching
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP267", "vector-operators", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"operator",))

_VECTOR = re.compile(rb"(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]$")
_COMPOUND = frozenset((b"+=", b"-=", b"*=", b"/="))
_SAME_IN_HIP = _COMPOUND | {b"*", b"/"}
_QUALIFIERS = frozenset(
    (
        b"inline",
        b"static",
        b"__device__",
        b"__host__",
        b"__forceinline__",
        b"constexpr",
        b"__inline__",
        b"const",
        b"extern",
        b"&",
    )
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each definition of an operator that HIP's vector types have already."""
    if not any(map(_VECTOR.match, src.vocabulary)):
        return
    for index in words(src).get(b"operator"):
        found = _definition(src, index, unit)
        if found is not None:
            operator, kind, span = found
            message = f"operator{operator.decode()} of two {kind.decode()} is HIP's own as well: each use is ambiguous"
            yield RULE.finding(src, span, message, [Edit(span, b"")])


def _definition(src: CxxFile, index: int, unit: Unit) -> tuple[bytes, bytes, Span] | None:
    """The operator, its vector type and the span of its whole definition, where HIP has the same."""
    code = src.code
    if index + 2 >= len(code) or src.text(code[index + 2]) != b"(":
        return None
    operator = src.text(code[index + 1])
    closing = matching(src.data, code, index + 2)
    if operator not in _SAME_IN_HIP or closing is None or closing + 1 >= len(code):
        return None
    kinds = _parameter_kinds([src.text(token) for token in code[index + 3 : closing]])
    if len(kinds) != 2 or len(set(kinds)) != 1 or not _VECTOR.match(kinds[0]):
        return None
    if src.text(code[closing + 1]) != b"{":
        return None
    first = _first(src, index)
    end = matching(src.data, code, closing + 1)
    if first is None or end is None:
        return None
    head = {src.text(token) for token in code[first:index]}
    if not _is_on_both_sides(head, unit):
        return None
    returned = {word for word in head - _QUALIFIERS if not word.isupper()}
    # Another return type (dot products spelt as *) means the project's own meaning.
    if returned != {kinds[0]} and not (operator in _COMPOUND and returned == {b"void"}):
        return None
    return operator, kinds[0], Span(code[first].start, code[end].end)


def _is_on_both_sides(head: set[bytes], unit: Unit) -> bool:
    """Whether a declaration is __host__ __device__, by itself or by a macro. A macro out of sight is taken to be."""
    marks = set(head)
    for macro in (word for word in head if word.isupper() and word not in _QUALIFIERS):
        bodies = unit.macros.get(macro, ())
        if not bodies:
            return True
        marks |= {word for one in bodies for word in one.body.split()}
    return {b"__host__", b"__device__"} <= marks or b"constexpr" in marks


def _first(src: CxxFile, index: int) -> int | None:
    """The first token of the declaration; None where it is a member, a template or part of something else."""
    code = src.code
    first = index
    while first > 0:
        before = src.text(code[first - 1])
        if is_in_directive(src, code[first - 1].start):
            break
        if before in _QUALIFIERS or _VECTOR.match(before) or before in (b"void", b"bool"):
            first -= 1
            continue
        if before in (b"::", b">", b"friend") or (code[first - 1].kind == "identifier" and before not in (b"else",)):
            # A macro such as HOST_DEVICE_INLINE belongs to the declaration; a name before it does not.
            if code[first - 1].kind == "identifier" and before.isupper() and before not in (b"::",):
                first -= 1
                continue
            return None
        break
    return first


def _parameter_kinds(texts: list[bytes]) -> list[bytes]:
    kinds: list[bytes] = []
    parameter: list[bytes] = []
    for word in [*texts, b","]:
        if word == b",":
            plain = [item for item in parameter if item not in (b"const", b"&", b"struct")]
            kinds.append(plain[0] if plain else b"")
            parameter = []
        else:
            parameter.append(word)
    return kinds
