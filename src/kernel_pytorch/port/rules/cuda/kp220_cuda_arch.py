"""__CUDA_ARCH__ in preprocessor conditions

What: `#ifdef __CUDA_ARCH__`, `#if __CUDA_ARCH__ >= N`, and the name used in code.
Why: HIP's device pass does not define it. Device code then takes the host branch, or the branch for the oldest GPUs,
    without any message.
Fix: A test whether this is the device pass becomes `__HIP_DEVICE_COMPILE__`, or `__HIPCC__` where it only chooses
    what functions are marked with (`#define BOTH __host__ __device__`). A comparison with 700 or less asks for
    what every current AMD GPU has (double and half atomics, half arithmetic, synchronised shuffles), so it becomes the
    same test. Above 700 the comparison stands for some NVIDIA feature. There AMD takes the branch for older GPUs. If
    there is none, AMD takes the newer branch (up to 890), provided that a port has a form of all that it needs, such
    as nvcuda::wmma, mma.sync or cp.async; kpt reports the other places, but for those that only wait for the kernel
    before (`griddepcontrol`): on AMD the kernels of a stream run one after the other. `if constexpr` on __CUDA_ARCH__
    is answered in the same way. Some projects define a fake value instead; that is a decision for the whole project.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html;
    https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-cuda/vendors/hip.h (a project that fakes a value).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.branches import branch_taken, branch_text, is_without_work, only_defines
from kernel_pytorch.port.cxx.compiled_on_rocm import is_rocm_macro
from kernel_pytorch.port.cxx.conditions import Atom, Condition, atoms, compare, evaluate, parse_condition
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.directives import Branch, Conditional, conditionals, directive_at, is_in_directive
from kernel_pytorch.port.cxx.presented_capability import (
    CAPABILITY,
    LAST_CAPABILITY,
    MATCHED_CAPABILITY,
    newer_atoms,
    special_parts,
)
from kernel_pytorch.port.cxx.presented_version import needs_nvidia
from kernel_pytorch.port.cxx.source import read_once
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP220", "cuda-arch", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"__CUDA_ARCH__",))

_MACRO = CAPABILITY
# All AMD GPUs have its features in HIP; it is also where tensor cores begin.
_MATCHED = MATCHED_CAPABILITY
# A CUDA of today: beside a capability, a version test asks whether the toolkit is old.
_VERSIONS = {b"CUDA_VERSION": 12000, b"CUDART_VERSION": 12000, b"__CUDACC_VER_MAJOR__": 12}
_TENSOR = re.compile(rb"\bmma\.sp|\bwmma\.|\bwgmma|\bcp\.async\.bulk")  # no form on AMD


def check(src: CxxFile) -> Iterator[Finding]:
    """Each condition that is decided wrongly on AMD, and each use outside conditions."""
    for conditional in conditionals(src):
        for position, branch in enumerate(conditional.branches):
            if any(src.text(token) == _MACRO for token in branch.directive.tokens):
                yield from _condition(src, conditional, position)
    for index in words(src).get(_MACRO, ()):
        token = src.code[index]
        if is_in_directive(src, token.start) and not _in_macro_body(src, token.start):
            continue
        span = Span(token.start, token.end)
        presented = _presented_in_code(src, index)
        if presented is None:
            yield RULE.finding(src, span, "__CUDA_ARCH__ is not defined by HIP: this use outside #if has no value")
        else:
            message = f"__CUDA_ARCH__ is not defined by HIP: AMD takes the branch for capability {presented / 100}"
            yield RULE.finding(src, span, message, [Edit(span, b"%d" % presented)])


def _presented_in_code(src: CxxFile, index: int) -> int | None:
    """The capability that answers `if constexpr (__CUDA_ARCH__ >= N)` of device code: that of an older GPU where the
    source has a branch for it, as in #if."""
    before, operator, number = text_at(src, index - 2), text_at(src, index + 1), text_at(src, index + 2)
    if before not in (b"if", b"constexpr") or text_at(src, index - 1) != b"(" or text_at(src, index + 3) != b")":
        return None
    region = device_region_at(src, src.code[index].start)
    if not number.isdigit() or region is None or region.is_host_too:
        return None
    if int(number) <= _MATCHED or operator not in (b">=", b">"):
        return _MATCHED
    end = closing(src, index + 4) if text_at(src, index + 4) == b"{" else None
    if end is None:
        return None
    if text_at(src, end + 1) == b"else":
        return _MATCHED
    body = Span(src.code[index + 4].start, src.code[end].end)
    return LAST_CAPABILITY if int(number) <= LAST_CAPABILITY and not needs_nvidia(src, body) else None


def _in_macro_body(src: CxxFile, offset: int) -> bool:
    found = directive_at(src, offset)
    if found is None or found.name != b"define" or not found.tokens:
        return False
    return src.text(found.tokens[0]) != _MACRO


