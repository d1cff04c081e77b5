"""torch.compile(mode="reduce-overhead")

What: A compile call that asks Inductor to capture graphs: mode "reduce-overhead", or "max-autotune", which captures
    and searches for the fastest kernels. It covers `torch.compile`, a module's own `.compile(mode=...)`, a dictionary
    of arguments that reaches either, and a mode that a helper of the project hands on.
Why: Capture through Inductor has been slow or wrong on ROCm. One porting guide says 65 times slower; the only public
    table behind such figures says 14 times, and AMD could not reproduce it on newer builds. The search takes minutes
    per graph, hangs were reported, and porting guides say to avoid it until it is verified: KP605 and KP621 switch it
    off where it is a setting of its own. Measure both for your model.
Fix: The gate chooses the mode: "default" on ROCm, the original elsewhere. kpt leaves "max-autotune-no-cudagraphs"
    alone, because it searches without graphs. `kpt bench` shows which mode is faster on your build.
Source: pytorch/pytorch#187715; https://skills.sh/arist12/amd-skills/amd-rocm-porting, rule 2 (65 times);
    Arist12/AMD-Skills on GitHub, amd-rocm-porting/references/torch-compile-and-cudagraph.md (stated more mildly);
    https://github.com/ggml-org/llama.cpp/pull/22254 (HIP graphs on by default)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.compile_modes import capturing, gated_mode, what_it_does
from kernel_pytorch.port.python.edits import is_editable
from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP601", "reduce-overhead", ("python",), Safety.SAFE, (b"reduce-overhead", b"max-autotune"))


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    for call in compile_calls(module):
        for value in _mode_values(module, call):
            for mode in capturing(module, value):
                if id(mode) in seen or not is_editable(module, mode):
                    continue
                seen.add(id(mode))
                message = f'compile mode "{mode.value!s}" {what_it_does(mode)}'
                yield RULE.finding(module.src, module.span(mode), message, [gated_mode(module, mode)])


def compile_calls(module: PythonModule) -> Iterator[ast.Call]:
    """torch.compile, partials of it, and `.compile(...)` of something that is not imported: a module's method."""
    yield from module.calls_and_partials("torch.compile")
    for node in all_nodes(module):
        function = node.func if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(function, ast.Attribute) or function.attr != "compile":
            continue
        if module.qualified(function) is None and module.reached_on_rocm(node):
            yield node


def _mode_values(module: PythonModule, call: ast.Call) -> Iterator[ast.expr]:
    for keyword in call.keywords:
        if keyword.arg == "mode":
            yield keyword.value
            if isinstance(keyword.value, ast.Name):
                yield from (value for value in bindings(module, keyword.value) if value is not None)
                yield from _handed_on(module, keyword.value)
        elif keyword.arg is None:
            yield from _unpacked(module, keyword.value)


def _handed_on(module: PythonModule, name: ast.Name) -> Iterator[ast.expr]:
    """What callers in this file give to the parameter that the mode comes from; its default is KP602's."""
    for place in origins(module, name):
        is_default = place.module is module and isinstance(next(module.parents(place.node)), ast.arguments)
        if place.module is module and not is_default:
            yield place.node


def _unpacked(module: PythonModule, node: ast.expr) -> Iterator[ast.expr]:
    """`**{"mode": ...}`, also through names, fields and parameters that hold a dictionary, or a name's entry is set."""
    for value in (place.node for place in origins(module, node) if place.module is module):
        if isinstance(value, ast.Dict):
            yield from (item for key, item in zip(value.keys, value.values, strict=True) if constant(key) == "mode")
        elif isinstance(value, ast.Call) and getattr(value.func, "id", "") == "dict":
            yield from (keyword.value for keyword in value.keywords if keyword.arg == "mode")
    if isinstance(node, ast.Name):
        for item in all_nodes(module):
            target = item.targets[0] if isinstance(item, ast.Assign) else None
            if not isinstance(item, ast.Assign) or not isinstance(target, ast.Subscript):
                continue
            if constant(target.slice) == "mode" and getattr(target.value, "id", None) == node.id:
                yield item.value
