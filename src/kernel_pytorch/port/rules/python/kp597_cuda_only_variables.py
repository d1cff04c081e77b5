"""Environment variables that only CUDA reads

What: Code that sets CUDA_DEVICE_MAX_CONNECTIONS, CUDA_DEVICE_ORDER or CUDA_MODULE_LOADING.
Why: ROCm ignores them. Code that needs one launch queue for its ordering (Megatron does), or devices in the order of
    the PCI bus, gets neither.
Fix: Nothing, where it was only tuning. The nearest setting to the first is GPU_MAX_HW_QUEUES. kpt does not report
    CUDA_DEVICE_ORDER=PCI_BUS_ID, because HIP has one order only, nor CUBLAS_WORKSPACE_CONFIG, which ROCm builds read.
Source: https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html;
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html;
    https://docs.pytorch.org/docs/main/notes/hip.html (CUBLAS_WORKSPACE_CONFIG)
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
