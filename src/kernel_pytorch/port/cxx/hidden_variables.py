"""Variables in the GPU's memory that clang gives no symbol to other modules."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.port.cxx.compiled_on_rocm import is_within, left_out_on_cuda
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import OPENING, closing, text_at, words

MEMORY = (b"__constant__", b"__device__")
_BEFORE_BRACKET = frozenset((b"alignas", b"__align__", b"__attribute__", b"__declspec", b"decltype"))


def hidden_variables(src: CxxFile) -> Iterator[tuple[bytes, int, bool]]:
    """The names of variables in the GPU's memory that other modules do not see, each with the index of the word that
    hides it, and whether that is `const`: what is const is static without the word."""
    for memory in MEMORY:
        for index in words(src).get(memory, ()):
            start = src.code[index].start
            if device_region_at(src, start) is not None or is_within(start, left_out_on_cuda(src)):
                continue
            end, names = _declared(src, index)
            said = {text_at(src, at): at for at in range(_first(src, index), end)}
            const = next((said[word] for word in (b"const", b"constexpr") if word in said and b"*" not in said), None)
            hiding = const if const is not None else said.get(b"static")
            if hiding is not None and b"extern" not in said:
                yield from ((name, hiding, const is not None) for name in names)


def _first(src: CxxFile, index: int) -> int:
    """Where the declaration begins that a word belongs to."""
    while index and src.code[index - 1].kind != "directive" and text_at(src, index - 1) not in (b";", b"{", b"}"):
        index -= 1
    return index


def _declared(src: CxxFile, index: int) -> tuple[int, list[bytes]]:
    """The names that a declaration gives to variables, and where its own words end. None for a function."""
    names: list[bytes] = []
    words_end = None
    at = index + 1
    while at < len(src.code) and src.code[at].kind != "directive":
        text, before = text_at(src, at), text_at(src, at - 1)
        if text in (b"[", b"=", b";", b"{", b",") and src.code[at - 1].kind == "identifier":
            names.append(before)
            words_end = words_end or at
        if text in (b";", b"}"):
            break
        if text in OPENING:
            close = closing(src, at)
            if close is None or (text == b"(" and words_end is None and before not in _BEFORE_BRACKET):
                return at, []
            at = close
        at += 1
    return words_end or at, names
