"""The version of CUDA that a port presents on AMD: 12.0.

HIP defines none of CUDA's version macros, so that each is 0 in a condition, and `#if CUDART_VERSION >= 4000` compiles
what was written for the oldest CUDA. HIP 7 has what CUDA 12.0 has in names, forms and meaning (the members of
cudaDeviceProp that CUDA 13 took away are there, stream capture and memory pools too), so a test is answered as CUDA
12.0 would, unless the branch that it then takes needs what AMD lacks: then the answer stays that of 0, which is the
branch for older CUDA. Whoever asks about a file gets the same answers: what a ROCm build leaves out, KP222's edits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.branches import ends_copies, is_without_work, only_defines
from kernel_pytorch.port.cxx.conditions import Atom, Condition, atoms, compare, evaluate, parse_condition
from kernel_pytorch.port.cxx.directives import Branch, Conditional, conditionals, directives, nests_beyond_reason
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import words

# Each library's number in CUDA 12.0. cuDNN is not among them: MIOpen is another library.
PRESENTED = {
    b"CUDA_VERSION": 12000, b"CUDART_VERSION": 12000, b"__CUDACC_VER_MAJOR__": 12, b"__CUDACC_VER_MINOR__": 0,
    b"CUBLAS_VERSION": 120000, b"CUSPARSE_VERSION": 12000, b"CUSOLVER_VERSION": 11400, b"CUFFT_VERSION": 11000,
    b"CURAND_VERSION": 10301,
}  # fmt: skip
# What a program that shows the number gets: HIP's own version in the form of CUDA's numbers.
SHOWN_VERSION = b"(HIP_VERSION_MAJOR * 1000 + HIP_VERSION_MINOR * 10)"
# Somebody thought of AMD or of the GPU's generation here: theirs, and KP220's.
_DECIDED_ELSEWHERE = re.compile(rb"\b(?:\w*_?ROCM|\w*HIP\w*|__CUDA_ARCH__)\b")
_NVIDIA_ONLY = re.compile(
    rb"\b(?:asm|__asm__|cutlass|cute|__CUDA_ARCH__)\b|\bcuda::(?!std::|(?:atomic_ref|ceil_div|round_up|thread_scope\w*|barrier|latch|(?:counting|binary)_semaphore|\w*pipeline\w*|"
    rb"memcpy_async|aligned_size_t)\b)\w"
    rb"|^[ \t]*#[ \t]*error\b",
    re.MULTILINE,
)
# Inline PTX that has a form on AMD (KP230 to KP232): the statement up to its text, and its instructions.
_ASM = re.compile(rb"\b(?:__)?asm(?:__)?\b\s*(?:__)?(?:volatile)?(?:__)?\s*\(((?:\s*\"(?:[^\"\\]|\\.)*\")+)", re.DOTALL)
_PORTED = re.compile(
    rb"cp\.async\.(?:c[ag]|commit_group|wait_group|wait_all)\b|mma\.sync\.(?!.*(?:kind::|block_scale))|(?:ld|st|mov)matrix\.sync\b"
    rb"|(?:ld|st)\.(?:volatile\.|relaxed\.|acquire\.|release\.)?(?:global|shared)\b|fence\.(?!proxy)|createpolicy\."
    rb"|(?:add|sub|mul|mad|fma|min|max|and|or|xor|not|shl|shr|shf|lop3|prmt|bfe|bfi|mov|setp|selp|red|prefetch)\."
)
_INCLUDE = re.compile(rb"#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]")
_FOLDERS_WITHOUT = (b"cuda/", b"nv/", b"cutlass/", b"cute/", b"nvtx3/", b"thrust/system/cuda/")


@lru_cache(maxsize=8)
def presented_atoms(src: CxxFile) -> frozenset[Span]:
    """The places of the version tests of a file that are answered as CUDA 12.0 would. All others are answered by 0."""
    if not any(macro in src.data for macro in PRESENTED) or nests_beyond_reason(src):
        return frozenset()
    own = {src.text(one.tokens[0]) for one in directives(src) if one.name in (b"define", b"undef") and one.tokens}
    tests = [one for conditional in conditionals(src) if (one := _tests(src, conditional, own))]
    # A test that AMD cannot answer as 12.0 says how new AMD's CUDA is at most. What asks for as much belongs to it: the
    # calls of functions that another branch defines.
    limits: dict[bytes, int] = {}
    for test in tests:
        for atom in test.asked if test.needs_nvidia else ():
            if atom.number:
                limits[atom.macro] = min(atom.number, limits.get(atom.macro, atom.number))
    return frozenset(
        atom.span
        for test in tests
        if test.changes and not test.needs_nvidia
        if all(one.number < limits.get(one.macro, one.number + 1) for one in test.asked)
        for atom in test.asked
    )


@dataclass(frozen=True)
class _Test:
    """A conditional that asks for versions: where, whether 12.0 answers otherwise than 0, and with code for NVIDIA."""

    asked: tuple[Atom, ...]
    changes: bool
    needs_nvidia: bool


def presented_truth(atom: Atom) -> bool:
    """The answer of CUDA 12.0."""
    return atom.operator in ("defined", "value") or compare(PRESENTED[atom.macro], atom.operator, atom.number)


def _tests(src: CxxFile, conditional: Conditional, own: set[bytes]) -> _Test | None:
    trees: list[Condition | None] = []
    asked: list[Atom] = []
    for branch in conditional.branches:
        texts = [src.text(token) for token in branch.directive.tokens]
        named = sum(text in PRESENTED for text in texts)
        tree = None if branch.directive.name == b"else" else parse_condition(src, branch.directive)
        trees.append(tree)
        if not named:
            continue
        leaves = () if tree is None else atoms(tree)
        versions = [leaf for leaf in leaves if isinstance(leaf, Atom) and leaf.macro in PRESENTED]
        if len(versions) != named or own & {leaf.macro for leaf in versions}:
            return None
        asked += versions
    if not asked or any(_is_decided_elsewhere(src, branch.directive.span) for branch in conditional.branches):
        return None
    old, new = (_possible(trees, value) for value in (_as_zero, _as_presented))
    needs = any(needs_nvidia(src, conditional.branches[index].body) for index in new - old)
    return _Test(tuple(asked), old != new, needs)


def _is_decided_elsewhere(src: CxxFile, directive: Span) -> bool:
    return _DECIDED_ELSEWHERE.search(src.data, directive.start, directive.end) is not None


def _possible(trees: Sequence[Condition | None], value: Callable[[Atom], bool | None]) -> set[int]:
    """The branches that some setting of the other macros compiles."""
    found: set[int] = set()
    for index, tree in enumerate(trees):
        truth = None if tree is None else evaluate(tree, value)
        if truth is not False:
            found.add(index)
        if truth is True:
            break
    return found


def _as_zero(atom: Atom) -> bool | None:
    if atom.macro not in PRESENTED:
        return None
    return False if atom.operator in ("defined", "value") else compare(0, atom.operator, atom.number)


def _as_presented(atom: Atom) -> bool | None:
    return presented_truth(atom) if atom.macro in PRESENTED else None


def needs_nvidia(src: CxxFile, body: Span, skipped: Sequence[Span] = ()) -> bool:
    """Whether a branch uses what AMD lacks, or switches a macro on whose code is elsewhere; but for parts of it."""
    text = src.data[body.start : body.end]
    for part in skipped:
        start, end = part.start - body.start, part.end - body.start
        text = text[:start] + b" " * (end - start) + text[end:]
    text = _ASM.sub(_without_ported, text)
    if only_defines(text) and b"define" in text:
        return not _switches_ported_code(src, text)
    if _NVIDIA_ONLY.search(text):
        return True
    included = _INCLUDE.findall(text)
    absent = _absent()
    if any(path in absent or path.startswith(_FOLDERS_WITHOUT) for path in included):
        return True
    places = (src.code.starts[index] for name in src.vocabulary & absent for index in words(src).get(name))
    return any(
        body.start <= place < body.end and not any(part.start <= place < part.end for part in skipped)
        for place in places
    )


_SWITCH = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:[ \t]+1)?[ \t]*(?://[^\n]*)?\r?$", re.MULTILINE)


def _switches_ported_code(src: CxxFile, text: bytes) -> bool:
    """Whether a branch only switches macros on. The file has code under them, all of it with a form on AMD, and some of
    it is left out where they are off."""
    macros = set(_SWITCH.findall(text))
    if not macros or len(macros) != len(set(re.findall(rb"#[ \t]*(?:define|undef)[ \t]+(\w+)", text))):
        return False
    is_missed = False
    for conditional in conditionals(src):
        first = conditional.branches[0]
        if _names(src, first) & macros and first.directive.name in (b"ifdef", b"if"):
            switched = [first, *(one for one in conditional.branches[1:] if _names(src, one) & macros)]
            others = [one for one in conditional.branches[1:] if one not in switched]
            body = src.data[first.body.start : first.body.end]
            if only_defines(body) or any(needs_nvidia(src, one.body) for one in switched):
                return False
            # Code for older GPUs may do for one macro, and another has none.
            is_missed |= (bool(others) or not ends_copies(body)) and all(
                is_without_work(src.data[one.body.start : one.body.end]) for one in others
            )
    return is_missed


def _names(src: CxxFile, branch: Branch) -> set[bytes]:
    return {src.text(token) for token in branch.directive.tokens}


def _without_ported(asm: re.Match[bytes]) -> bytes:
    """Nothing, where every instruction of the statement has a form on AMD."""
    text = re.sub(rb"\\[nt]|\"\s*\"", b" ", asm[1].strip().strip(b'"'))
    instructions = [re.sub(rb"^[\s{}]*(?:@!?%?\w+\s+)?", b"", one) for one in text.split(b";")]
    named = [one for one in instructions if one.strip(b' "') and not one.startswith(b".reg")]
    return b"" if all(_PORTED.match(one) for one in named) else asm[0]


@lru_cache(maxsize=1)
def _absent() -> frozenset[bytes]:
    """Names and headers of CUDA without a counterpart in HIP, and without one that kpt writes."""
    tables = files("kernel_pytorch.port.tables")
    absent = re.findall(rb"^([^,\n]+),,", tables.joinpath("cuda_names.csv").read_bytes(), re.MULTILINE)
    written: set[bytes] = set(PRESENTED)
    for file in tables.joinpath("hip_shims").iterdir():
        for head in re.findall(rb"^//: ([^<\n]+)", file.read_bytes(), re.MULTILINE):
            written.update(head.split())
    return frozenset(absent) - written
