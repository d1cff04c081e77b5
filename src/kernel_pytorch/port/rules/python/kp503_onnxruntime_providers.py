"""onnxruntime's CUDA and TensorRT providers

What: a list of execution providers that names CUDAExecutionProvider or TensorrtExecutionProvider.
Why: the ROCm build of onnxruntime offers MIGraphX; a provider it does not know is an error in some versions and a
    silent fall back to the CPU in others.
Fix: MIGraphX, then the CPU, on ROCm; the original list elsewhere.
Source: catalogue row 159.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

PROVIDERS = ("CUDAExecutionProvider", "TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider")
RULE = Rule("KP503", "onnxruntime-providers", ("python",), Safety.SAFE, tuple(name.encode() for name in PROVIDERS))

ON_ROCM = b'["MIGraphXExecutionProvider", "CPUExecutionProvider"]'


def check(module: PythonModule) -> Iterator[Finding]:
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.List) or not any(_provider(item) in PROVIDERS for item in node.elts):
            continue
        if not module.reached_on_rocm(node) or is_rocm_branch(module, node):
            continue
        parent = next(module.parents(node), None)
        if isinstance(parent, (ast.Compare, ast.For, ast.comprehension)):
            continue
        span = module.span(node)
        gated = ON_ROCM + b" if IS_ROCM else " + module.text(node)
        if not isinstance(parent, (ast.Assign, ast.AnnAssign, ast.keyword, ast.Return)):
            gated = b"(" + gated + b")"
        named = next(name for item in node.elts if (name := _provider(item)) in PROVIDERS)
        yield RULE.finding(module.src, span, f"{named} is not in onnxruntime's ROCm build", [Edit(span, gated)])


def _provider(item: ast.expr) -> str:
    """The name in `"CUDAExecutionProvider"` or `("CUDAExecutionProvider", {options})`."""
    first = item.elts[0] if isinstance(item, ast.Tuple) and item.elts else item
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
