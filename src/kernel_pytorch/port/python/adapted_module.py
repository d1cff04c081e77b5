"""A library whose part in use a generated adapter answers for on ROCm: its imports are gated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.gated_import import attributes_used, gated, is_optional, is_own_package, local_name
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.templates import public_names


@dataclass(frozen=True)
class Adapted:
    """A module, the adapter that answers for it, what to say, and how far the change may be trusted."""

    module: str
    adapter: str
    message: str
    safety: Safety


def adapted_findings(module: PythonModule, rule: Rule, library: Adapted) -> Iterator[Finding]:
    """One finding per import statement of the library."""
    if is_own_package(module, library.module.split(".")[0]):
        return
    seen: set[ast.AST] = set()
    for node, name in module.imports(library.module):
        if node in seen or name != library.module or module.is_type_checking_only(node) or is_optional(module, node):
            continue
        seen.add(node)
        found = _finding(module, rule, library, node)
        # In a `try` without a change to offer, the program's own fallback is the answer.
        if found.edits or not module.is_import_guarded(node):
            yield found


def _finding(module: PythonModule, rule: Rule, library: Adapted, node: ast.Import | ast.ImportFrom) -> Finding:
    span = module.span(node)
    if isinstance(node, ast.Import):
        (first, *others) = node.names
        if others or ("." in library.module and not first.asname):
            return rule.finding(module.src, span, f"{library.message}; import it by itself for the adapter to stand in")
        used = {name or "use as a value" for name in attributes_used(module, local_name(first))}
        on_rocm = f"from . import {library.adapter} as {local_name(first)}"
    else:
        used = {alias.name for alias in node.names}
        on_rocm = f"from .{library.adapter} import " + ", ".join(
            alias.name if not alias.asname else f"{alias.name} as {alias.asname}" for alias in node.names
        )
    unknown = sorted(used - public_names(library.adapter))
    if unknown:
        return rule.finding(module.src, span, f"{library.message}; the adapter has no {', '.join(unknown)}")
    edit = gated(module, node, on_rocm)
    if edit is None:
        return rule.finding(module.src, span, f"{library.message}; it shares its line with other statements")
    safety = Safety.REVIEW if module.is_import_guarded(node) else library.safety
    return rule.finding(module.src, span, library.message, [edit], safety)
