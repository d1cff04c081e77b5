"""A block collective's TempStorage used twice without a barrier

What: Two cub block collectives on one TempStorage with no __syncthreads in between.
Why: A block of 64 threads is one wave on CDNA, where the collective has no barrier of its own.
Fix: Put __syncthreads between the uses (cub asks for it on NVIDIA as well), or use two storages.
Source: https://nvidia.github.io/cccl/cub/api/classcub_1_1BlockReduce.html;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP320", "temp-storage-reuse", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"TempStorage",))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """A block collective's TempStorage used twice without a barrier."""
    yield from wave_findings(src, unit, RULE)
