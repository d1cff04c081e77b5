"""CUDA_HOME

What: a build that stops, or leaves its extension out, when torch's CUDA_HOME is None; a path made of it.
Why: it is None on ROCm, where the compiler is found through ROCM_HOME.
Fix: the condition is asked on NVIDIA only: `not IS_ROCM and CUDA_HOME is None`, `IS_ROCM or CUDA_HOME is not None`.
    Where the guarded code uses the CUDA folder itself it is left alone. A path made of CUDA_HOME is for a person:
    torch's ROCM_HOME has the counterpart, but the folders inside differ.
Source: catalogue row 84.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.python.extension_calls import CUDA_HOME

RULE = Rule("KP421", "cuda-home", ("python",), Safety.SAFE, (b"CUDA_HOME", b"CUDA_PATH"))

_LEAVES = (ast.Raise, ast.Assert)


def check(module: PythonModule) -> Iterator[Finding]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Compare) and _asks_home(module, node) and module.reached_on_rocm(node):
            yield from _condition(module, node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and module.reached_on_rocm(node):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if key in ("CUDA_HOME", "CUDA_PATH") and module.qualified(node.value) == "os.environ":
                message = f"os.environ[{key!r}] raises on ROCm: torch.utils.cpp_extension.ROCM_HOME is the counterpart"
                yield RULE.finding(module.src, module.span(node), message)
    for call in module.calls("os.path.join", "pathlib.Path"):
        if call.args and module.qualified(call.args[0]) == CUDA_HOME and not _is_guarded(module, call):
            yield RULE.finding(module.src, module.span(call), "CUDA_HOME is None on ROCm: a path made of it raises TypeError")


def _asks_home(module: PythonModule, node: ast.Compare) -> bool:
    right = node.comparators[0]
    return (
        len(node.ops) == 1
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        and isinstance(right, ast.Constant)
        and right.value is None
        and module.qualified(node.left) == CUDA_HOME
    )


def _condition(module: PythonModule, node: ast.Compare) -> Iterator[Finding]:
    parents = list(module.parents(node))
    holder = next((item for item in parents if isinstance(item, (ast.If, ast.IfExp, ast.Assert))), None)
    if holder is None or not isinstance(holder, ast.If) or not _is_in_test(module, node, holder):
        return
    inner = isinstance(parents[0], (ast.BoolOp, ast.UnaryOp))
    text = module.text(node)
    if isinstance(node.ops[0], ast.Is):
        stops = any(isinstance(item, _LEAVES) or _exits(item) for one in holder.body for item in ast.walk(one))
        if not stops:
            return
        if _already_gated(module, node):
            return
        new, message = b"not IS_ROCM and " + text, "CUDA_HOME is None on ROCm: the build stops here"
    else:
        body = b" ".join(module.text(item) for item in holder.body)
        if b"Extension" not in body or b"CUDA_HOME" in body or _already_gated(module, node):
            return
        new, message = b"IS_ROCM or " + text, "CUDA_HOME is None on ROCm: the extension is left out"
    span = module.span(node)
    yield RULE.finding(module.src, span, message, [Edit(span, b"(" + new + b")" if inner else new)])


def _is_in_test(module: PythonModule, node: ast.AST, holder: ast.If) -> bool:
    return any(child is node for child in ast.walk(holder.test))


def _already_gated(module: PythonModule, node: ast.Compare) -> bool:
    """Beside a gate in the same condition: `IS_ROCM or CUDA_HOME is not None`."""
    parent = next(module.parents(node), None)
    return isinstance(parent, ast.BoolOp) and any(module.gate_value(item) is not None for item in parent.values)


def _exits(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("sys.exit", "exit", "quit")


def _is_guarded(module: PythonModule, node: ast.AST) -> bool:
    """Behind a condition that mentions CUDA_HOME or asks for the vendor."""
    return any(
        isinstance(parent, (ast.If, ast.IfExp)) and "CUDA_HOME" in ast.unparse(parent.test)
        for parent in module.parents(node)
    )
