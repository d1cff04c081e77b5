"""TORCH_CUDA_ARCH_LIST

What: Python code that sets or requires the environment variable.
Why: torch's ROCm build does not read it. PYTORCH_ROCM_ARCH chooses the targets; without it torch builds for those it
    was built for itself.
Fix: kpt rewrites nothing, because setting it does no harm. Reading it with os.environ[...] raises an exception where
    it is unset.
Source: https://github.com/pytorch/pytorch/pull/61706;
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP423", "torch-cuda-arch-list", ("python",), Safety.MANUAL, (b"TORCH_CUDA_ARCH_LIST",))


def check(module: PythonModule) -> Iterator[Finding]:
    is_reported = False
    for node in ast.walk(module.tree):
        if not (isinstance(node, ast.Subscript) and module.qualified(node.value) == "os.environ"):
            continue
        if not (isinstance(node.slice, ast.Constant) and node.slice.value == "TORCH_CUDA_ARCH_LIST"):
            continue
        if is_reported or isinstance(node.ctx, ast.Del) or not module.reached_on_rocm(node):
            continue
        parent = next(module.parents(node), None)
        if isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Constant) and not parent.value.value:
            continue  # cleared
        is_reported = True
        yield RULE.finding(module.src, module.span(node), "not read on ROCm: PYTORCH_ROCM_ARCH chooses the targets")
