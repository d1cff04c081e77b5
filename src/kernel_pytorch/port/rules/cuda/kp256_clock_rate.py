"""clock() in a kernel, turned into time with the clock rate

What: clock() or clock64() in device code of a file that also asks for clockRate.
Why: AMD's clock64() counts shader clocks, which change with power management; on RDNA3 it is not reliable. clockRate
    is the peak. Dividing the two gives no time.
Fix: Use wall_clock64() with hipDeviceAttributeWallClockRate, or events from the host.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP256", "clock-rate", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"clockRate", b"ClockRate"))


def check(src: CxxFile) -> Iterator[Finding]:
    """The first read of the clock in each such file."""
    if not any(name in words(src) for name in (b"clockRate", b"cudaDevAttrClockRate")):
        return
    for call in calls(src, b"clock", b"clock64"):
        if device_region_at(src, call.span.start) is not None:
            message = (
                f"{call.name.decode()}() counts shader clocks, which vary: dividing by clockRate gives no time on AMD"
            )
            yield RULE.finding(src, call.span, message)
            return
