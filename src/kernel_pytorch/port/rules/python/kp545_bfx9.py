"""float32 precision "bfx9"

What: `fp32_precision = "bfx9"` for matrix multiplication or convolution.
Why: Several BF16 products in place of one float32 product is a mode of NVIDIA's newest GPUs. ROCm raises an exception.
Fix: The statement runs only on NVIDIA.
Source: https://docs.pytorch.org/docs/main/notes/hip.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import dotted
from kernel_pytorch.port.python.edits import choice, gated_statement, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP545", "bfx9", ("python",), Safety.SAFE, (b"bfx9",))


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Assign) or constant(node.value) != "bfx9" or not module.reached_on_rocm(node):
            continue
        names = [dotted(module, target) or "" for target in node.targets if isinstance(target, ast.Attribute)]
        if any(name.startswith("torch.backends.") and name.endswith("fp32_precision") for name in names):
            edit = gated_statement(module, node)
            if edit is None and is_editable(module, node):
                edit = choice(module, node.value, b'"ieee"')
            message = 'float32 precision "bfx9" raises on ROCm'
            yield RULE.finding(module.src, module.span(node), message, [edit] if edit else [])
