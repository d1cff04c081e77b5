"""A library without an AMD build

What: an import of a library that exists for NVIDIA GPUs only, which the program does not already do without.
Why: it cannot be installed on ROCm, or installs and fails at the first call.
Fix: a person decides: guard the import and take another path on ROCm. The message names the nearest thing.
Source: catalogue rows 157, 158, 161; port/tables/libraries_python.csv.
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
