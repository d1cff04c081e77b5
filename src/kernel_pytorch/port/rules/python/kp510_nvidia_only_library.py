"""A library without an AMD build

What: An import of a library that exists for NVIDIA GPUs only, for which the program has no fallback.
Why: It cannot be installed on ROCm, or it installs and fails at the first call.
Fix: Guard the import and take another path on ROCm. The message names the nearest thing.
Source: https://github.com/vllm-project/vllm/blob/main/requirements/cuda.txt (NVIDIA-only packages of a large project);
    https://github.com/jeffdaily/moat#projects; port/tables/libraries_python.csv has a source for each library.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.library_table import library_findings, triggers
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP510", "nvidia-only-library", ("python",), Safety.MANUAL, triggers("KP510"))


def check(module: PythonModule) -> Iterator[Finding]:
    yield from library_findings(module, RULE)
