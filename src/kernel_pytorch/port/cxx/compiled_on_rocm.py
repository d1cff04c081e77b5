"""What a ROCm build compiles of a file, and what it leaves out: `#if 0`, the CUDA side of a gate somebody wrote before
us, code for a version of NVIDIA's software or a capability of NVIDIA's GPUs.

A branch is left out only where that is certain. One that some setting of the macros we know nothing about compiles
counts as compiled.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from kernel_pytorch.core.findings import Finding, Span
from kernel_pytorch.port.cxx.absent_kits import absent_kit
from kernel_pytorch.port.cxx.conditions import Atom, Condition, compare, evaluate, parse_condition
from kernel_pytorch.port.cxx.directives import conditionals, directives
from kernel_pytorch.port.cxx.presented_capability import CAPABILITY, MATCHED_CAPABILITY, SPECIFIC, newer_atoms
from kernel_pytorch.port.cxx.presented_version import presented_atoms, presented_truth
from kernel_pytorch.port.cxx.source import CxxFile, read_once

# HIP's compiler defines these. The host's compiler, which reads plain C++ files, does not.
_OF_HIPCC = frozenset({b"__HIPCC__", b"__HIP__"})
_READ_BY_HIPCC = (".cu", ".cuh", ".hip")
# True in the pass for the device alone.
_DEVICE_PASS = b"__HIP_DEVICE_COMPILE__"
ROCM_MACROS = _OF_HIPCC | {
    b"USE_ROCM", b"USE_HIP", b"__HIP_PLATFORM_AMD__", b"__HIP_PLATFORM_HCC__", _DEVICE_PASS, b"TORCH_HIP_VERSION",
    b"HIP_VERSION",
}  # fmt: skip
# A project's own switch for its AMD build: FMOE_USE_HIP, MMCV_WITH_HIP, BUILD_HIP, ENABLE_ROCM.
_OWN_SWITCH = re.compile(rb"(?:\w+_)?(?:USE|WITH|BUILD|ENABLE|HAVE|HAS|IS|TARGET)_(?:HIP|ROCM)(?:BLAS)?")

# Versions of NVIDIA's software: HIP defines none of them. `presented_version` says which tests of them AMD answers.
VERSION_MACROS = frozenset({
    b"CUDA_VERSION", b"CUDART_VERSION", b"__CUDACC_VER_MAJOR__", b"__CUDACC_VER_MINOR__", b"CUDNN_VERSION",
    b"CUBLAS_VERSION", b"CUSPARSE_VERSION", b"CUSOLVER_VERSION", b"CUFFT_VERSION", b"CURAND_VERSION",
})  # fmt: skip

Value = Callable[[Atom], bool | None]


def is_rocm_macro(name: bytes) -> bool:
    """Whether a macro is defined in builds for AMD alone, by HIP, by torch, or by the project as its name says."""
    return name in ROCM_MACROS or is_own_switch(name)


def is_own_switch(name: bytes) -> bool:
    """Whether a macro is, as its name says, what a project's own build for AMD defines."""
    return name not in ROCM_MACROS and _OWN_SWITCH.fullmatch(name) is not None


def left_out(src: CxxFile) -> tuple[Span, ...]:
    """What a ROCm build leaves out, in order. Each span lies between two preprocessor lines; none is inside another."""
    return _left_out(src)[0]


def left_out_on_cuda(src: CxxFile) -> tuple[Span, ...]:
    """The same for a CUDA build: what somebody wrote for AMD, besides what nobody compiles."""
    return _left_out(src)[1]


def is_compiled(src: CxxFile, offset: int) -> bool:
    """Whether a ROCm build compiles the text at an offset."""
    return not is_within(offset, left_out(src))


def is_within(offset: int, spans: tuple[Span, ...]) -> bool:
    """Whether an offset lies in one of several spans, which are in order."""
    index = bisect_right(spans, offset, key=lambda span: span.start) - 1
    return index >= 0 and offset < spans[index].end


