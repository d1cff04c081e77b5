"""The type a name was declared with, where the nearest declaration before it says so in one word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.port.cxx.tokens import text_at

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

_NO_TYPE = frozenset((b"return", b"else", b"case", b"goto", b"do", b"const", b"volatile", b"static", b"new"))


def declared_type(src: CxxFile, index: int, types: frozenset[bytes]) -> bytes | None:
    """One of `types`, for the name that token `index` uses. None where it is a member, is being declared, or the
    nearest declaration before it has another type."""
    code = src.code
    if index < 1 or code[index].kind != "identifier" or text_at(src, index - 1) in types | {b".", b"->", b"::"}:
        return None
    name = text_at(src, index)
    for at in range(index - 1, 0, -1):
        if code[at].kind != "identifier" or text_at(src, at) != name:
            continue
        before = text_at(src, at - 1)
        if before in types:
            return before
        if code[at - 1].kind == "identifier" and before not in _NO_TYPE:
            return None
        if before == b",":
            first = _type_of_list(src, at - 1, types)
            if first is not None:
                return first
    return None


def _type_of_list(src: CxxFile, comma: int, types: frozenset[bytes]) -> bytes | None:
    """`half2 a, b;`: the type that stands before the first name of the list."""
    at = comma
    while at > 1 and text_at(src, at) == b"," and src.code[at - 1].kind == "identifier":
        if text_at(src, at - 2) in types:
            return text_at(src, at - 2)
        at -= 2
    return _type_of_statement(src, at, types)


def _type_of_statement(src: CxxFile, comma: int, types: frozenset[bytes]) -> bytes | None:
    """`dim3 a(1, 2), b;`: names before this comma have values. The type stands where the statement begins."""
    depth = 0
    for at in range(comma - 1, -1, -1):
        text = text_at(src, at)
        if depth == 0 and (text in (b";", b"{", b"}") or src.code[at].kind == "directive") and at < comma - 1:
            first = at + 1
            while text_at(src, first) in (b"const", b"static"):
                first += 1
            is_declared = src.code[first + 1].kind == "identifier"
            return text_at(src, first) if text_at(src, first) in types and is_declared else None
        if text in (b")", b"]", b"}"):
            depth += 1
        elif text in (b"(", b"[", b"{"):
            depth -= 1
        if depth < 0:  # an argument of a call
            return None
    return None
