"""Triton in Python source: configurations and launches (run by Python) and kernels (compiled, so never gated)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.edits import compiler_of
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.python.per_module import per_module

CONFIG = ("triton.Config", "triton.runtime.autotuner.Config", "triton.runtime.Config")
_POSITIONS = {"num_warps": 1, "num_stages": 2, "num_ctas": 3}


@dataclass(frozen=True)
class Option:
    """A launch option's value at one place. `call` is the Config or the launch; `is_config` tells which."""

    value: ast.expr
    call: ast.Call
    is_config: bool


def options(module: PythonModule, name: str) -> Iterator[Option]:
    """Every value given to an option of a kernel on the host side, wherever ROCm gets to."""
    for node, is_config in _configs_and_launches(module):
        position = _POSITIONS.get(name) if is_config else None
        value = next((keyword.value for keyword in node.keywords if keyword.arg == name), None)
        if value is None and position is not None and len(node.args) > position:
            value = node.args[position]
        if value is not None:
            yield Option(value, node, is_config)


@per_module
def _configs_and_launches(module: PythonModule) -> tuple[tuple[ast.Call, bool], ...]:
    if not has_triton(module):
        return ()
    found = []
    for node in nodes_of(module, ast.Call):
        is_config = module.qualified(node.func) in CONFIG
        if (is_config or is_launch(module, node)) and module.reached_on_rocm(node):
            found.append((node, is_config))
    return tuple(found)


def is_launch(module: PythonModule, call: ast.Call) -> bool:
    """`kernel[grid](...)` on the host: a call of something indexed, in a file that has Triton."""
    if not isinstance(call.func, ast.Subscript) or compiler_of(module, call) is not None:
        return False
    return has_triton(module)


def has_triton(module: PythonModule) -> bool:
    """Whether a file imports Triton, also behind a condition."""
    return any(name.split(".")[0] == "triton" for name in module.scope(module.tree).imports.values())


def literal_lists(module: PythonModule, value: ast.expr) -> Iterator[ast.List | ast.Tuple]:
    """The literal lists a name runs through: `for w in [4, 8]`, also where the list has a name of its own."""
    if not isinstance(value, ast.Name):
        return
    for parent in module.parents(value):
        generators = getattr(parent, "generators", None)
        loops = list(generators) if generators else [parent] if isinstance(parent, ast.For) else []
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id == value.id:
                if any(value.id in ast.unparse(test) for test in getattr(loop, "ifs", ())):
                    return  # `for w in [...] if w * width <= most`: the file chooses by the number itself
                yield from _lists_of(module, loop.iter)
                return


def _lists_of(module: PythonModule, node: ast.expr | None) -> Iterator[ast.List | ast.Tuple]:
    if isinstance(node, (ast.List, ast.Tuple)):
        yield node
    elif isinstance(node, ast.IfExp):
        yield from _lists_of(module, node.body)
        yield from _lists_of(module, node.orelse)
    elif isinstance(node, ast.Name):
        for value in bindings(module, node):
            if not isinstance(value, ast.Name):
                yield from _lists_of(module, value)


def numbers(node: ast.List | ast.Tuple) -> list[int] | None:
    """The integers of a literal list, None where it holds anything else."""
    values = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, int)]
    return values if len(values) == len(node.elts) else None


def literal_numbers(module: PythonModule, value: ast.expr) -> Iterator[ast.Constant]:
    """The literal integers an argument can come to: itself, or the arms of a choice that ROCm gets to."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int) and module.reached_on_rocm(value):
        yield value
    elif isinstance(value, ast.IfExp):
        yield from literal_numbers(module, value.body)
        yield from literal_numbers(module, value.orelse)


def shown(values: list[int], is_tuple: bool) -> bytes:
    """The numbers as a list or a tuple again."""
    inner = ", ".join(map(str, values))
    text = f"({inner}{',' if len(values) == 1 else ''})" if is_tuple else f"[{inner}]"
    return text.encode()
