"""CUDA_VERSION, CUDART_VERSION and nvcc's version in preprocessor conditions

What: `#if CUDA_VERSION >= 11000` and the like, where the branch AMD takes holds no code or stops the compiler.
Why: HIP defines none of these, so each compares as 0 and code for newer CUDA is left out without a word.
Fix: a person's: add `|| defined(__HIP_PLATFORM_AMD__)` where HIP has what the branch uses. Conditions whose other
  branch is a working path for old CUDA are left alone: that path is what AMD gets.
Source: rules catalogue row 30; https://docs.pytorch.org/docs/main/notes/hip.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.rules.conditions import (
    Atom,
    branch_taken,
    branch_text,
    compare,
    evaluate,
    is_without_work,
    only_defines,
    parse_condition,
)
from kernel_pytorch.port.rules.reading import conditionals
from kernel_pytorch.port.rules.regions import ROCM_MACROS

if TYPE_CHECKING:
    from kernel_pytorch.port.cuda.unit import Unit
    from kernel_pytorch.port.source import SourceFile

_MACROS = frozenset(
    {b"CUDA_VERSION", b"CUDART_VERSION", b"__CUDACC_VER_MAJOR__", b"__CUDACC_VER_MINOR__", b"CUDNN_VERSION"}
)

RULE = Rule("KP222", "cuda-version", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=tuple(sorted(_MACROS)))


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """Each version test that leaves AMD without code."""
    for conditional in conditionals(src):
        for position, branch in enumerate(conditional.branches):
            texts = [src.text(token) for token in branch.directive.tokens]
            named = next((text for text in texts if text in _MACROS), None)
            if named is None or any(text in ROCM_MACROS for text in texts):
                continue
            tree = parse_condition(src, branch.directive)
            # Other macros are taken to hold: what is asked is what the version alone leaves out.
            truth = None if tree is None else evaluate(tree, _as_zero)
            if truth is None:
                continue
            taken = branch_taken(src, conditional, position, truth)
            body = branch_text(src, branch)
            if taken is None and (only_defines(body) or is_without_work(body)):
                continue
            if taken is not None and not is_without_work(branch_text(src, taken)):
                continue
            condition = b" ".join(texts).decode("latin-1")
            message = (
                f"`{condition}`: HIP does not define {named.decode('utf-8', 'replace')}, so AMD compiles no code here"
            )
            yield RULE.finding(src, branch.directive.span, message)


def _as_zero(atom: Atom) -> bool | None:
    if atom.macro not in _MACROS:
        return True
    return False if atom.operator in ("defined", "value") else compare(0, atom.operator, atom.number)
