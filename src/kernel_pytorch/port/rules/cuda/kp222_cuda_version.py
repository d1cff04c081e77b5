"""CUDA_VERSION, CUDART_VERSION and the versions of nvcc and NVIDIA's libraries

What: `#if CUDA_VERSION >= 11000` and the like, and the same names outside preprocessor conditions.
Why: HIP defines none of these names. In a condition each of them is 0, so AMD would compile what was written for the
    oldest CUDA, or nothing, without a message; in ordinary code the name is not declared. HIP_VERSION is no substitute:
    70200000 >= 11000 is true for every HIP, so each test would claim the newest CUDA. torch's own hipify writes
    TORCH_HIP_VERSION, 702 for ROCm 7.2, which answers such tests as 0 does. hipify-perl leaves the names alone.
Fix: A port presents CUDA 12.0, whose names, forms and meanings HIP 7 follows: kpt answers each test as CUDA 12.0
    would. The exception is a test whose answer would choose code that AMD cannot compile (a name without counterpart,
    PTX or tensor cores without a form), or that switches a macro on whose code in this file is such, or is not in this
    file: there AMD keeps the branch for older CUDA, and kpt reports the place where that branch holds no code, or
    where code of the file waits for the macro. Such a branch is left to you: write the AMD code, or leave it out.
    Outside conditions a comparison gets 12000; a number that is shown or passed on becomes HIP's version in CUDA's
    form.
Source: https://docs.pytorch.org/docs/main/notes/hip.html; hip/hip_runtime_api.h of ROCm 7.2 beside CUDA 11 to 13's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.branches import branch_taken, branch_text, ends_copies, is_without_work, only_defines
from kernel_pytorch.port.cxx.compiled_on_rocm import VERSION_MACROS, is_compiled, is_rocm_macro
from kernel_pytorch.port.cxx.conditions import Atom, atoms, compare, evaluate, parse_condition
from kernel_pytorch.port.cxx.directives import Directive, conditionals, directive_at
from kernel_pytorch.port.cxx.presented_version import PRESENTED, SHOWN_VERSION, presented_atoms, presented_truth
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule(
    "KP222",
    "cuda-version",
    languages=("cuda", "c++"),
    safety=Safety.SAFE,
    triggers=tuple(sorted(VERSION_MACROS)),
)


_ON_AMD = b"__HIP_PLATFORM_AMD__"
_COMPARISONS = frozenset((b"<", b"<=", b">", b">=", b"==", b"!="))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each version test that AMD answers as CUDA 12.0, each that leaves it without code, each use in code."""
    if not any(name in unit.macros for name in PRESENTED):
        yield from _answered(src)
    yield from _conditions(src)
    yield from _switches(src)
    yield from _in_code(src, unit)


def _answered(src: CxxFile) -> Iterator[Finding]:
    presented = presented_atoms(src)
    for conditional in conditionals(src):
        for branch in conditional.branches:
            tree = parse_condition(src, branch.directive) if presented else None
            leaves = () if tree is None else atoms(tree)
            asked = [leaf for leaf in leaves if isinstance(leaf, Atom) and leaf.span in presented]
            if asked:
                condition = b" ".join(src.text(token) for token in branch.directive.tokens).decode("latin-1")
                message = f"`{condition}`: HIP defines no CUDA version, so AMD answers as CUDA 12.0 does"
                edits = [Edit(atom.span, _answer(branch.directive, atom)) for atom in asked]
                yield RULE.finding(src, branch.directive.span, message, edits)


def _answer(directive: Directive, atom: Atom) -> bytes:
    if directive.name.endswith((b"ifdef", b"ifndef")):
        return _ON_AMD
    return (b"" if presented_truth(atom) else b"!") + b"defined(" + _ON_AMD + b")"


def _conditions(src: CxxFile) -> Iterator[Finding]:
    presented = presented_atoms(src)
    for conditional in conditionals(src):
        for position, branch in enumerate(conditional.branches):
            texts = [src.text(token) for token in branch.directive.tokens]
            named = next((text for text in texts if text in VERSION_MACROS), None)
            if named is None or any(map(is_rocm_macro, texts)):
                continue
            tree = parse_condition(src, branch.directive)
            if tree is not None and any(leaf.span in presented for leaf in atoms(tree)):
                continue
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


