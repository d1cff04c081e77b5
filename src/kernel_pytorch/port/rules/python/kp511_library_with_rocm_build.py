"""A library whose ROCm build is another package

What: an import of a library whose usual wheel is for CUDA and which has a ROCm build elsewhere.
Why: pip installs the CUDA build, which fails to load or finds no GPU.
Fix: no change in the source: `kpt deps` plans the installation, the message says where the build comes from.
Source: catalogue rows 155, 156, 160, 162; port/tables/libraries_python.csv.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.library_table import library_findings, triggers
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP511", "library-with-rocm-build", ("python",), Safety.MANUAL, triggers("KP511"))


def check(module: PythonModule) -> Iterator[Finding]:
    yield from library_findings(module, RULE)
