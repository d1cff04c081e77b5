"""A library that reads NVML or nvidia-smi

What: an import of GPUtil, gpustat, py3nvml or the like, which the program does not already do without.
Why: they ask NVIDIA's driver. On an AMD machine some raise and some report that there is no GPU.
Fix: a person replaces them: amdsmi has the figures, torch.cuda.mem_get_info and torch.cuda.utilization the common ones.
Source: seed 000 phase 5, catalogue rows 167 and 182.
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
