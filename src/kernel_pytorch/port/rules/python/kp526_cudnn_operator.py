"""An operator of cuDNN called by its name

What: `torch.cudnn_convolution(...)`, `torch.ops.aten.cudnn_batch_norm`, `"aten::cudnn_convolution_backward_weight"`.
Why: A ROCm torch has these operators in its tables and no cuDNN behind them. The call raises "ATen not compiled with
    cuDNN support". The public functions (`conv2d`, `batch_norm`) choose MIOpen by themselves.
Fix: Call the public function, or MIOpen's operator (`aten::miopen_convolution...`) on ROCm. Its arguments differ: it
    takes no allow_tf32.
Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cudnn/ConvShared.cpp;
    aten/src/ATen/native/native_functions.yaml; https://github.com/open-mmlab/mmcv/pull/2811
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP526", "cudnn-operator", ("python",), Safety.MANUAL, (b"aten::cudnn_", b".cudnn_"))
_OPERATORS = ("torch.cudnn_", "torch.ops.aten.cudnn_", "torch._C._VariableFunctions.cudnn_")


def check(module: PythonModule) -> Iterator[Finding]:
    places: list[tuple[ast.expr, str]] = []
    for text in nodes_of(module, ast.Constant):
        if isinstance(text.value, str) and text.value.startswith("aten::cudnn_"):
            places.append((text, text.value))
    for node in nodes_of(module, ast.Attribute):
        # The whole name is one attribute of its last part only: `torch.ops.aten.cudnn_batch_norm.default` counts once.
        if node.attr.startswith("cudnn_") and (module.qualified(node) or "").startswith(_OPERATORS):
            places.append((node, ast.unparse(node)))
    for place, shown in sorted(places, key=lambda item: module.span(item[0]).start):
        if module.reached_on_rocm(place) and not is_rocm_branch(module, place):
            message = f"{shown}: ROCm's torch has no cuDNN, so the call raises an error"
            yield RULE.finding(module.src, module.span(place), message)
