"""Options of NVRTC

What: nvrtcCompileProgram, whose options are NVIDIA's: "--gpu-architecture=compute_80", "--use_fast_math",
    "--include-path=...".
Why: hipRTC takes clang's options. It refuses an NVIDIA architecture, and takes the current device's where there is
    none.
Fix: On ROCm the call goes through kpt_compile_program, which kpt writes into the file: it leaves out what only
    NVIDIA's compiler knows, spells the rest as clang does, and adds the folder of the source, where NVRTC looks for
    headers unless --no-source-include is given. kpt_create_program remembers that folder. Look at two things that it
    cannot do: -default-device (device functions need __device__ on ROCm), and a string that names a header of CUDA's,
    which ROCm has under another name or not at all.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_rtc.html;
    https://docs.nvidia.com/cuda/nvrtc/index.html#supported-compile-options
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.names.table import header_rows
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP254",
    "nvrtc-options",
    languages=("cuda", "c++"),
    safety=Safety.SAFE,
    triggers=(b"nvrtcCompileProgram", b"nvrtcCreateProgram"),
)

_DEVICE_BY_DEFAULT = re.compile(rb"-default-device|-device-as-default-execution-space")
_NAME = re.compile(rb'"([\w/]+\.(?:h|hpp|cuh))"')


def check(src: CxxFile) -> Iterator[Finding]:
    """Each compilation, and each string that its options cannot take along."""
    for call in calls(src, b"nvrtcCompileProgram"):
        span = Span(call.span.start, src.data.index(b"(", call.span.start) + 1)
        if src.path.endswith(".c"):
            yield RULE.finding(src, span, "hipRTC refuses options of NVRTC such as --gpu-architecture: leave them out")
            continue
        message = "hipRTC takes clang's options: NVRTC's are translated or left out"
        yield RULE.finding(src, span, message, [Edit(span, b"kpt_compile_program(")])
    if not src.path.endswith(".c"):
        for call in calls(src, b"nvrtcCreateProgram"):
            span = Span(call.span.start, src.data.index(b"(", call.span.start) + 1)
            message = "NVRTC looks for headers in the folder of the source, hipRTC does not: the folder is kept for it"
            yield RULE.finding(src, span, message, [Edit(span, b"kpt_create_program(")])
    for token in src.code:
        if token.kind != "string":
            continue
        text = src.text(token)
        shown = text.decode("utf-8", "replace")
        place = Span(token.start, token.end)
        named = _NAME.fullmatch(text)
        row = header_rows().get(named[1].decode()) if named is not None else None
        if _DEVICE_BY_DEFAULT.search(text):
            yield RULE.finding(src, place, f"{shown}: hipRTC has no such option; mark device functions __device__")
        elif row is not None and not _is_included(src, token.start):
            message = f"{shown} is a CUDA header: ROCm has {row.hip or 'none for it'}, and hipRTC brings its own"
            yield RULE.finding(src, place, message)


def _is_included(src: CxxFile, start: int) -> bool:
    """Whether a string is the path of an #include, which is translated as any other."""
    return src.data[:start].rstrip(b" \t").endswith((b"include", b"include_next"))
