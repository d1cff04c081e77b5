"""Dynamo's preserve_global_state replaced

What: an assignment to `torch._dynamo.convert_frame.preserve_global_state`, as seed 004's patch makes.
Why: the seed offers it against an error of the generator during capture. In current PyTorch it is a decorator that was
    applied when the module was imported: assigning to it changes nothing. Where it did act it dropped what PyTorch
    does there besides (inference mode, determinism, guards). The error is not ROCm's own either.
Fix: remove it. Warm up the same shapes on a side stream before the capture, capture under
    `torch.compiler.set_stance("fail_on_recompile")`, and compare a replay with the call (KP701).
Source: seed 004 (the RNG capture bug), catalogue row 140.
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
        message = "the decorator was applied at import: replacing it changes nothing"
        yield RULE.finding(module.src, module.span(setting.statement), message)
