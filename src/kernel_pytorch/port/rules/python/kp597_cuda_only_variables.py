"""Environment variables that only CUDA reads

What: CUDA_DEVICE_MAX_CONNECTIONS, CUDA_DEVICE_ORDER or CUDA_MODULE_LOADING set in code.
Why: ROCm ignores them. Code that counts on one launch queue for its ordering (Megatron does), or on devices in the
    order of the PCI bus, gets neither.
Fix: nothing where it was only tuning. The nearest knob to the first is GPU_MAX_HW_QUEUES. CUDA_DEVICE_ORDER=PCI_BUS_ID
    is not reported: HIP has one order only. CUBLAS_WORKSPACE_CONFIG is read by ROCm builds and not reported.
Source: catalogue row 115.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant, environment_settings
from kernel_pytorch.port.rule import Rule

NAMES = ("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING")
RULE = Rule("KP597", "cuda-only-variables", ("python",), Safety.MANUAL, tuple(name.encode() for name in NAMES))


def check(module: PythonModule) -> Iterator[Finding]:
    for setting in environment_settings(module):
        # HIP has no other order than the bus's.
        if setting.name in NAMES and constant(setting.value) != "PCI_BUS_ID":
            yield RULE.finding(module.src, module.span(setting.statement), f"{setting.name} has no effect on ROCm")