def _condition(src: CxxFile, conditional: Conditional, position: int) -> Iterator[Finding]:
    branch = conditional.branches[position]
    if any(is_rocm_macro(src.text(token)) for token in branch.directive.tokens):
        return
    tree = parse_condition(src, branch.directive)
    if tree is None:
        yield RULE.finding(src, branch.directive.span, "a condition on __CUDA_ARCH__, which HIP does not define")
        return
    ours = [atom for atom in atoms(tree) if isinstance(atom, Atom) and atom.macro == _MACRO]
    hidden = len(ours) != sum(src.text(token) == _MACRO for token in branch.directive.tokens)
    body = branch_text(src, branch)
    settled = not hidden and all(_settled(atom) for atom in ours) and not _TENSOR.search(body)
    as_written = evaluate(tree, lambda atom: _as_written(atom))
    if settled:
        wanted = evaluate(tree, _on_device)
        mixed = any(isinstance(atom, Atom) and atom.macro in _VERSIONS for atom in atoms(tree))
        if mixed and wanted != as_written:
            yield RULE.finding(
                src, branch.directive.span, "a condition on __CUDA_ARCH__ and CUDA's version: HIP defines neither"
            )
        elif wanted is None or wanted != as_written:
            yield RULE.finding(
                src,
                branch.directive.span,
                "__CUDA_ARCH__ is not defined in HIP's device pass, which takes the other branch",
                _edits(src, branch.directive.name, ours, _marks_functions(src, conditional)),
            )
        return
    if not hidden and any(atom.span in newer_atoms(src) for atom in ours):
        message = "no branch for older GPUs, and AMD supports everything in this one: AMD compiles it"
        edits = [_edit(branch.directive.name, atom, True) for atom in ours]
        yield RULE.finding(src, branch.directive.span, message, edits)
        return
    yield from _unsettled(src, conditional, position, tree, as_written)


def _unsettled(
    src: CxxFile, conditional: Conditional, position: int, tree: Condition, as_written: bool | None
) -> Iterator[Finding]:
    branch = conditional.branches[position]
    if as_written is None:
        # Another macro decides; what matters is what __CUDA_ARCH__ adds, which is false for `>=`.
        as_written = evaluate(tree, lambda atom: _as_written(atom) if atom.macro == _MACRO else True)
    if as_written is None:
        return
    newer = any(isinstance(atom, Atom) and atom.operator in (">=", ">", "==") for atom in atoms(tree))
    if not as_written and (not newer or _specialises(src, branch)):
        return  # code for GPUs older than AMD's are, or a special form of what AMD compiles: rightly left out
    taken = branch_taken(src, conditional, position, as_written)
    left_out = branch_text(src, branch)
    if taken is None and (only_defines(left_out) or is_without_work(left_out)):
        return
    if taken is not None and not is_without_work(branch_text(src, taken)):
        return
    condition = b" ".join(src.text(token) for token in branch.directive.tokens).decode("latin-1")
    yield RULE.finding(
        src,
        branch.directive.span,
        f"`{condition}`: HIP does not define __CUDA_ARCH__, so AMD compiles no code here: say which feature is meant",
    )


def _specialises(src: CxxFile, branch: Branch) -> bool:
    """Whether a branch for one GPU or for later ones stands within one that AMD compiles."""
    at = branch.directive.span.start
    return any(
        outer.body.start <= at < outer.body.end and any(part.start == at for part in special_parts(src, outer.body))
        for outer in _newer_branches(src)
    )


@read_once
def _newer_branches(src: CxxFile) -> tuple[Branch, ...]:
    """The branches for newer GPUs that AMD compiles; asked for once, since a file may nest thousands of conditions."""
    newer = sorted(atom.start for atom in newer_atoms(src))
    return tuple(
        branch
        for conditional in conditionals(src)
        for branch in conditional.branches
        if bisect_left(newer, branch.directive.span.start) < bisect_left(newer, branch.directive.span.end)
    )


def _settled(atom: Atom) -> bool:
    if atom.operator in ("defined", "value"):
        return True
    if atom.operator in (">=", "<"):
        return atom.number <= _MATCHED
    return atom.operator in (">", "<=") and atom.number < _MATCHED


def _as_written(atom: Atom) -> bool | None:
    if atom.macro != _MACRO and atom.macro not in _VERSIONS:
        return None
    if atom.operator in ("defined", "value"):
        return False
    return compare(0, atom.operator, atom.number)


def _on_device(atom: Atom) -> bool | None:
    if atom.macro != _MACRO and atom.macro not in _VERSIONS:
        return None
    value = _VERSIONS.get(atom.macro, _MATCHED)
    return True if atom.operator in ("defined", "value") else compare(value, atom.operator, atom.number)


def _marks_functions(src: CxxFile, conditional: Conditional) -> bool:
    """Whether a conditional does nothing but define what functions are marked with.

    nvcc leaves the bodies of kernels out of its host pass. clang reads them there too, and needs the marks.
    """
    bodies = [branch_text(src, branch) for branch in conditional.branches]
    return all(map(only_defines, bodies)) and any(b"__device__" in body for body in bodies)


def _edits(src: CxxFile, name: bytes, ours: list[Atom], in_both_passes: bool) -> list[Edit]:
    macro = b"__HIPCC__" if in_both_passes else b"__HIP_DEVICE_COMPILE__"
    return [_edit(name, atom, _on_device(atom) is True, macro) for atom in ours]


def _edit(name: bytes, atom: Atom, holds: bool, macro: bytes = b"__HIP_DEVICE_COMPILE__") -> Edit:
    if name.endswith((b"ifdef", b"ifndef")):
        return Edit(atom.span, macro)
    return Edit(atom.span, (b"" if holds else b"!") + b"defined(" + macro + b")")
