"""32 warps of the device's width

What: 32 * warpSize as a block's size.
Why: That is 2048 threads on a 64-lane device; a block has at most 1024.
Fix: kpt writes 32 in place of the width if the kernels count in 32s. Otherwise the choice is yours.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hardware_features.html;
    https://github.com/openxla/xla/pull/35026
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule("KP323", "block-of-warps", languages=("cuda",), safety=Safety.SAFE, triggers=(b"warpSize", b"WarpSize"))


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """32 warps of the device's width."""
    yield from wave_findings(src, unit, RULE)
