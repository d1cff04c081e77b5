"""An import that goes to an adapter on ROCm and stays as written elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.python.module import PythonModule

ImportNode = ast.Import | ast.ImportFrom


def gated(module: PythonModule, node: ImportNode, on_rocm: str) -> Edit | None:
    """Puts `if IS_ROCM: <on_rocm> else:` in front of an import, whose own bytes stay. None where it shares its line."""
    span = module.span(node)
    line = module.line_span(node.lineno)
    data = module.src.data
    if data[line.start : span.start].strip() or data[span.end : line_end(module, node)].split(b"#")[0].strip():
        return None
    indent = data[line.start : span.start]
    newline = module.newline
    text = newline.join(
        (b"if IS_ROCM:", indent + b"    " + on_rocm.encode(), indent + b"else:", indent + b"    "),
    )
    # The whole statement is replaced, by itself in the end, so that the gate's definition can go right before it.
    return Edit(span, text + data[span.start : span.end])


def line_end(module: PythonModule, node: ImportNode) -> int:
    """The end of the line that a statement ends on."""
    assert node.end_lineno is not None
    return module.line_span(node.end_lineno).end


def is_optional(module: PythonModule, node: ast.AST) -> bool:
    """Under a condition that asks whether the library is there (it can be done without), or in ROCm's branch."""
    if is_rocm_branch(module, node):
        return True
    words = ("available", "installed", "supported", "has_", "is_flash", "use_", "find_spec")
    for parent in module.parents(node):
        if isinstance(parent, ast.If) and any(word in ast.unparse(parent.test).lower() for word in words):
            return True
    return False


def is_rocm_branch(module: PythonModule, node: ast.AST) -> bool:
    """Inside a branch that runs on ROCm only: its author has ported it already."""
    child = node
    for parent in module.parents(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if module.gate_value(parent.test) is (child in body):
                return True
        child = parent
    return False


def local_name(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.split(".")[0]


def attributes_used(module: PythonModule, name: str) -> Iterator[str]:
    """What is asked of a module bound to a name; "" where the module itself is handed on."""
    heads = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            heads.add(id(node.value))
            yield node.attr
    for node in ast.walk(module.tree):
        is_use = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        if is_use and id(node) not in heads and not _only_asks(next(module.parents(node), None)):
            yield ""


def _only_asks(parent: ast.AST | None) -> bool:
    """`if xops:`, `xops is None`: whether the module is there, which the adapter is."""
    if isinstance(parent, ast.Compare):
        return any(isinstance(item, ast.Constant) and item.value is None for item in parent.comparators)
    return isinstance(parent, (ast.If, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Assert))


def is_own_package(module: PythonModule, *names: str) -> bool:
    """Whether the file belongs to the library itself: inside its package, or in the project that builds it.

    flash-attention's own tests must go on testing flash-attention, on ROCm too.
    """
    return any(name in module.src.project_packages or name in module.package.split(".") for name in names)


_OTHER_HARDWARE = re.compile(r"(?:^|[_-])(?:rocm|hip|amd|gaudi|hpu|neuron|tpu|xpu|npu|ascend|ipex|mps)(?:[_-]|$)")


def is_for_other_hardware(module: PythonModule) -> bool:
    """A file that says in its path that it is ROCm's own, or another vendor's: rocm.py, backends/gaudi/..."""
    path = PurePosixPath(module.src.path.lower())
    return any(_OTHER_HARDWARE.search(part) for part in (*path.parts[:-1], path.stem))
