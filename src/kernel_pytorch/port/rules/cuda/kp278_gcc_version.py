"""A test of gcc's version

What: `#if __GNUC__ < 6` in a file with device code.
Why: nvcc compiles the host side with gcc, hipcc with clang. clang says that it is gcc 4.2, whatever it supports. What a
    file does for old versions of gcc alone it also does on ROCm: it switches kernels off, or stops with #error.
Fix: On ROCm the test has the answer that a gcc of today gives. A file that also asks for clang is left alone, and so
    are tests for a gcc that is new enough: there ROCm takes the path for older compilers.
Source: https://clang.llvm.org/docs/ClangCommandLineReference.html (-fgnuc-version, 4.2.1 by default);
    https://github.com/open-mmlab/mmcv/pull/2811
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.cxx.compiled_on_rocm import is_rocm_macro
from kernel_pytorch.port.cxx.conditions import Atom, atoms, compare, evaluate, parse_condition
from kernel_pytorch.port.cxx.directives import conditionals
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP278", "gcc-version", languages=("cuda",), safety=Safety.SAFE, triggers=(b"__GNUC__",))
_MACRO = b"__GNUC__"
_OF_CLANG, _OF_TODAY = 4, 13


def check(src: CxxFile) -> Iterator[Finding]:
    """Each condition that holds for clang's version of gcc and not for a gcc of today."""
    if b"__clang__" in src.data:
        return
    for conditional in conditionals(src):
        for branch in conditional.branches:
            texts = {src.text(token) for token in branch.directive.tokens}
            if _MACRO not in texts or any(map(is_rocm_macro, texts)):
                continue
            tree = parse_condition(src, branch.directive)
            if tree is None or evaluate(tree, partial(_answer, _OF_TODAY)) is not False:
                continue
            if evaluate(tree, partial(_answer, _OF_CLANG)) is not True:
                continue
            ours = [atom for atom in atoms(tree) if isinstance(atom, Atom) and _is_asked(atom)]
            edits = [Edit(atom.span, b"1" if compare(_OF_TODAY, atom.operator, atom.number) else b"0") for atom in ours]
            message = f"clang claims to be gcc {_OF_CLANG}, so this test takes the branch for an old gcc"
            yield RULE.finding(src, branch.directive.span, message, edits)


def _is_asked(atom: Atom) -> bool:
    return atom.macro == _MACRO and atom.operator not in ("defined", "value")


def _answer(version: int, atom: Atom) -> bool | None:
    if atom.macro != _MACRO:
        return None
    return compare(version, atom.operator, atom.number) if _is_asked(atom) else True
