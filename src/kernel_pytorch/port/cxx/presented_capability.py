"""Code for NVIDIA GPUs of capability 7.1 to 8.9 that AMD compiles as well.

HIP does not define __CUDA_ARCH__, so that `#if __CUDA_ARCH__ >= 800` takes the branch for older GPUs. Where the source
has one, that is right: it is portable code, and nothing needs rewriting. Where it has none, AMD would compile nothing.
There the newer branch is taken if it needs nothing that a port lacks (matrix fragments, cp.async, bfloat16 and
pipelines all have a form on AMD). Whoever asks about a file gets the same answer: what a ROCm build leaves out, KP220's
edits.
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Span
from kernel_pytorch.port.cxx.branches import branch_taken, branch_text, is_without_work, only_defines
from kernel_pytorch.port.cxx.conditions import Atom, Condition, atoms, compare, evaluate, parse_condition
from kernel_pytorch.port.cxx.directives import Conditional, conditionals, nests_beyond_reason
from kernel_pytorch.port.cxx.presented_version import needs_nvidia
from kernel_pytorch.port.cxx.source import CxxFile, read_once

CAPABILITY = b"__CUDA_ARCH__"
# CUDA defines these for builds that are for one GPU or for one family (sm_90a, sm_120f): HIP never does.
SPECIFIC = re.compile(rb"__CUDA_ARCH_(?:FAMILY_)?SPECIFIC__|__CUDA_ARCH_FEAT_SM\w+")
# Up to this capability every test is answered by "yes" (KP220). From 9.0 on there are clusters, TMA and wgmma.
MATCHED_CAPABILITY = 700
LAST_CAPABILITY = 890


@read_once
def newer_atoms(src: CxxFile) -> frozenset[Span]:
    """The places of tests for a capability above 7.0 that AMD answers by "yes" in the pass for the device."""
    if CAPABILITY not in src.data or nests_beyond_reason(src):
        return frozenset()
    return frozenset(
        atom.span
        for conditional in conditionals(src)
        for position, branch in enumerate(conditional.branches)
        if branch.directive.name != b"else" and (tree := parse_condition(src, branch.directive)) is not None
        if _is_taken(src, conditional, position, tree)
        for atom in _asked(tree)
    )


def _asked(tree: Condition) -> list[Atom]:
    return [atom for atom in atoms(tree) if isinstance(atom, Atom) and atom.macro == CAPABILITY]


def _is_taken(src: CxxFile, conditional: Conditional, position: int, tree: Condition) -> bool:
    newer = [atom for atom in _asked(tree) if atom.operator not in ("defined", "value")]
    if not newer or not all(_is_up_to_last(one) for one in newer):
        return False
    if [evaluate(tree, lambda atom, n=n: _truth(atom, n)) for n in (0, LAST_CAPABILITY)] != [False, True]:  # type: ignore[misc]
        return False
    branch = conditional.branches[position]
    older = branch_taken(src, conditional, position, False)
    if older is not None and (older.directive.name != b"else" or not is_without_work(branch_text(src, older))):
        return False
    text = branch_text(src, branch)
    if only_defines(text) or is_without_work(text):
        return False
    return not needs_nvidia(src, branch.body, special_parts(src, branch.body))


def _is_up_to_last(atom: Atom) -> bool:
    """`>= 800`, and `< 900`, which shuts out later GPUs only."""
    if atom.operator in ("<", "<="):
        return atom.number > LAST_CAPABILITY
    return atom.operator in (">=", ">") and MATCHED_CAPABILITY < atom.number <= LAST_CAPABILITY


def special_parts(src: CxxFile, body: Span) -> tuple[Span, ...]:
    """The branches within a branch that are for single GPUs (`== 860`) or for later ones: AMD leaves them out."""
    return tuple(
        Span(branch.directive.span.start, branch.body.end)
        for conditional in conditionals(src)
        for branch in conditional.branches
        if body.start <= branch.directive.span.start < body.end and branch.directive.name != b"else"
        if (tree := parse_condition(src, branch.directive)) is not None and _is_special(tree)
    )


def _is_special(tree: Condition) -> bool:
    leaves = atoms(tree)
    return bool(leaves) and all(
        isinstance(atom, Atom)
        and atom.macro == CAPABILITY
        and (atom.operator == "==" or (atom.operator in (">=", ">") and atom.number > LAST_CAPABILITY))
        for atom in leaves
    )


def _truth(atom: Atom, capability: int) -> bool | None:
    """What a part of the condition is on the device; what is no capability holds."""
    if atom.macro != CAPABILITY or atom.operator in ("defined", "value"):
        return True
    return compare(capability, atom.operator, atom.number)
