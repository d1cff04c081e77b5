"""More than 64 KiB of dynamic shared memory

What: cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize, where the size is above 64 KiB or cannot
    be read from the source.
Why: A block of MI200, MI300 or an RDNA GPU has 64 KiB of LDS and no way to ask for more (gfx950 has 160 KiB,
    gfx1250 320 KiB), so the launch fails. On CUDA the attribute unlocks up to 227 KiB.
Fix: Use a smaller tile or fewer stages on ROCm, chosen from the device's sharedMemPerBlock.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hardware_features.html;
    https://github.com/vllm-project/vllm/pull/17744; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.calls import Call, calls
from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule(
    "KP247",
    "dynamic-shared-size",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"MaxDynamicSharedMemorySize", b"MAX_DYNAMIC_SHARED_SIZE_BYTES"),
)

_ATTRIBUTES = (b"cudaFuncAttributeMaxDynamicSharedMemorySize", b"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")
_LDS_BYTES = 65536
_NEAR = 3000
_SHOWN = 140


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each such call unless the size is known and fits."""
    unknown: list[tuple[Call, str]] = []
    for call in calls(src, b"cudaFuncSetAttribute", b"cuFuncSetAttribute"):
        # The last but one: a kernel behind a gate counts twice.
        if len(call.arguments) < 3 or not call.argument(src, len(call.arguments) - 2).endswith(_ATTRIBUTES):
            continue
        text = call.argument(src, len(call.arguments) - 1)
        size = constant_value(text, unit)
        if size is not None and size <= _LDS_BYTES:
            continue
        if size is None:
            unknown.append((call, _made_of(src, call, text)))
            continue
        message = (
            f"dynamic shared memory of {size} bytes: LDS has {_LDS_BYTES} per block on all but gfx950 and gfx1250, "
            "and no opt-in for more"
        )
        yield RULE.finding(src, call.span, message)
    if unknown:
        # One decision for the file: the places differ in which kernel is meant.
        call, shown = unknown[0]
        others = len(unknown) - 1
        more = f" (and in {others} more place{'s' if others > 1 else ''} of this file)" if others else ""
        message = (
            f"dynamic shared memory of {shown} bytes{more}: check that it stays within {_LDS_BYTES}, "
            "which is all a block has on all but gfx950 and gfx1250"
        )
        yield RULE.finding(src, call.span, message)


def _made_of(src: CxxFile, call: Call, text: bytes) -> str:
    """The size as written, with the expression it was given above the call, where that is near."""
    shown = text.decode("utf-8", "replace")
    name = re.search(rb"(\w+)\W*\Z", text)
    if name is None or name.group(1).isdigit():
        return shown
    before = src.data[max(0, call.span.start - _NEAR) : call.span.start]
    given = [one.group(1) for one in re.finditer(rb"\b" + name.group(1) + rb"\s*=([^=;][^;]*);", before)]
    value = b" ".join(given[-1].split()).decode("utf-8", "replace") if given else ""
    return f"{name.group(1).decode('utf-8', 'replace')} = {value}" if 0 < len(value) <= _SHOWN else shown
