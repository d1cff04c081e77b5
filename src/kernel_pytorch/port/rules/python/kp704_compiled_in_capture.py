"""A compiled function called inside a capture

What: Inside a capture, or in a function that is called there, a call of something that the same file makes with
    `torch.compile`.
Why: If Dynamo meets a shape it has not seen, it compiles during the capture and asks for the generator's state:
    "Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture". This is not special to ROCm.
Fix: Call it with the same shapes on a side stream before the capture. Capture under `with
    torch.compiler.set_stance("fail_on_recompile"):`, which names the guard that failed. kpt does not report a block
    that is already under `set_stance`.
Source: pytorch/pytorch#131782; pytorch/pytorch#167639;
    https://docs.pytorch.org/docs/stable/generated/torch.compiler.set_stance.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.capture import TRIGGERS, captures
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.running import running
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP704", "compiled-in-capture", ("python",), Safety.MANUAL, TRIGGERS)


def check(module: PythonModule) -> Iterator[Finding]:
    compiled = set(_compiled_names(module))
    for capture in captures(module):
        if any("set_stance" in ast.unparse(item.context_expr) for item in _withs(module, capture.start)):
            continue
        for step in running(module, capture.body):
            node = step.node
            if step.module is module and isinstance(node, ast.Call) and ast.unparse(node.func) in compiled:
                message = (
                    f"{ast.unparse(node.func)} is compiled: a shape it has not seen is compiled during the capture"
                )
                yield RULE.finding(module.src, module.span(node), message)


def _withs(module: PythonModule, start: ast.stmt) -> Iterator[ast.withitem]:
    for parent in (start, *module.parents(start)):
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
