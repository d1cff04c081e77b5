"""A file for TensorRT or another kit that ROCm does not have

What: A C++ or CUDA file that includes a header of TensorRT, DeepStream, NVIDIA's Video Codec SDK or OptiX, at its top
    and not in a block for one feature.
Why: The kit does not exist for ROCm, so the file is not part of a ROCm build, and nothing else about it matters there.
Fix: Leave the file out of the ROCm build, or write it again with AMD's kits (MIGraphX for TensorRT's engines,
    rocDecode for video, HIP RT for rays). kpt reports nothing else in the file, and nothing at all in a file for
    Parrots, another framework, because no build for torch compiles it.
Source: https://github.com/jeffdaily/moat#projects;
    https://rocm.docs.amd.com/projects/AMDMIGraphX/en/latest/; https://rocm.docs.amd.com/projects/rocDecode/en/latest/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.absent_kits import OTHER_FRAMEWORKS, TRIGGERS, absent_kit
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP279", "absent-kit", languages=("cuda", "c++"), safety=Safety.MANUAL, triggers=TRIGGERS)


def check(src: CxxFile) -> Iterator[Finding]:
    """The first #include of such a kit."""
    found = absent_kit(src)
    if found is not None and found[0] not in OTHER_FRAMEWORKS:
        name, span = found
        yield RULE.finding(src, span, f"needs {name}, which ROCm does not have: leave the file out of a ROCm build")
