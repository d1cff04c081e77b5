"""A graph break that compiled code need not have

What: In a function that the project compiles with `torch.compile`, or one that is called from it: a call of one of
    aiter's Python functions, or of a function under `torch._dynamo.disable` or `torch.compiler.disable`.
Why: Dynamo cannot trace through them. The graph is cut in two there, in every layer, and each piece is launched by
    itself. On ROCm, where Inductor's own graphs are off (KP601), nothing hides those launches.
Fix: Call aiter's operator, `torch.ops.aiter.*`, which Dynamo keeps in the graph. Register a function of your own with
    `torch.library.custom_op` instead of disabling the compiler for it. kpt reports the place.
Source: Arist12/AMD-Skills on GitHub, amd-kernel-optimization ("use torch.ops.aiter.* (compile-safe) not Python
    wrappers") and amd-rocm-porting/references/torch-compile-and-cudagraph.md ("Avoiding graph breaks");
    https://docs.pytorch.org/docs/stable/torch.compiler_fine_grain_apis.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.compiled import compiled_functions
from kernel_pytorch.port.python.definitions import Definition, definitions
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.running import running
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP607", "graph-break", ("python",), Safety.MANUAL, (b"torch.compile", b"import compile"))

_DISABLED = ("torch._dynamo.disable", "torch.compiler.disable", "torch._dynamo.eval_frame.disable")


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[tuple[int, str]] = set()
    for compiled, definition in compiled_functions(module):
        function = definition.function
        if function is None or isinstance(function, ast.Lambda):
            continue
        for step in running(definition.module, function.body):
            what = _breaks(step.module, step.node)
            if what is None or not isinstance(step.node, ast.Call):
                continue
            place = step.node if step.module is module else compiled
            if (id(place), what) in seen:
                continue
            seen.add((id(place), what))
            where = "" if place is step.node else f" ({step.module.src.path}, line {step.node.lineno})"
            message = f"{what} cuts the graph that {_name(definition)} is compiled to{where}"
            yield RULE.finding(module.src, module.span(place), message)


def _breaks(module: PythonModule, node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = module.qualified(node.func) or ""
    if name.startswith("aiter."):
        return f"{name}, a Python function,"
    if any(_is_disabled(one) for one in definitions(module, node.func)):
        return f"{ast.unparse(node.func)}, for which the compiler is disabled,"
    return None


def _is_disabled(definition: Definition) -> bool:
    node = definition.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    targets = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return any(definition.module.qualified(target) in _DISABLED for target in targets)


def _name(definition: Definition) -> str:
    node = definition.node
    return "it" if isinstance(node, ast.Lambda) else node.name
