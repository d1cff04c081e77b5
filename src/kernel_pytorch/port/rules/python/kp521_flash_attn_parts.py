"""Parts of flash_attn beside its attention functions

What: An import of flash_attn's layers, operators, losses, padding functions or compiled modules.
Why: They come only with the flash_attn package. Some are Triton and work on ROCm; some are CUDA extensions.
Fix: The message says which kind it is. kpt rewrites nothing.
Source: https://github.com/Dao-AILab/flash-attention#amd-rocm-support; the tree of that repository.
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
