"""A call that a capture cannot hold

What: inside `with torch.cuda.graph(...)`: the generator's state or seed, a synchronisation, or a value brought to the
    CPU (`.item()`, `.cpu()`, `.tolist()`, `.numpy()`).
Why: CUDA raises there. HIP often does not, and the replay is wrong instead. Reading the generator
    (`torch.cuda.get_rng_state()`) raises on both.
Fix: a person moves the call out of the block. Random numbers inside a graph come from the generator the graph has
    registered, which needs no call.
Source: seed 000 phase 7 (pitfalls), seed 004, catalogue row 141.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.capture import captures
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP702", "call-during-capture", ("python",), Safety.MANUAL, (b"cuda.graph", b"import graph"))

_FUNCTIONS = frozenset(
    f"torch.cuda.{name}"
    for name in ("get_rng_state", "set_rng_state", "initial_seed", "seed", "manual_seed", "synchronize", "empty_cache")
)
_METHODS = frozenset({"item", "cpu", "tolist", "numpy"})


def check(module: PythonModule) -> Iterator[Finding]:
    for block, _ in captures(module):
        for statement in block.body:
            for node in ast.walk(statement):
                name = _illegal(module, node)
                if name is not None and isinstance(node, ast.Call):
                    message = f"{name}() cannot be captured: HIP may replay wrong numbers without an error"
                    yield RULE.finding(module.src, module.span(node), message)


def _illegal(module: PythonModule, node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = module.qualified(node.func)
    if name in _FUNCTIONS:
        return name
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not node.args and name is None
    return f".{node.func.attr}" if is_method and isinstance(node.func, ast.Attribute) else None
