"""pynvml

What: an import of pynvml (the package nvidia-ml-py).
Why: it asks NVIDIA's driver: without one the import or nvmlInit fails.
Fix: on ROCm the name comes from a generated file, `_rocm_nvml.py`, which answers the common questions (count, name,
    memory, utilisation, temperature, power) through amdsmi, in NVML's units; elsewhere the import is as it was. Where
    something is used that the file does not have, the message names it. In a `try` it is offered for review.
Source: seed 000 phase 5, catalogue rows 165 and 167.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.adapted_module import Adapted, adapted_findings
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP500", "pynvml", ("python",), Safety.SAFE, (b"pynvml",))

PYNVML = Adapted("pynvml", "_rocm_nvml", "pynvml reads NVIDIA's driver", Safety.SAFE)


def check(module: PythonModule) -> Iterator[Finding]:
    yield from adapted_findings(module, RULE, PYNVML)
