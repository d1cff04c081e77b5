"""A compiled function called inside a capture

What: inside `with torch.cuda.graph(...)`, a call of something that the same file makes with `torch.compile`.
Why: if Dynamo meets a shape it has not seen, it compiles during the capture and asks for the generator's state:
    "Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture". Seed 004 calls this ROCm's; it is not.
Fix: call it with the same shapes on a side stream before, and capture under
    `with torch.compiler.set_stance("fail_on_recompile"):`, which names the guard that failed. A block that is already
    under `set_stance` is not reported.
Source: seed 004 (the RNG capture bug).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.capture import captures
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP704", "compiled-in-capture", ("python",), Safety.MANUAL, (b"cuda.graph", b"import graph"))


def check(module: PythonModule) -> Iterator[Finding]:
    compiled = set(_compiled_names(module))
    for block, _ in captures(module):
        if any("set_stance" in ast.unparse(item.context_expr) for item in _withs(module, block)):
            continue
        for node in (item for statement in block.body for item in ast.walk(statement)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in compiled:
                message = (
                    f"{ast.unparse(node.func)} is compiled: a shape it has not seen is compiled during the capture"
                )
                yield RULE.finding(module.src, module.span(node), message)


def _withs(module: PythonModule, block: ast.With) -> Iterator[ast.withitem]:
    yield from block.items
    for parent in module.parents(block):
        if isinstance(parent, ast.With):
            yield from parent.items


def _compiled_names(module: PythonModule) -> Iterator[str]:
    """What is assigned a torch.compile(...), or decorated with it."""
    for call in module.calls("torch.compile"):
        parent = next(module.parents(call))
        if isinstance(parent, ast.Assign):
            yield from (ast.unparse(target) for target in parent.targets)
    for node in all_nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                if module.qualified(target) == "torch.compile":
                    yield node.name
