"""The size of cuFFT's plan cache

What: `torch.backends.cuda.cufft_plan_cache.max_size = N`, also for one device.
Why: hipFFT's cache cannot be resized: the assignment raises on ROCm.
Fix: the statement runs only on NVIDIA.
Source: catalogue row 113, https://docs.pytorch.org/docs/main/notes/hip.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import gated_statement
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP595", "cufft-plan-cache", ("python",), Safety.SAFE, (b"cufft_plan_cache",))


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.Assign) or not module.reached_on_rocm(node):
            continue
        for target in node.targets:
            if not isinstance(target, ast.Attribute) or target.attr != "max_size":
                continue
            cache = target.value.value if isinstance(target.value, ast.Subscript) else target.value
            if module.qualified(cache) == "torch.backends.cuda.cufft_plan_cache":
                edit = gated_statement(module, node)
                message = "hipFFT's plan cache cannot be resized: this raises on ROCm"
                yield RULE.finding(module.src, module.span(node), message, [edit] if edit else [])
