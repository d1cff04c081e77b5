"""A library that reads NVML or nvidia-smi

What: An import of GPUtil, gpustat, py3nvml or the like, for which the program has no fallback.
Why: These libraries ask NVIDIA's driver. On an AMD machine some raise an exception and some report that there is no
    GPU.
Fix: Replace the library. amdsmi has the figures; torch.cuda.mem_get_info and torch.cuda.utilization have the common
    ones.
Source: wookayin/gpustat#137; XuehaiPan/nvitop#74; https://github.com/vllm-project/vllm/blob/main/requirements/rocm.txt
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.library_table import library_findings, triggers
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP502", "nvml-wrapper", ("python",), Safety.MANUAL, triggers("KP502"))


def check(module: PythonModule) -> Iterator[Finding]:
    yield from library_findings(module, RULE)
