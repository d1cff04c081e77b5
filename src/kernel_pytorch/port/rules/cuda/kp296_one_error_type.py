"""Functions for CUresult and for cudaError_t that become one function

What: Two functions of one name in a file, one for a CUresult and one for a cudaError_t (`_cudaGetErrorEnum`, `check`).
Why: The driver's errors and the runtime's are one type in HIP, so the second is a redefinition.
Fix: On ROCm kpt leaves out the function for CUresult. The other one gets all of HIP's errors, and HIP has one set of
    names and texts for them. If only the function for CUresult treats some error in a branch of its own, that is a
    finding, because the branch has to move. If the function for cudaError_t is compiled only with an option of the
    project, you decide.
Source: hip/hip_runtime_api.h, ROCm 7.2 (hipError_t);
    https://github.com/NVIDIA/cuda-samples/blob/master/Common/helper_cuda.h
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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

RULE = Rule("KP296", "one-error-type", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(b"CUresult",))

_DRIVER = re.compile(rb"\b(?:const\s+)?CUresult\b")
_RUNTIME = re.compile(rb"\b(?:const\s+)?cudaError(?:_t)?\b")
_AROUND_PUNCTUATION = re.compile(rb"\s*([*&,()])\s*")
_ERRORS = re.compile(rb"\b(?:CUDA_ERROR_\w+|cudaError[A-Z]\w+)\b")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each function for CUresult beside one that differs from it in that type alone."""
    if not _RUNTIME.search(src.data):
        return
    heads = [(function.name, _head(src, function.node), function.node) for function in functions_of(src)]
    runtime = {
        (name, _RUNTIME.sub(b"E", head)): node
        for name, head, node in heads
        if _RUNTIME.search(head) and _is_always_compiled(src, node.start_byte)
    }
    for name, head, node in heads:
        other = runtime.get((name, _DRIVER.sub(b"E", head))) if _DRIVER.search(head) else None
        if other is not None:
            message = (
                f"{name.decode()} for CUresult and for cudaError_t: HIP has one type for both, so AMD leaves this out"
            )
            start, end = node.start_byte, node.end_byte
            outer = node.parent
            if outer is not None and outer.type == "template_declaration":
                start = outer.start_byte
            yield RULE.finding(src, Span(start, end), message, [Edit(Span(start, end), b"")])
            lost = _errors_lost(src.text(node), src.text(other))
            if lost:
                message = (
                    f"{name.decode()} for CUresult tests {lost}, which the one for cudaError_t does not: add it there"
                )
                yield RULE.finding(src, Span(start, end), message)


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
