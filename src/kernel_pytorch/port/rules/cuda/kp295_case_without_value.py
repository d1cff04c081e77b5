"""A case for a value that HIP does not have

What: `case CUFFT_NVRTC_FAILURE:` in a switch over a status, an attribute or another enumeration, where HIP has no such
    enumerator. Headers that turn every status into text have many of them, and every unit that includes one fails.
Why: The name is not declared on ROCm.
Fix: kpt leaves the case out on AMD, with its statements up to the `break` or `return` that ends them: no call of HIP
    or a ROCm library gives the value. A case whose statements run on into the next one is left to you (KP202).
Source: https://github.com/ROCm/HIPIFY/tree/amd-staging/docs/tables. We compared both vendors' headers (CUDA 11 to 13,
    ROCm 7.2); port/tables/cuda_names.csv has the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.names.shims import shims
from kernel_pytorch.port.names.table import find_name, project_names, table_words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP295", "case-without-value", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"case ",))

_JUMPS = frozenset((b"break", b"return", b"throw", b"continue", b"goto"))
_LABELS = frozenset((b"case", b"default"))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each case of an enumerator without a counterpart that can be left out."""
    if not any(map(_is_absent, table_words(src))):
        return
    own: frozenset[bytes] | None = None
    for index in words(src).get(b"case", ()):
        name = text_at(src, index + 1)
        if text_at(src, index + 2) != b":" or not _is_absent(name):
            continue
        own = own if own is not None else project_names(src, unit.files)
        start = src.code[index].start
        if name in own or is_in_directive(src, start):
            continue
        last = _last_token(src, index)
        if last is None:
            continue
        token = src.code[index + 1]
        message = f"{name.decode()}: HIP has no such value, so the case is left out on AMD"
        edit = Edit(_whole_lines(src, start, src.code[last].end), b"")
        yield RULE.finding(src, Span(token.start, token.end), message, [edit])


def _is_absent(name: bytes) -> bool:
    row = find_name(name)
    return row is not None and not row.hip and row.kind in ("enum", "macro") and name not in shims()


def _last_token(src: CxxFile, case: int) -> int | None:
    """The last token that goes with a case; None where others depend on what the case runs."""
    after = case + 3
    is_shared = text_at(src, case - 1) == b":" or text_at(src, after) in _LABELS
    if is_shared:
        return case + 2
    if not _is_entered_by_its_label_only(src, case):
        return None
    at = after
    while at < len(src.code) and src.code[at].kind != "directive":
        text = text_at(src, at)
        if text in _LABELS or text == b"}":
            return None  # runs on into the next case, or out of the switch without a jump
        if text in _JUMPS:
            begins = text_at(src, at - 1) in (b":", b";", b"}")
            return _end_of_statement(src, at) if begins else None
        if text == b"{" and at == after:
            return _end_of_block(src, at)
        at = closing(src, at) or at if text in (b"(", b"{", b"[") else at
        at += 1
        # `if (x) break;` jumps sometimes only.
        if text in (b"if", b"for", b"while", b"do", b"else", b"switch"):
            return None
    return None


def _is_entered_by_its_label_only(src: CxxFile, case: int) -> bool:
    """Whether the statement in front of a case leaves the switch, or there is none."""
    last = case - 1
    while last > 0 and is_in_directive(src, src.code[last].start):
        if src.code[last].kind == "directive" and not text_at(src, last).startswith(b"#if"):
            return False  # what is in front may be one of several branches
        last -= 1
    before = text_at(src, last)
    if before == b"{":
        return True
    at = last - 1
    if before == b"}" and text_at(src, at) == b";":
        at -= 1  # `{ ... break; }`
    elif before != b";":
        return False
    while at > 0 and text_at(src, at) not in (b";", b"{", b"}", b":"):
        at -= 1
    return text_at(src, at + 1) in _JUMPS


def _end_of_statement(src: CxxFile, at: int) -> int | None:
    while at < len(src.code) and src.code[at].kind != "directive":
        text = text_at(src, at)
        if text == b";":
            return at
        at = closing(src, at) or at if text in (b"(", b"{", b"[") else at
        at += 1
    return None


def _end_of_block(src: CxxFile, opening: int) -> int | None:
    """The end of `{ ... break; }` or of `{ ... } break;`."""
    end = closing(src, opening)
    if end is None:
        return None
    if text_at(src, end + 1) == b"break" and text_at(src, end + 2) == b";":
        return end + 2
    at = end - 1
    if text_at(src, at) != b";":
        return None
    at -= 1
    while at > opening and text_at(src, at) not in (b";", b"{", b"}"):
        at -= 1
    return end if text_at(src, at + 1) in _JUMPS else None


def _whole_lines(src: CxxFile, start: int, end: int) -> Span:
    """The lines of a case, with the empty line behind it, where it has them for itself."""
    first = src.line_span(start)[0]
    last = src.line_span(end - 1)[1]
    if src.data[first:start].strip() or src.data[end:last].strip():
        return Span(start, end)
    following = src.line_span(last)[1] if last < len(src.data) else last
    return Span(first, last if src.data[last:following].strip() else following)