def _switches(src: CxxFile) -> Iterator[Finding]:
    """Tests that only switch macros, where AMD compiles no code because a macro is off."""
    presented = presented_atoms(src)
    for conditional in conditionals(src):
        if len(conditional.branches) != 1:
            continue
        branch = conditional.branches[0]
        texts = [src.text(token) for token in branch.directive.tokens]
        named = next((text for text in texts if text in VERSION_MACROS), None)
        tree = parse_condition(src, branch.directive)
        if named is None or tree is None or any(map(is_rocm_macro, texts)):
            continue
        if any(leaf.span in presented for leaf in atoms(tree)):
            continue
        truth, body = evaluate(tree, _as_zero), branch_text(src, branch)
        if truth is None or not only_defines(body):
            continue
        for macro in sorted(
            _switched_off(body) if truth else _switched_on(body) - _defined_elsewhere(src, branch.body)
        ):
            line = _left_out_without(src, macro)
            if line is not None:
                message = (
                    f"HIP does not define {named.decode()}, which switches {macro.decode()} off: "
                    f"AMD compiles no code at line {line}"
                )
                yield RULE.finding(src, branch.directive.span, message)
                break


def _switched_off(body: bytes) -> set[bytes]:
    gone = set(re.findall(rb"#\s*undef\s+(\w+)", body)) - set(re.findall(rb"#\s*define\s+(\w+)", body))
    return gone | set(re.findall(rb"#\s*define\s+(\w+)[ \t]+(?:0|false)\s*$", body, re.MULTILINE))


def _switched_on(body: bytes) -> set[bytes]:
    return set(re.findall(rb"#\s*define\s+(\w+)(?:[ \t]+(?:1|true))?[ \t]*(?://[^\n]*)?\r?$", body, re.MULTILINE))


def _defined_elsewhere(src: CxxFile, body: Span) -> set[bytes]:
    return _switched_on(src.data[: body.start] + b"\n" + src.data[body.end :])


def _left_out_without(src: CxxFile, macro: bytes) -> int | None:
    """The line of a condition on a macro under which nothing is compiled while the macro is off."""
    for conditional in conditionals(src):
        for position, branch in enumerate(conditional.branches):
            if all(src.text(token) != macro for token in branch.directive.tokens):
                continue
            tree = parse_condition(src, branch.directive)
            truth = None if tree is None else evaluate(tree, lambda atom: _as_off(atom, macro))
            if truth is not False:
                continue
            taken, body = branch_taken(src, conditional, position, False), branch_text(src, branch)
            is_work = not (only_defines(body) or is_without_work(body) or (taken is None and ends_copies(body)))
            if is_work and (taken is None or is_without_work(branch_text(src, taken))):
                return src.data.count(b"\n", 0, branch.directive.span.start) + 1
    return None


def _as_off(atom: Atom, macro: bytes) -> bool | None:
    if atom.macro != macro:
        return True
    return False if atom.operator in ("defined", "value") else compare(0, atom.operator, atom.number)


def _in_code(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    if not any(name in words(src) for name in VERSION_MACROS):
        return
    given = VERSION_MACROS & unit.macros.keys()
    for name in sorted(VERSION_MACROS - given):
        for index in words(src).get(name, ()):
            token = src.code[index]
            directive = directive_at(src, token.start)
            if directive is not None and (directive.name != b"define" or token == directive.tokens[0]):
                continue
            if not is_compiled(src, token.start):
                continue
            message = f"{name.decode()} outside a preprocessor condition: HIP does not define it"
            place = Span(token.start, token.end)
            value = _value(src, index)
            yield RULE.finding(src, place, message, [Edit(place, value)] if value else ())


def _value(src: CxxFile, index: int) -> bytes:
    """What stands for a version in code: nothing where the number means another library's."""
    name = src.text(src.code[index])
    if name in PRESENTED and {text_at(src, index - 1), text_at(src, index + 1)} & _COMPARISONS:
        return str(PRESENTED[name]).encode()
    return SHOWN_VERSION if name in (b"CUDA_VERSION", b"CUDART_VERSION") else b""


def _as_zero(atom: Atom) -> bool | None:
    if atom.macro not in VERSION_MACROS:
        return True
    return False if atom.operator in ("defined", "value") else compare(0, atom.operator, atom.number)
