"""What a file gives to torch.compile: the functions, and the `forward` of models."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.port.python.definitions import Definition, definitions
from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.running import instance_methods


def compiled_functions(module: PythonModule) -> Iterator[tuple[ast.expr, Definition]]:
    """Functions of the project that the file compiles, each with the expression that does it."""
    for call in module.calls("torch.compile"):
        if call.args:
            for place in origins(module, call.args[0]):
                yield from ((call, one) for one in definitions(place.module, place.node) if one.function is one.node)
            yield from ((call, one) for one in instance_methods(module, call.args[0]))
    for node in all_nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                if module.qualified(target) == "torch.compile" and module.reached_on_rocm(node):
                    yield decorator, Definition(module, node)
