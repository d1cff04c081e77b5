"""Parts of flash_attn beside its attention functions

What: an import of flash_attn's layers, operators, losses, padding functions or compiled modules.
Why: they come with the flash_attn package alone; some are Triton and work on ROCm, some are CUDA extensions.
Fix: the message says which kind it is. Nothing is rewritten.
Source: catalogue rows 118 and 123; flash-attn's own tree.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.library_table import library_findings, triggers
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP521", "flash-attn-parts", ("python",), Safety.MANUAL, triggers("KP521"))


def check(module: PythonModule) -> Iterator[Finding]:
    yield from library_findings(module, RULE)
