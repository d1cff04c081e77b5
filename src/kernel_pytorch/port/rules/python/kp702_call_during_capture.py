"""A call that a capture cannot hold

What: Inside `with torch.cuda.graph(...)` or between `capture_begin()` and `capture_end()`, also in a function that is
    called there: a generator's state or seed by any of its names, a synchronisation, or a value brought to the CPU
    (`.item()`, `.cpu()`, `.tolist()`, `.numpy()`).
Why: CUDA raises an exception there. HIP often does not, and the replay is wrong instead. Reading the generator
    (`torch.cuda.get_rng_state()`) raises on both.
Fix: Move the call out of the capture. Random numbers inside a graph come from the generator that the graph has
    registered, which needs no call.
Source: ROCm/hip#3887; pytorch/pytorch#83148 (the generator); Arist12/AMD-Skills on GitHub,
    amd-rocm-porting/references/torch-compile-and-cudagraph.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.capture import TRIGGERS, captures
from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.running import running
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP702", "call-during-capture", ("python",), Safety.MANUAL, TRIGGERS)

_STATE = ("get_rng_state", "set_rng_state", "initial_seed", "seed", "manual_seed", "fork_rng")
_STATE_OF_ALL = ("get_rng_state_all", "set_rng_state_all", "seed_all", "manual_seed_all")
_FUNCTIONS = frozenset(
    [f"{home}.{name}" for home in ("torch", "torch.random") for name in _STATE]
    + [f"{home}.{name}" for home in ("torch.cuda", "torch.cuda.random") for name in (*_STATE, *_STATE_OF_ALL)]
    + ["torch.cuda.synchronize", "torch.cuda.empty_cache", "torch.Generator"]
)
_METHODS = frozenset({"item", "cpu", "tolist", "numpy"})
_OF_A_GENERATOR = frozenset({"get_state", "set_state", "seed", "manual_seed", "initial_seed"})
_GENERATORS = ("torch.Generator", "torch.cuda.default_generators", "torch.default_generator")


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[tuple[int, str]] = set()
    for capture in captures(module):
        for step in running(module, capture.body):
            name = _illegal(step.module, step.node)
            if name is None or not isinstance(step.node, ast.Call):
                continue
            is_here = step.module is module or step.via is None
            place = step.node if is_here else step.via
            assert place is not None
            if (id(place), name) in seen:
                continue
            seen.add((id(place), name))
            message = f"{name}() cannot be captured: HIP may replay wrong numbers without an error"
            if not is_here:
                message += f" ({step.module.src.path}, line {step.node.lineno})"
            elif step.via is not None:
                message += f" (captured through the call in line {step.via.lineno})"
            yield RULE.finding(module.src, module.span(place), message)


def _illegal(module: PythonModule, node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    name = module.qualified(node.func)
    if name in _FUNCTIONS:
        return name
    if not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in _METHODS and not node.args and name is None:
        return f".{node.func.attr}"
    is_state = node.func.attr in _OF_A_GENERATOR and _is_generator(module, node.func.value)
    return f"a generator's {node.func.attr}" if is_state else None


def _is_generator(module: PythonModule, node: ast.expr) -> bool:
    """`torch.Generator()`, one of `torch.cuda.default_generators`, or a name that holds one."""
    for place in origins(module, node):
        made = place.node
        while isinstance(made, (ast.Subscript, ast.Call)):
            made = made.value if isinstance(made, ast.Subscript) else made.func
        if place.module.qualified(made) in _GENERATORS:
            return True
    return False
