"""An import that goes to an adapter on ROCm and stays as written elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.python.bindings import assigned_names
from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.module import PythonModule, catches_import_error

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
    """Under a condition that asks whether a library is there (it can be done without), or in ROCm's branch.

    What the condition tests decides, not how its names begin: a probe for a module, a function that says whether
    something is available, or a name that a failed import leaves empty. A plain option (`if use_flash:`) asks the user.
    """
    if is_rocm_branch(module, node):
        return True
    child = node
    for parent in module.parents(node):
        if isinstance(parent, ast.If) and child in parent.body and _asks_for_library(module, parent.test):
            return True
        child = parent
    return False


_PROBES = ("importlib.util.find_spec", "importlib.metadata.version", "pkgutil.find_loader", "importlib.find_loader")
_SAYS_AVAILABLE = re.compile(r"available|installed|importable|supported", re.IGNORECASE)


def _asks_for_library(module: PythonModule, test: ast.expr) -> bool:
    pending: list[tuple[PythonModule, ast.expr]] = [(module, test)]
    seen: set[int] = set()
    while pending:
        where, node = pending.pop()
        if id(node) in seen or len(seen) > 60:
            continue
        seen.add(id(node))
        for item in ast.walk(node):
            if isinstance(item, ast.Call) and (where.qualified(item.func) in _PROBES or _is_probe(item)):
                return True
            if isinstance(item, (ast.Name, ast.Attribute)) and isinstance(item.ctx, ast.Load):
                if (where.qualified(item) or "").startswith("torch."):
                    continue  # `torch.cuda.is_available()` asks for a GPU, which is there
                if _SAYS_AVAILABLE.search(item.attr if isinstance(item, ast.Attribute) else item.id):
                    return True
                if isinstance(item, ast.Name) and _is_left_empty(where, item):
                    return True
                pending += [(place.module, place.node) for place in origins(where, item) if place.node is not item]
    return False


def _is_probe(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("find_spec", "package_exists", "hasattr")


def _is_left_empty(module: PythonModule, name: ast.Name) -> bool:
    """A name that the handler of a failed import sets: `except ImportError: flash_attn = None`."""
    scope = module.scope(module.tree)
    if name.id not in scope.others:
        return False
    handlers = (item for node in ast.walk(module.tree) if isinstance(node, ast.Try) for item in node.handlers)
    return any(
        target.id == name.id
        for handler in handlers
        if catches_import_error(handler)
        for statement in handler.body
        for target, _ in assigned_names(statement)
    )


def is_rocm_branch(module: PythonModule, node: ast.AST) -> bool:
    """Inside a branch that runs on ROCm only: its author has ported it already."""
    child = node
    for parent in module.parents(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if module.gate_value(parent.test) is (child in body):
                return True
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And) and child in parent.values:
            before = parent.values[: [item is child for item in parent.values].index(True)]
            if any(module.gate_value(item) is True for item in before):
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


_OTHER_HARDWARE = re.compile(r"(?:^|[_-])(?:rocm|hip|amd|gaudi|hpu|neuron|tpu|xpu|npu|ascend|ipex|mps|x86)(?:[_-]|$)")


def is_for_other_hardware(module: PythonModule) -> bool:
    """A file that says in its path that it is ROCm's own, or another vendor's: rocm.py, backends/gaudi/..."""
    path = PurePosixPath(module.src.path.lower())
    return any(_OTHER_HARDWARE.search(part) for part in (*path.parts[:-1], path.stem))
