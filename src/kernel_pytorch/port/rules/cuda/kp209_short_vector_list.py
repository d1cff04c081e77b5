"""A vector type filled from a short list

What: `float4 v = {1.f, 2.f};`, `int1 n = {5};`, `n = {0};`, `uint2 a[2] = {{1}, {2}};`, `float2 p = {.x = 1.f};`: a
    list for int1 to double4 that has fewer values than the type has members, that names the members, or that has one
    value and stands behind an `=`.
Why: CUDA's vector types are plain structures, and members without a value become 0. HIP's are classes. A constructor
    takes as many values as there are members, or a single one, written `float4{1.f}`.
Fix: On ROCm kpt names the type before the list and writes the zeros. Two kinds of lists are left to you: one that
    fills the vectors of an array without brackets of their own, and one inside another structure.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_hip_vector_types.h in ROCm/rocm-systems. Each form above was
    compiled with the headers of ROCm 7.2.
Since: 0.1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import split_arguments
from kernel_pytorch.port.cxx.declared import declared_type
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

_BASES = (b"char", b"short", b"int", b"long", b"longlong", b"float", b"double")
VECTORS = frozenset(
    sign + base + b"%d" % rank
    for base in _BASES
    for sign in (b"", b"u")
    for rank in range(1, 5)
    if not sign or base not in (b"float", b"double")
)

RULE = Rule(
    "KP209", "short-vector-list", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=tuple(sorted(VECTORS))
)

_LIST = re.compile(rb"=\s*\{|[1-4]\s*\w*\s*\{")
_NAMED = re.compile(rb"\.([xyzw])\s*=\s*(.*)\Z", re.DOTALL)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such list."""
    if src.path.endswith(".c") or not _LIST.search(src.data):
        return
    used = src.vocabulary & VECTORS
    own = {name for name in used if any(b"struct %s" % name in text for text in unit.texts)}
    for opening, vector, is_copied in sorted(_lists(src, used - own)):
        finding = _finding(src, opening, vector, is_copied)
        if finding is not None:
            yield finding


def _finding(src: CxxFile, opening: int, vector: bytes, is_copied: bool) -> Finding | None:
    close = closing(src, opening)
    if close is None or is_in_directive(src, src.code[opening].start):
        return None
    count = int(vector[-1:])
    spans = split_arguments(src, opening, close)
    values = [src.data[one.start : one.end] for one in spans]
    whole = Span(src.code[opening].start, src.code[close].end)
    message = f"HIP's {vector.decode()} is a class: it takes no list with values missing, and no names in it"
    if values and all(_NAMED.match(value) for value in values):
        named = {found[1]: found[2] for value in values if (found := _NAMED.match(value)) is not None}
        members = b"xyzw"[:count]
        if len(named) < len(values) or not all(name in members for name in named):
            return None
        filled = b", ".join(named.get(members[at : at + 1], b"0") for at in range(count))
        return RULE.finding(src, whole, message, [Edit(whole, vector + b"{" + filled + b"}")])
    if not values or len(values) > count or any(value.startswith((b"{", b".")) for value in values):
        return None
    missing = count - len(values) if len(values) > 1 else 0
    needs_type = is_copied and (len(values) == 1 or missing > 0)
    if not needs_type and not missing:
        return None
    edits = [Edit(Span(whole.start, whole.start), vector)] if needs_type else []
    if missing:
        has_comma = text_at(src, close - 1) == b","
        zeros = b", ".join([b"0"] * missing)
        edits.append(Edit(Span(whole.end - 1, whole.end - 1), (b" " if has_comma else b", ") + zeros))
    return RULE.finding(src, whole, message, edits)


def _lists(src: CxxFile, vectors: frozenset[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """The `{` of each list for a vector, and whether it stands behind an `=` or in another list."""
    names: set[bytes] = set()
    for vector in vectors:
        for index in words(src).get(vector, ()):
            at = index + 1
            if text_at(src, at) == b"{" and text_at(src, index - 1) not in (b"struct", b"class", b"."):
                yield at, vector, False
            if at >= len(src.code) or src.code[at].kind != "identifier":
                continue
            names.add(text_at(src, at))
            yield from _of_declaration(src, at, vector)
    for name in names:
        for index in words(src).get(name, ()):
            if text_at(src, index + 1) != b"=" or text_at(src, index + 2) != b"{" or text_at(src, index - 1) in VECTORS:
                continue
            known = declared_type(src, index, vectors)
            if known is not None:
                yield index + 2, known, True


def _of_declaration(src: CxxFile, name: int, vector: bytes) -> Iterator[tuple[int, bytes, bool]]:
    at = name + 1
    is_array = False
    while text_at(src, at) == b"[":
        close = closing(src, at)
        if close is None:
            return
        is_array, at = True, close + 1
    is_copied = text_at(src, at) == b"="
    at += is_copied
    if text_at(src, at) != b"{":
        return
    if not is_array:
        yield at, vector, is_copied
        return
    end = closing(src, at)
    inner = at + 1
    while end is not None and inner < end:
        if text_at(src, inner) == b"{":
            if text_at(src, inner - 1) in (b"{", b","):  # no type stands before it
                yield inner, vector, True
            inner = closing(src, inner) or end
        inner += 1
