"""Functions for CUresult and for cudaError_t that become one function

What: Two functions of one name in a file, one for a CUresult and one for a cudaError_t (`_cudaGetErrorEnum`, `check`),
    also where the project has a name of its own for CUresult.
Why: The driver's errors and the runtime's are one type in HIP, so the second is a redefinition.
Fix: On ROCm kpt leaves out the function for CUresult. The other one gets all of HIP's errors, and HIP has one set of
    names and texts for them. Where the function for cudaError_t calls the other one, kpt leaves out that one instead.
    If only the function that goes treats some error in a branch of its own, that is a finding, because the branch
    has to move. If the function that stays is compiled only with an option of the project, you decide.
Source: hip/hip_runtime_api.h, ROCm 7.2 (hipError_t);
    https://github.com/NVIDIA/cuda-samples/blob/master/Common/helper_cuda.h
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.directives import conditionals
from kernel_pytorch.port.cxx.unit import functions_of
from kernel_pytorch.port.names.table import find_name
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.tables import read_table

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule(
    "KP296", "one-error-type", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"CUresult", b"cudaError")
)

_ALIAS = re.compile(rb"\busing\s+(\w+)\s*=\s*CUresult\s*;|\btypedef\s+CUresult\s+(\w+)\s*;")
_RUNTIME = re.compile(rb"\b(?:const\s+)?cudaError(?:_t)?\b")
_AROUND_PUNCTUATION = re.compile(rb"\s*([*&,()])\s*")
_ERRORS = re.compile(rb"\b(?:CUDA_ERROR_\w+|cudaError[A-Z]\w+)\b")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each function for CUresult beside one that differs from it in that type alone."""
    driver = _driver_types(unit)
    if not _RUNTIME.search(src.data) or not driver.search(src.data):
        return
    heads = [(function.name, _head(src, function.node), function.node) for function in functions_of(src)]
    runtime = {
        (name, _RUNTIME.sub(b"E", head)): node
        for name, head, node in heads
        if _RUNTIME.search(head) and _is_always_compiled(src, node.start_byte)
    }
    for name, head, node in heads:
        other = runtime.get((name, driver.sub(b"E", head))) if driver.search(head) else None
        if other is None:
            continue
        left, kept, of = node, other, ("CUresult", "cudaError_t")
        if _calls(src, other, name):  # `check(cudaError_t e) { check(CUresult(e)); }` would call itself
            left, kept, of = other, node, ("cudaError_t", "CUresult")
        span = _whole(left)
        if _calls(src, kept, name) or not _is_always_compiled(src, kept.start_byte):
            message = f"{name.decode()} for CUresult and for cudaError_t: HIP has one type for both, write one function"
            yield RULE.finding(src, span, message)
            continue
        message = f"{name.decode()} for CUresult and for cudaError_t: HIP has one type for both, so AMD leaves this out"
        yield RULE.finding(src, span, message, [Edit(span, b"")])
        lost = _errors_lost(src.text(left), src.text(kept))
        if lost:
            message = f"{name.decode()} for {of[0]} tests {lost}, which the one for {of[1]} does not: add it there"
            yield RULE.finding(src, span, message)


def _whole(function: Node) -> Span:
    """A function with the template parameters before it."""
    outer = function.parent
    is_template = outer is not None and outer.type == "template_declaration"
    return Span(outer.start_byte if outer is not None and is_template else function.start_byte, function.end_byte)


def _calls(src: CxxFile, function: Node, name: bytes) -> bool:
    """Whether a function's body calls a function of some name."""
    body = function.child_by_field_name("body")
    return body is not None and re.search(rb"\b%b\s*\(" % name, src.text(body)) is not None


@lru_cache(maxsize=2)
def _driver_types(unit: Unit) -> re.Pattern[bytes]:
    """CUresult, and what the unit calls it otherwise."""
    texts = (file.data for file in unit.files if file.holds(b"CUresult"))
    names = {name for text in texts for found in _ALIAS.findall(text) for name in found if name}
    return re.compile(rb"\b(?:const\s+)?(?:%b)\b" % b"|".join(sorted({b"CUresult", *names})))


def _errors_lost(left_out: bytes, kept: bytes) -> str:
    """An error that only the function that is left out tells apart. A function that turns errors into texts has a
    string for each, and HIP has texts for all of them."""
    named = {word: _hip_name(word) for word in _ERRORS.findall(left_out)}
    if left_out.count(b'"') >= 2 * len(named):
        return ""
    there = {_hip_name(word) for word in _ERRORS.findall(kept)}
    return next((word.decode() for word, hip in named.items() if hip and hip not in there), "")


def _hip_name(word: bytes) -> str:
    row = find_name(word)
    return row.hip if row is not None else ""


def _head(src: CxxFile, node: Node) -> bytes:
    """The types of a function's parameters, whatever their names are and however they are spaced."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if listed is None:
        return b""
    types = b",".join(_without_name(src, one) for one in listed.named_children if one.type.endswith("declaration"))
    return _AROUND_PUNCTUATION.sub(rb"\1", b" ".join(types.split()))


def _without_name(src: CxxFile, parameter: Node) -> bytes:
    """`const char *` for `const char *file = ""`."""
    value = parameter.child_by_field_name("default_value")
    name = parameter.child_by_field_name("declarator")
    while name is not None and name.type != "identifier":
        name = next(
            (child for child in name.named_children if "declarator" in child.type or child.type == "identifier"), None
        )
    start, end = parameter.start_byte, value.start_byte if value is not None else parameter.end_byte
    if name is None:
        return src.data[start:end].rstrip(b" =")
    return src.data[start : name.start_byte] + src.data[name.end_byte : end].rstrip(b" =")


def _is_always_compiled(src: CxxFile, offset: int) -> bool:
    """Whether what stands around a place tests nothing but include guards."""
    guards = {row["cuda"].encode() for row in read_table("header_guards.csv")}
    for number, conditional in enumerate(conditionals(src)):
        for branch in conditional.branches:
            if branch.body.start <= offset < branch.body.end:
                names = {src.text(token) for token in branch.directive.tokens if token.kind == "identifier"}
                is_own_guard = number == 0 and branch.directive.name == b"ifndef"
                if not is_own_guard and not names - {b"defined"} <= guards:
                    return False
    return True
