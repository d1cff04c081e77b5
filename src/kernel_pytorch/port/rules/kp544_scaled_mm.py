"""torch._scaled_mm

What: a call of `torch._scaled_mm`, or of `torch.nn.functional.scaled_mm`.
Why: hipBLASLt refuses what cuBLASLt takes: e4m3 times e5m2 on some versions, scales by row before ROCm 6.3 or so, and
    every operand that is not of the GPU's own 8-bit type. The answer is HIPBLAS_STATUS_NOT_SUPPORTED at the call.
Fix: ask once with small tensors at start-up and fall back to a product of dequantised tensors where the call is
    refused. `kernel_pytorch.port.templates.rocm_fp8.scaled_mm` does both, in a file that can be copied.
Source: catalogue row 133, https://github.com/pytorch/pytorch/pull/117822
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cuda.unit import Unit
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.source import SourceFile

RULE = Rule("KP544", "scaled-mm", ("python",), Safety.MANUAL, (b"scaled_mm",))

NAMES = ("torch._scaled_mm", "torch.ops.aten._scaled_mm", "torch.nn.functional.scaled_mm")


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    module = python_module(src)
    if module is None:
        return
    for call in module.calls(*NAMES):
        message = "_scaled_mm is refused by hipBLASLt for some types and scales: no fallback here"
        if not _is_tried(module.parents(call)):
            yield RULE.finding(src, module.span(call), message)


def _is_tried(parents: Iterator[object]) -> bool:
    """In a `try`: its writer has thought of a refusal."""
    return any(type(parent).__name__ == "Try" for parent in parents)