def compiled_findings(src: CxxFile, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings at places that a ROCm build compiles: the others are about code that it never sees. What an earlier
    port has put into the file is not looked at either."""
    findings = tuple(findings)
    kit = absent_kit(src) if findings else None
    if kit is not None:
        place = src.line_col(kit[1].start)
        return (one for one in findings if (one.line, one.col) == place)
    ours = _shims(src) if _SHIM in src.data else ()
    places = ((one, src.offset(one.line, one.col)) for one in findings)
    return (one for one, place in places if is_compiled(src, place) and not is_within(place, ours))


_SHIM = b"KPT_SHIM_"


@read_once
def _shims(src: CxxFile) -> tuple[Span, ...]:
    """The functions that kpt has written into the file, each under its guard."""
    heads = (one.branches[0] for one in conditionals(src))
    return _outermost(
        head.body for head in heads if any(src.text(token).startswith(_SHIM) for token in head.directive.tokens)
    )


@read_once
def compiled_text(src: CxxFile) -> bytes:
    """The file as a ROCm build reads it, offsets unchanged: comments, strings and what is left out are blank."""
    blank = [(start, end) for _, start, end in (*src.split.comments, *src.split.strings)]
    blank += [(span.start, span.end) for span in left_out(src)]
    text = bytearray(src.data)
    done = 0  # a comment may lie in a branch, and reach beyond it: each byte is blanked once
    for start, end in sorted(blank):
        start = max(start, done)
        if start < end:
            text[start:end] = src.data[start:end].translate(_BLANKED)
            done = end
    return bytes(text)


_BLANKED = bytes(byte if byte in b" \t\n\r\f\v" else ord(" ") for byte in range(256))


@read_once
def _left_out(src: CxxFile) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    known = [
        [
            (branch.body, None if branch.directive.name == b"else" else parse_condition(src, branch.directive))
            for branch in one.branches
        ]
        for one in conditionals(src)
    ]
    if not known:
        return (), ()
    # Each file is compiled twice, for the device and for the host: only what neither sees is left out.
    for_device, for_host = (set(_untaken(known, _on_rocm(src, is_device))) for is_device in (True, False))
    return _outermost(for_device & for_host), _outermost(_untaken(known, _on_cuda))


def _untaken(known: list[list[tuple[Span, Condition | None]]], value: Value) -> Iterator[Span]:
    """The branches whose condition is false, or that follow one whose condition is true."""
    for branches in known:
        is_taken = False
        for body, tree in branches:
            truth = None if tree is None else evaluate(tree, value)
            if is_taken or truth is False:
                yield body
            is_taken = is_taken or truth is True


def _outermost(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Without those inside others. Conditionals come in the order of the file, outer ones first."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if span.start < span.end and (not kept or span.start >= kept[-1].end):
            kept.append(span)
    return tuple(kept)


def _on_rocm(src: CxxFile, is_device: bool) -> Value:
    """What the parts of a condition are where ROCm compiles the file; None for a macro we know nothing about."""
    of_hipcc = True if src.path.endswith(_READ_BY_HIPCC) else None
    changed = _changed_macros(src)
    presented = presented_atoms(src)
    newer = newer_atoms(src)

    def value(atom: Atom) -> bool | None:
        is_comparison = atom.operator not in ("defined", "value")
        if atom.macro in changed:
            return None
        if atom.macro == _DEVICE_PASS:
            return None if is_comparison else is_device
        if atom.macro in _OF_HIPCC:
            return None if is_comparison else of_hipcc
        if is_rocm_macro(atom.macro):
            return None if is_comparison else True
        if atom.macro == CAPABILITY:
            if not is_comparison:
                return is_device
            if is_device and atom.span in newer:
                return True
            is_matched = is_device and atom.number <= MATCHED_CAPABILITY
            return compare(MATCHED_CAPABILITY if is_matched else 0, atom.operator, atom.number)
        if atom.span in presented:
            return presented_truth(atom)
        if SPECIFIC.fullmatch(atom.macro):
            return compare(0, atom.operator, atom.number) if is_comparison else False
        if atom.macro in VERSION_MACROS:
            return compare(0, atom.operator, atom.number) if is_comparison else False
        return None

    return value


def _changed_macros(src: CxxFile) -> set[bytes]:
    """The macros that the file itself sees to. A ROCm macro that it defines as other than 0 stays true."""
    changed = set()
    for directive in directives(src):
        if directive.name in (b"define", b"undef") and directive.tokens:
            name, *body = (src.text(token) for token in directive.tokens[:3])
            if directive.name == b"undef" or body == [b"0"] or not is_rocm_macro(name):
                changed.add(name)
    return changed


def _on_cuda(atom: Atom) -> bool | None:
    if not is_rocm_macro(atom.macro):
        return None
    return False if atom.operator in ("defined", "value") else compare(0, atom.operator, atom.number)
