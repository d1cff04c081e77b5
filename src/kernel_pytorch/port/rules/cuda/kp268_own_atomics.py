"""The project's own atomic functions that HIP has

What: The project defines, at file scope and for the device, an atomic function that HIP has and CUDA does not have:
    minimum and maximum of float and double, atomicAdd for double, or the functions for unsigned long, which uint64_t
    and size_t are on Linux. A function for the host alone, or in a namespace, does not clash with HIP's and stays.
Why: CUDA has no such overload, or had none, so projects write one with atomicCAS. HIP has the function too, and the
    two clash.
Fix: kpt leaves the definition out on ROCm. HIP's function returns the old value too.
Source: projects/clr/hipamd/include/hip/amd_detail/amd_hip_atomic.h in ROCm/rocm-systems
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import is_in_named_namespace, text_at, words
from kernel_pytorch.port.names.table import matching
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.lexer import Token
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

# What HIP declares and CUDA does not.
_FLOATS = (b"float", b"double")
_LONG = b"unsigned long"
_IN_HIP: Mapping[bytes, tuple[bytes, ...]] = {
    b"atomicAdd": (b"double", _LONG),
    b"atomicSub": (*_FLOATS, _LONG, b"unsigned long long"),
    b"atomicExch": (b"double", _LONG),
    b"atomicCAS": (*_FLOATS, _LONG),
    b"atomicMin": (*_FLOATS, _LONG),
    b"atomicMax": (*_FLOATS, _LONG),
    b"atomicAnd": (_LONG,),
    b"atomicOr": (_LONG,),
    b"atomicXor": (_LONG,),
}
_IN_STD = (b"uint64_t", b"size_t")
_NAMES_OF_LONG = {(b"ulong",), *((name,) for name in _IN_STD), *((b"std", b"::", name) for name in _IN_STD)}

RULE = Rule("KP268", "own-atomics", languages=("cuda",), safety=Safety.SAFE, triggers=tuple(_IN_HIP))

_BEFORE = frozenset((b"__device__", b"__forceinline__", b"static", b"inline", b"__inline__", b"__host__"))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each definition of an overload that HIP declares."""
    for index in sorted(index for name in _IN_HIP for index in words(src).get(name)):
        found = _definition(src, unit, index)
        if found is not None and not is_in_named_namespace(src, index):
            span, kind = found
            message = f"{text_at(src, index).decode()} for {kind.decode()} is declared by HIP as well"
            yield RULE.finding(src, span, message, [Edit(span, b"")])


def _definition(src: CxxFile, unit: Unit, index: int) -> tuple[Span, bytes] | None:
    """The whole definition of a function of HIP's at a name, and the type that it is for."""
    code = src.code
    closing = matching(src.data, code, index + 1) if text_at(src, index + 1) == b"(" else None
    if closing is None or text_at(src, closing + 1) != b"{":
        return None
    name = src.text(code[index])
    kind = _type_of_pointer(_words_of(src, code[index + 2 : closing]))
    if kind not in _IN_HIP[name]:
        return None
    first = _start_of_type(src, index, kind)
    others = [_words_of(src, span) for span in _parameters(src, index + 2, closing)[1:]]
    if first is None or len(others) != (2 if name == b"atomicCAS" else 1):
        return None
    if any(kind not in (_kind(words), _kind(words[:-1])) for words in others):
        return None
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
    return (Span(code[first].start, code[end].end), kind) if end is not None else None


def _parameters(src: CxxFile, first: int, closing: int) -> list[Sequence[Token]]:
    commas = [at for at in range(first, closing) if text_at(src, at) == b","]
    return [
        src.code[start:end] for start, end in zip([first, *(at + 1 for at in commas)], [*commas, closing], strict=True)
    ]


def _words_of(src: CxxFile, tokens: Sequence[Token]) -> tuple[bytes, ...]:
    words = (src.text(token) for token in tokens)
    return tuple(word for word in words if word not in (b"const", b"volatile", b"__restrict__", b"__restrict"))


def _type_of_pointer(words: tuple[bytes, ...]) -> bytes:
    return _kind(words[: words.index(b"*")]) if b"*" in words else b""


def _kind(words: tuple[bytes, ...]) -> bytes:
    """One name for all the spellings of a type, `unsigned long` for `std::uint64_t`."""
    if words in _NAMES_OF_LONG:
        return _LONG
    return b" ".join(sorted((word for word in words if word != b"int"), reverse=True)) if words else b""


def _start_of_type(src: CxxFile, index: int, kind: bytes) -> int | None:
    """Where the type that the function returns begins. One that returns nothing clashes too."""
    for length in (4, 3, 2, 1):
        words = tuple(text_at(src, at) for at in range(max(index - length, 0), index))
        if words == (b"void",) or _kind(words) == kind:
            return index - len(words)
    return None


def _is_specifier(src: CxxFile, unit: Unit, index: int) -> bool:
    """A word that may stand before a function's type: one of the language, or a macro of the project's."""
    word = src.text(src.code[index])
    return (word in _BEFORE or word in unit.macros) and not is_in_directive(src, src.code[index].start)


def _marks_device(unit: Unit, word: bytes) -> bool:
    """`__device__`, or a macro of the project that says it."""
    return word == b"__device__" or any(b"__device__" in macro.body for macro in unit.macros.get(word, ()))
