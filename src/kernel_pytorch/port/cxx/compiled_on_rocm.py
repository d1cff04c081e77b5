"""Code that is never compiled for ROCm: `#if 0`, and the CUDA side of a gate somebody wrote before us."""

from __future__ import annotations

import re
from functools import lru_cache

from kernel_pytorch.port.cxx.conditions import Atom, compare, evaluate, parse_condition
from kernel_pytorch.port.cxx.reading import Directive, conditionals
from kernel_pytorch.port.source import SourceFile

ROCM_MACROS = frozenset({
    b"USE_ROCM", b"USE_HIP", b"__HIP_PLATFORM_AMD__", b"__HIP_PLATFORM_HCC__", b"__HIPCC__", b"__HIP__",
    b"__HIP_DEVICE_COMPILE__", b"GGML_USE_HIP", b"BUILD_HIP", b"TORCH_HIP_VERSION", b"HIP_VERSION",
})  # fmt: skip

# Versions of NVIDIA's software: HIP defines none of them, so that each is 0 in a condition.
VERSION_MACROS = frozenset({
    b"CUDA_VERSION", b"CUDART_VERSION", b"__CUDACC_VER_MAJOR__", b"__CUDACC_VER_MINOR__", b"CUDNN_VERSION",
    b"CUBLAS_VERSION", b"CUSPARSE_VERSION", b"CUSOLVER_VERSION", b"CUFFT_VERSION", b"CURAND_VERSION",
})  # fmt: skip


# A capability HIP does not define either. Up to this one a test for it is rewritten (KP220): AMD GPUs have what it asks
# for. Above, it stays as it is, and is 0.
CAPABILITY = b"__CUDA_ARCH__"
MATCHED_CAPABILITY = 700


def value_on_rocm(atom: Atom) -> bool | None:
    """What a part of a condition is where HIP compiles; None for a macro we know nothing about."""
    if atom.macro in ROCM_MACROS:
        return True if atom.operator in ("defined", "value") else None
    if atom.macro == CAPABILITY and atom.operator not in ("defined", "value") and atom.number > MATCHED_CAPABILITY:
        return compare(0, atom.operator, atom.number)
    if atom.macro not in VERSION_MACROS:
        return None
    return False if atom.operator in ("defined", "value") else compare(0, atom.operator, atom.number)


@lru_cache(maxsize=4)
def left_out_regions(src: SourceFile) -> tuple[tuple[int, int], ...]:
    """Branches that a ROCm build leaves out, for a gate, a version or a capability of NVIDIA's not defined there."""
    left_out = list(dead_regions(src))
    if not any(macro in src.data for macro in (*VERSION_MACROS, CAPABILITY)):
        return tuple(left_out)
    for conditional in conditionals(src):
        is_taken = False
        for branch in conditional.branches:
            tree = None if branch.directive.name == b"else" else parse_condition(src, branch.directive)
            verdict = None if tree is None else evaluate(tree, value_on_rocm)
            if is_taken or verdict is False:
                left_out.append((branch.body.start, branch.body.end))
            is_taken = is_taken or verdict is True
    return tuple(left_out)


def compiled_text(src: SourceFile) -> bytes:
    """The file as a ROCm build reads it, offsets unchanged: comments, strings and what is left out are blank."""
    blank = [(token.start, token.end) for token in src.tokens if token.kind in ("comment", "string")]
    text = bytearray(src.data)
    done = 0  # branches lie inside branches: each byte is blanked once
    for start, end in sorted((*blank, *left_out_regions(src))):
        start = max(start, done)
        if start < end:
            text[start:end] = _VISIBLE.sub(b" ", src.data[start:end])
            done = end
    return bytes(text)


_VISIBLE = re.compile(rb"[^\s]")


@lru_cache(maxsize=4)
def dead_regions(src: SourceFile) -> tuple[tuple[int, int], ...]:
    """Spans of text that a ROCm build leaves out."""
    dead: list[tuple[int, int]] = []
    for conditional in conditionals(src):
        first = _verdict(src, conditional.branches[0].directive)
        if first is False:
            dead.append((conditional.branches[0].body.start, conditional.branches[0].body.end))
        for branch in conditional.branches[1:]:
            verdict = None if branch.directive.name == b"else" else _verdict(src, branch.directive)
            if first is True or verdict is False:
                dead.append((branch.body.start, branch.body.end))
    return tuple(sorted(dead))


def is_dead(src: SourceFile, offset: int) -> bool:
    """Whether an offset lies in text a ROCm build leaves out."""
    return any(start <= offset < end for start, end in dead_regions(src))


def _verdict(src: SourceFile, directive: Directive) -> bool | None:
    """True or False where the condition is settled on ROCm by a single macro or a literal; None otherwise."""
    tokens = [src.data[token.start : token.end] for token in directive.tokens]
    if directive.name in (b"ifdef", b"elifdef", b"ifndef", b"elifndef"):
        if len(tokens) == 1 and tokens[0] in ROCM_MACROS:
            return directive.name.endswith(b"ifdef")
        return None
    whole = tokens
    negated = False
    while tokens and tokens[0] == b"!":
        negated = not negated
        tokens = tokens[1:]
    plain = [text for text in tokens if text not in (b"(", b")", b"defined")]
    if len(plain) == 1 and plain[0] in ROCM_MACROS:
        return not negated
    if len(plain) == 1 and plain[0] in (b"0", b"1") and b"defined" not in tokens:
        return (plain[0] == b"1") != negated
    if _is_any_of(tokens) and any(text in ROCM_MACROS for text in plain):
        return not negated
    if b"||" not in whole and b"&&" in whole and _excludes_rocm(whole):
        return False
    return None


def _is_any_of(tokens: list[bytes]) -> bool:
    """`defined(A) || defined(B)`: a plain disjunction, which one of its macros settles."""
    words = {text for text in tokens if text not in (b"(", b")", b"defined", b"||")}
    return b"||" in tokens and all(re.fullmatch(rb"[A-Za-z_]\w*", text) for text in words)


def _excludes_rocm(tokens: list[bytes]) -> bool:
    """`... && !defined(USE_ROCM)`."""
    for index, text in enumerate(tokens):
        if text in ROCM_MACROS:
            back = [item for item in tokens[max(0, index - 3) : index] if item not in (b"(", b"defined")]
            if back[-1:] == [b"!"]:
                return True
    return False
