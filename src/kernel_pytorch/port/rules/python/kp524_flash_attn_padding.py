"""flash_attn.bert_padding

What: An import of pad_input, unpad_input or index_first_axis from flash_attn.bert_padding.
Why: The functions are plain PyTorch, but importing them loads the flash_attn package and its compiled module, which
    are often missing on ROCm.
Fix: On ROCm they come from a generated file, `_rocm_padding.py`, which has the same functions. Elsewhere the import is
    as it was. unpad_input returns four values before flash-attn 2.7 and five since; kpt tells from the calls which one
    the code expects.
Source: flash_attn/bert_padding.py in Dao-AILab/flash-attention;
    https://github.com/Dao-AILab/flash-attention#amd-rocm-support
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.gated_import import gated, is_optional, is_own_package, local_name
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.templates import public_names

RULE = Rule("KP524", "flash-attn-padding", ("python",), Safety.SAFE, (b"bert_padding",))

ADAPTER = "_rocm_padding"
MODULE = "flash_attn.bert_padding"


def check(module: PythonModule) -> Iterator[Finding]:
    if is_own_package(module, "flash_attn"):
        return
    for node, name in module.imports("flash_attn"):
        if module.is_type_checking_only(node) or is_optional(module, node):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and name == MODULE:
            yield from _answer(module, node)
            continue
        as_module = MODULE in names or (name == "flash_attn" and "bert_padding" in names)
        if as_module and not module.is_import_guarded(node):
            message = "flash_attn.bert_padding as a module: import its functions by name for the adapter to stand in"
            yield RULE.finding(module.src, module.span(node), message)


def _answer(module: PythonModule, node: ast.ImportFrom) -> Iterator[Finding]:
    span = module.span(node)
    guarded = module.is_import_guarded(node)
    unknown = [alias.name for alias in node.names if alias.name not in public_names(ADAPTER)]
    parts = []
    for alias in node.names:
        name = alias.name
        if name == "unpad_input":
            numbers = _numbers_of_values(module, local_name(alias))
            if len(numbers) > 1:
                unknown.append("unpad_input unpacked into both four and five values")
            name = "unpad_input_of_four" if numbers == {4} else name
        parts.append(name if name == local_name(alias) else f"{name} as {local_name(alias)}")
    if unknown:
        if not guarded:
            yield RULE.finding(module.src, span, f"the adapter has no {', '.join(unknown)}")
        return
    edit = gated(module, node, f"from .{ADAPTER} import {', '.join(parts)}")
    if edit is None:
        yield RULE.finding(module.src, span, "imported on a line with other statements")
        return
    message = "plain PyTorch, but its import loads flash_attn's compiled module"
    yield RULE.finding(module.src, span, message, [edit], Safety.REVIEW if guarded else Safety.SAFE)


def _numbers_of_values(module: PythonModule, name: str) -> set[int]:
    """Into how many values the results of a function are unpacked; a star takes any number."""
    found = set()
    for node in ast.walk(module.tree):
        if not (
            isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        ):
            continue
        target = node.targets[0]
        if node.value.func.id != name or not isinstance(target, (ast.Tuple, ast.List)):
            continue
        if not any(isinstance(item, ast.Starred) for item in target.elts):
            found.add(len(target.elts))
    return found
