"""The host takes the wave width from the device, the kernels count in 32s

What: prop.warpSize or the warp size attribute in host arithmetic, beside kernels with a constant of 32.
Why: The host then sees 64 on CDNA and the kernels 32. Buffers and launches do not fit each other.
Fix: Use the kernels' constant on the host, or make the kernels follow the device.
Source: https://github.com/vllm-project/vllm/pull/22822;
    https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1885
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.wave.analysis import wave_findings

RULE = Rule(
    "KP306",
    "host-queries-width",
    languages=("cuda",),
    safety=Safety.MANUAL,
    triggers=(b"warpSize", b"WarpSize", b"WARP_SIZE"),
)


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """The host takes the wave width from the device, the kernels count in 32s."""
    yield from wave_findings(src, unit, RULE)
