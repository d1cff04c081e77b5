"""Objects with a constructor in shared memory

What: `__shared__ Vec3 corners[8];` of a type whose constructor does something, or whose members have initial values.
Why: nvcc leaves the memory as it is and warns. clang refuses the variable: "initialization is not supported for
    __shared__ variables".
Fix: On ROCm kpt reserves bytes of that size and alignment and makes the variable a reference to them. As with nvcc, no
    constructor runs.
Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/, "__shared__ memory variables";
    clang/lib/Sema/SemaCUDA.cpp in llvm/llvm-project (checkAllowedInitializer)
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.directives import is_in_directive
from kernel_pytorch.port.cxx.tokens import closing, text_at
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair("KP229", "shared-object", re.compile(r"initialization is not supported for __shared__ variables"))
_NOT_OF_A_TYPE = frozenset((b",", b"=", b"(", b"{", b"__align__", b"alignas", b"__attribute__", b"extern", b"volatile"))


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """One variable, or one array, declared in a statement of its own."""
    src = place.src
    code = src.code
    name = next((index for index, token in enumerate(code) if token.end > place.offset), None)
    if name is None or code[name].kind != "identifier":
        return ()
    behind = name + 1
    while text_at(src, behind) == b"[":
        behind = (closing(src, behind) or len(code)) + 1
    first = name
    while first > 0 and text_at(src, first - 1) not in (b";", b"{", b"}", b")", b":"):
        first -= 1
    words = [text_at(src, at) for at in range(first, name)]
    if b"static" in words[:1]:
        first, words = first + 1, words[1:]
    if words[:1] != [b"__shared__"] or len(words) < 2 or text_at(src, behind) != b";":
        return ()
    if _is_no_plain_type(words[1:]) or is_in_directive(src, code[name].start):
        return ()
    word = text_at(src, name)
    kind = src.data[code[first + 1].start : code[name - 1].end]
    sizes = src.data[code[name].end : code[behind - 1].end] if behind > name + 1 else b""
    made = (
        b"typedef %b kpt_%b_type%b; __shared__ alignas(kpt_%b_type) unsigned char kpt_%b[sizeof(kpt_%b_type)]; "
        b"kpt_%b_type& %b = *reinterpret_cast<kpt_%b_type*>(kpt_%b);"
        % (kind, word, sizes, word, word, word, word, word, word, word)
    )
    return (Edit(Span(code[first].start, code[behind].end), made),)


def _is_no_plain_type(words: list[bytes]) -> bool:
    """Whether a comma or something else than a type's name stands outside of template arguments."""
    depth = 0
    for word in words:
        depth += {b"<": 1, b">": -1, b">>": -2}.get(word, 0)
        if depth == 0 and word in _NOT_OF_A_TYPE:
            return True
    return False
