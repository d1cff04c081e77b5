"""%smid used as an index

What: PTX that reads %smid, the number of the multiprocessor.
Why: AMD's number (__smid() in HIP) is made of shader engine and compute unit ids. It is sparse and can exceed
    multiProcessorCount, so a table with one slot per multiprocessor is written out of bounds.
Fix: Size the table by an upper bound that you have measured, or takes a slot with an atomic counter. KP230 translates
    the instruction itself.
Source: hip/amd_detail/amd_device_functions.h, ROCm 7.2; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.ptx.report import asm_reports
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP244", "smid", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"%smid", b"%%smid"))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each asm statement that reads it."""
    for report in asm_reports(src):
        if report.statement.template and "smid" in report.statement.template.replace("nsmid", ""):
            message = (
                "%smid: AMD's numbers are sparse and can exceed multiProcessorCount: an index by it can leave its array"
            )
            yield RULE.finding(src, report.statement.span, message)
