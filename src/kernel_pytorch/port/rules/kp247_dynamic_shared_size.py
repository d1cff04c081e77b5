"""More than 64 KiB of dynamic shared memory

What: cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize, where the size is above 64 KiB or cannot be
  read off the source.
Why: a block of MI200, MI300 or an RDNA GPU has 64 KiB of LDS and no opt-in for more (gfx950 has 160 KiB): the launch
  fails. On CUDA the attribute unlocks up to 227 KiB.
Fix: a person's: a smaller tile or fewer stages on ROCm, chosen from the device's sharedMemPerBlock.
Source: rules catalogue row 46; https://github.com/vllm-project/vllm/pull/17744
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.rules.constants import constant_value
from kernel_pytorch.port.rules.reading import calls

if TYPE_CHECKING:
    from kernel_pytorch.port.cuda.unit import Unit
    from kernel_pytorch.port.source import SourceFile

RULE = Rule(
    "KP247",
    "dynamic-shared-size",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"MaxDynamicSharedMemorySize", b"MAX_DYNAMIC_SHARED_SIZE_BYTES"),
)

_ATTRIBUTES = (b"cudaFuncAttributeMaxDynamicSharedMemorySize", b"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")
_LDS_BYTES = 65536


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """Each such call unless the size is known and fits."""
    for call in calls(src, b"cudaFuncSetAttribute", b"cuFuncSetAttribute"):
        if len(call.arguments) != 3 or not call.argument(src, 1).endswith(_ATTRIBUTES):
            continue
        text = call.argument(src, 2)
        size = constant_value(text, unit)
        if size is not None and size <= _LDS_BYTES:
            continue
        shown = text.decode("utf-8", "replace")
        what = f"{size} bytes" if size is not None else f"{shown}, which is not known here,"
        message = (
            f"dynamic shared memory of {what}: LDS has 65536 bytes per block on all but gfx950, and no opt-in for more"
        )
        yield RULE.finding(src, call.span, message)
