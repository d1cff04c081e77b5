"""Dynamo's preserve_global_state replaced

What: An assignment to `torch._dynamo.convert_frame.preserve_global_state`, a patch that some porting guides recommend.
Why: The patch is meant to avoid an error of the random generator during capture. In torch 2.13 the decorator was
    applied to `trace_frame` when torch was imported, so assigning to its name changes nothing. Older versions apply it
    inside `_compile`, at each compile. There the patch acts, but it also drops what PyTorch restores at that place
    (inference mode, determinism, guards). NVIDIA GPUs have the error too.
Fix: Remove it. Warm up the same shapes on a side stream before the capture, capture under
    `torch.compiler.set_stance("fail_on_recompile")`, and compare a replay with the call (KP701).
Source: https://github.com/pytorch/pytorch/blob/main/torch/_dynamo/convert_frame.py; pytorch/pytorch#131782 (the error,
    on NVIDIA); Arist12/AMD-Skills on GitHub, amd-rocm-porting/references/torch-compile-and-cudagraph.md (the patch)
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import attribute_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP703", "dynamo-rng-patch", ("python",), Safety.MANUAL, (b"preserve_global_state",))


def check(module: PythonModule) -> Iterator[Finding]:
    for setting in attribute_settings(module, "torch._dynamo.convert_frame.preserve_global_state"):
        message = "in current torch the decorator was applied at import: replacing it changes nothing"
        yield RULE.finding(module.src, module.span(setting.statement), message)
