"""Weights packed for torch's int4 matrix product

What: `torch.ops.aten._convert_weight_to_int4pack(...)` and `torch.ops.aten._weight_int4pack_mm(...)`, which gpt-fast,
    torchao's tinygemm layout and HQQ use.
Why: On ROCm both need CDNA2 or later: gfx90a, gfx942, gfx950. On gfx908 and on RDNA (gfx1030, gfx1100, gfx1201) they
    raise an exception. The packed bytes are for one vendor: NVIDIA's tiles have 8 rows, AMD's 16, in a tensor of the
    same shape. A checkpoint that was packed on NVIDIA loads on AMD without an error and gives wrong values.
Fix: Keep another path for RDNA (dequantize and multiply, or a Triton kernel), and pack the weights on the machine that
    uses them. The forms for the CPU (`..._for_cpu`) are not affected.
Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/int4mm.cu (isCDNA2orLater, kNTileSize)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

_WHY = {
    "_convert_weight_to_int4pack": "raises on AMD GPUs before CDNA2 and on RDNA; its bytes fit one vendor only",
    "_weight_int4pack_mm": "raises on AMD GPUs before CDNA2 and on RDNA",
}
RULE = Rule("KP547", "int4-packed-weights", ("python",), Safety.MANUAL, tuple(name.encode() for name in _WHY))


def check(module: PythonModule) -> Iterator[Finding]:
    for node in nodes_of(module, ast.Attribute):
        if node.attr not in _WHY or not (module.qualified(node) or "").startswith("torch."):
            continue
        if module.reached_on_rocm(node) and not is_rocm_branch(module, node):
            yield RULE.finding(module.src, module.span(node), f"{node.attr} {_WHY[node.attr]}")
