"""Operators of the project's own for float2, int4 and the like

What: `operator+(float3 a, float3 b)` and its relatives, as in the helper_math.h that came with CUDA's samples.
Why: CUDA's vector types have no operators, so projects write them. HIP's have them: where both operands are the same
  vector type the two are equally good and every use is ambiguous. Forms with a scalar stay: they match better.
Fix: the definition is left out on ROCm, where HIP's does the same element by element.
Source: hip/amd_detail/amd_hip_vector_types.h of HIP 7.2
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cuda.names import matching
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.rules.reading import is_in_directive

if TYPE_CHECKING:
    from kernel_pytorch.port.cuda.unit import Unit
    from kernel_pytorch.port.source import SourceFile

RULE = Rule("KP267", "vector-operators", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"operator",))

_VECTOR = re.compile(rb"(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]$")
_SAME_IN_HIP = frozenset((b"+", b"-", b"*", b"/", b"%", b"&", b"|", b"^", b"+=", b"-=", b"*=", b"/=", b"==", b"!="))
_COMPOUND = frozenset((b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^="))
_INTEGERS_ONLY = frozenset((b"%", b"&", b"|", b"^"))
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


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """Each definition of an operator that HIP's vector types have already."""
    code = src.code
    for index, token in enumerate(code):
        if token.kind == "identifier" and src.text(token) == b"operator":
            found = _definition(src, index)
            if found is not None:
                operator, kind, span = found
                message = (
                    f"operator{operator.decode()} of two {kind.decode()} is HIP's own as well: each use is ambiguous"
                )
                yield RULE.finding(src, span, message, [Edit(span, b"")])


def _definition(src: SourceFile, index: int) -> tuple[bytes, bytes, Span] | None:
    """The operator, its vector type and the span of its whole definition, where HIP has the same."""
    code = src.code
    if index + 2 >= len(code) or src.text(code[index + 2]) != b"(":
        return None
    operator = src.text(code[index + 1])
    closing = matching(src.data, code, index + 2)
    if operator not in _SAME_IN_HIP or closing is None or closing + 1 >= len(code):
        return None
    words = [src.text(token) for token in code[index + 3 : closing]]
    kinds = _parameter_kinds(words)
    # Unary minus by reference to a non-const operand is the better match and stays.
    if len(set(kinds)) != 1 or not _VECTOR.match(kinds[0]) or (len(kinds) == 1 and (operator != b"-" or b"&" in words)):
        return None
    if operator in _INTEGERS_ONLY and kinds[0].startswith((b"float", b"double")):
        return None
    if src.text(code[closing + 1]) != b"{":
        return None
    first = _first(src, index)
    end = matching(src.data, code, closing + 1)
    if first is None or end is None:
        return None
    returned = {src.text(token) for token in code[first:index]} - _QUALIFIERS
    # Another return type (bool vectors, dot products spelt as *) means the project's own meaning.
    meant = {b"bool"} if operator in (b"==", b"!=") else {kinds[0]}
    if returned != meant and not (operator in _COMPOUND and returned == {b"void"}):
        return None
    return operator, kinds[0], Span(code[first].start, code[end].end)


def _first(src: SourceFile, index: int) -> int | None:
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


def _parameter_kinds(words: list[bytes]) -> list[bytes]:
    kinds: list[bytes] = []
    parameter: list[bytes] = []
    for word in [*words, b","]:
        if word == b",":
            plain = [item for item in parameter if item not in (b"const", b"&", b"struct")]
            kinds.append(plain[0] if plain else b"")
            parameter = []
        else:
            parameter.append(word)
    return kinds
