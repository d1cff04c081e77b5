"""Inductor's settings in Python source: by assignment, by `config.patch`, or in torch.compile's own options."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.port.python.bindings import bindings, dotted
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import attribute_settings, constant

CONFIG = "torch._inductor.config"
_PATCHES = (f"{CONFIG}.patch", "torch._inductor.config.patch")


def inductor_values(module: PythonModule, *keys: str) -> Iterator[tuple[str, ast.expr]]:
    """The expressions that give one of the keys ("triton.cudagraphs") its value, wherever ROCm gets to."""
    names = {f"{CONFIG}.{key}": key for key in keys}
    for setting in attribute_settings(module, *names):
        if setting.value is not None:
            yield names[setting.name], setting.value
    for node in all_nodes(module):
        if not isinstance(node, ast.Call) or not module.reached_on_rocm(node):
            continue
        if dotted(module, node.func) in _PATCHES:
            yield from _patched(module, node, keys)
        elif module.qualified(node.func) == "torch.compile":
            for keyword in node.keywords:
                if keyword.arg == "options":
                    yield from _entries(module, keyword.value, keys)


def _patched(module: PythonModule, call: ast.Call, keys: tuple[str, ...]) -> Iterator[tuple[str, ast.expr]]:
    first = constant(call.args[0]) if call.args else None
    if first in keys and len(call.args) > 1:
        yield str(first), call.args[1]
    elif call.args:
        yield from _entries(module, call.args[0], keys)
    for keyword in call.keywords:
        if keyword.arg is None:
            yield from _entries(module, keyword.value, keys)
        elif keyword.arg in keys:
            yield keyword.arg, keyword.value


def _entries(module: PythonModule, node: ast.expr, keys: tuple[str, ...]) -> Iterator[tuple[str, ast.expr]]:
    values = bindings(module, node) if isinstance(node, ast.Name) else [node]
    for value in values:
        if isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                if constant(key) in keys:
                    yield str(constant(key)), item
