"""Functions imported from flash_attn

What: `from flash_attn import flash_attn_func` and its forms: the interface module, `import flash_attn`, flash-attn 3.
Why: on ROCm the package is often missing; aiter's functions of the same names take their arguments in another order
    (the eighth is softcap in flash-attn and a bias in aiter), and a plain SDPA call has another layout and another
    causal mask. flash-attn 3 has no AMD build.
Fix: on ROCm the names come from a generated file, `_rocm_attention.py`, which tries aiter, flash-attn's ROCm build,
    SDPA and plain PyTorch, in flash-attn's own terms; elsewhere the import is as it was. Where the import stands in a
    `try`, or is of version 3, it is offered for review: the program may have a fallback of its own.
Source: seed 000 rule 5, catalogue rows 118-123, 128, 130; flash-attn's and aiter's own signatures.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.gated_import import (
    attributes_used,
    gated,
    is_optional,
    is_own_package,
    local_name,
)
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.templates import public_names

RULE = Rule("KP520", "flash-attn-import", ("python",), Safety.SAFE, (b"flash_attn",))

ADAPTER = "_rocm_attention"
VERSION_2 = ("flash_attn", "flash_attn.flash_attn_interface")
VERSION_3 = ("flash_attn_interface", "flash_attn_3.flash_attn_interface", "flash_attn_3")
INTO_VERSION_3 = {"flash_attn_func": "flash_attn_v3_func", "flash_attn_varlen_func": "flash_attn_v3_varlen_func"}


def check(module: PythonModule) -> Iterator[Finding]:
    if is_own_package(module, "flash_attn", "flash_attn_3"):
        return
    seen: set[ast.AST] = set()
    for node, _ in module.imports(*VERSION_2, *VERSION_3):
        if node in seen or module.is_type_checking_only(node) or is_optional(module, node):
            continue
        seen.add(node)
        for found in _whole(module, node) if isinstance(node, ast.Import) else _names(module, node):
            # In a `try` without a change to offer, the program's own fallback is the answer.
            if found.edits or not module.is_import_guarded(node):
                yield found


def _names(module: PythonModule, node: ast.ImportFrom) -> Iterator[Finding]:
    if node.module not in (*VERSION_2, *VERSION_3):
        return
    offered = INTO_VERSION_3 if node.module in VERSION_3 else {name: name for name in public_names(ADAPTER)}
    modules = [alias for alias in node.names if alias.name == "flash_attn_interface"]
    if modules and len(node.names) == 1:
        yield _answer(module, node, f"from . import {ADAPTER} as {local_name(modules[0])}", local_name(modules[0]))
        return
    unknown = [alias.name for alias in node.names if alias.name not in offered]
    if unknown:
        if any(alias.name in offered or alias.name.startswith("_") for alias in node.names) or "*" in unknown:
            message = f"{node.module}.{', '.join(unknown)} has no counterpart in the adapter: split the import"
            yield RULE.finding(module.src, module.span(node), message)
        return
    parts = []
    for alias in node.names:
        source = offered[alias.name]
        parts.append(source if source == local_name(alias) else f"{source} as {local_name(alias)}")
    yield _answer(module, node, f"from .{ADAPTER} import {', '.join(parts)}")


def _whole(module: PythonModule, node: ast.Import) -> Iterator[Finding]:
    (first, *others) = node.names
    named = first.name in VERSION_2 if first.asname else first.name == "flash_attn"
    if others or not named:
        if any(alias.name in (*VERSION_2, *VERSION_3) for alias in node.names):
            message = f"`{ast.unparse(node)}`: import the functions by name for the adapter to stand in"
            yield RULE.finding(module.src, module.span(node), message)
        return
    name = local_name(first)
    if module.is_import_guarded(node) and not any(attributes_used(module, name)):
        return  # only asks whether it is there
    yield _answer(module, node, f"from . import {ADAPTER} as {name}", name)


def _answer(module: PythonModule, node: ast.Import | ast.ImportFrom, on_rocm: str, whole: str | None = None) -> Finding:
    span = module.span(node)
    if whole is not None:
        unknown = sorted({name or "a value" for name in attributes_used(module, whole)} - public_names(ADAPTER))
        if unknown:
            message = f"{whole} is used for {', '.join(unknown)}, which the adapter does not have"
            return RULE.finding(module.src, span, message)
    edit = gated(module, node, on_rocm)
    if edit is None:
        return RULE.finding(module.src, span, "flash_attn is imported on a line with other statements")
    is_third = any(name.startswith(VERSION_3) for name in _imported(node))
    guarded = module.is_import_guarded(node)
    if is_third:
        message, safety = "flash-attn 3 has no AMD build", Safety.REVIEW
    elif guarded:
        message, safety = "flash_attn is optional here: without it the program's own fallback runs", Safety.REVIEW
    else:
        message, safety = "flash_attn may be missing on ROCm, and aiter's functions are not drop-in", Safety.SAFE
    return RULE.finding(module.src, span, message, [edit], safety)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
