"""apex

What: An import from NVIDIA's apex, for which the program has no fallback.
Why: On ROCm apex must be built from ROCm's own source, and PyTorch has most of it today.
Fix: FusedLayerNorm and FusedRMSNorm become torch.nn's on ROCm, offered for review (torch.nn.RMSNorm has another
    default eps). For the rest the message names PyTorch's counterpart and the difference: FusedAdam's weight decay
    defaults to 0, AdamW's to 0.01.
Source: https://github.com/ROCm/apex/pull/231; the signatures in torch.nn and torch.optim, torch 2.13.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.gated_import import gated, is_optional, is_own_package, local_name
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP512", "apex", ("python",), Safety.REVIEW, (b"apex",))

IN_TORCH = {"FusedLayerNorm": "LayerNorm", "FusedRMSNorm": "RMSNorm", "MixedFusedLayerNorm": "LayerNorm"}
NOTES = {
    "apex.optimizers": "torch.optim.AdamW(fused=True) and SGD; FusedAdam's weight decay defaults to 0, AdamW's to 0.01",
    "apex.amp": "torch.amp.autocast and GradScaler",
    "apex.parallel": "torch.nn.parallel.DistributedDataParallel and torch.nn.SyncBatchNorm",
    "apex.normalization": "torch.nn.LayerNorm and RMSNorm",
    "apex.contrib": "CUDA extensions: some are built by ROCm/apex, none has a counterpart by name",
    "apex.transformer": "Megatron's fused kernels: build ROCm/apex",
    "apex": "build ROCm/apex from source, or use PyTorch's counterpart",
}


def check(module: PythonModule) -> Iterator[Finding]:
    if is_own_package(module, "apex"):
        return
    reported: set[str] = set()
    for node, name in module.imports("apex"):
        if module.is_import_guarded(node) or module.is_type_checking_only(node) or is_optional(module, node):
            continue
        if isinstance(node, ast.ImportFrom) and name == "apex":
            name = f"apex.{node.names[0].name}"
        row = next(key for key in NOTES if name == key or name.startswith(key + ".") or key == "apex")
        if isinstance(node, ast.ImportFrom) and all(alias.name in IN_TORCH for alias in node.names):
            names = ", ".join(f"{IN_TORCH[alias.name]} as {local_name(alias)}" for alias in node.names)
            edit = gated(module, node, f"from torch.nn import {names}")
            if edit is not None:
                yield RULE.finding(module.src, module.span(node), f"{name}: {NOTES['apex.normalization']}", [edit])
                continue
        if row not in reported:
            reported.add(row)
            yield RULE.finding(module.src, module.span(node), f"{name}: {NOTES[row]}")
