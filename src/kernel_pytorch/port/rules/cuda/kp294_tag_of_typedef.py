"""`struct` in front of a type that is a typedef in HIP

What: `struct cudaGraphicsResource *r;` and other types that CUDA declares as structures and HIP as typedefs.
Why: C++ refuses `struct` in front of a typedef.
Fix: kpt writes the tag that HIP has behind the typedef (`struct _hipGraphicsResource`), which means the same and
    declares the type where no header of HIP was included. In front of flags, which are numbers in HIP, `enum` goes.
Source: projects/hip/include/hip/hip_runtime_api.h in ROCm/rocm-systems. Each name was compiled with `struct` in front
    of it, with the headers of ROCm 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

# CUDA's tag -> HIP's.
_TAGS = {
    b"CUgraphicsResource_st": b"_hipGraphicsResource",
    b"cudaExternalMemoryBufferDesc": b"hipExternalMemoryBufferDesc_st",
    b"cudaExternalMemoryHandleDesc": b"hipExternalMemoryHandleDesc_st",
    b"cudaExternalMemoryHandleType": b"hipExternalMemoryHandleType_enum",
    b"cudaExternalMemoryMipmappedArrayDesc": b"hipExternalMemoryMipmappedArrayDesc_st",
    b"cudaExternalSemaphoreHandleDesc": b"hipExternalSemaphoreHandleDesc_st",
    b"cudaExternalSemaphoreHandleType": b"hipExternalSemaphoreHandleType_enum",
    b"cudaExternalSemaphoreSignalParams": b"hipExternalSemaphoreSignalParams_st",
    b"cudaExternalSemaphoreWaitParams": b"hipExternalSemaphoreWaitParams_st",
    b"cudaGraphicsResource": b"_hipGraphicsResource",
    b"cudaLaunchAttribute": b"hipLaunchAttribute_st",
    b"cudaLaunchParams": b"hipLaunchParams_t",
    b"cudaLibraryOption": b"hipLibraryOption_e",
}
# CUDA's enumerations of flags, which are numbers in HIP: the tag goes.
_NUMBERS = (
    b"CUctx_flags_enum", b"CUevent_flags_enum", b"CUevent_record_flags_enum", b"CUevent_sched_flags_enum",
    b"CUevent_wait_flags_enum", b"CUipcMem_flags_enum", b"CUmemAttach_flags_enum", b"CUoccupancy_flags_enum",
    b"CUstreamWaitValue_flags_enum", b"CUstreamWriteValue_flags_enum", b"CUstream_flags_enum",
    b"cudaGetDriverEntryPointFlags",
)  # fmt: skip
RULE = Rule("KP294", "tag-of-typedef", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=(*_TAGS, *_NUMBERS))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each such word in front of one of the types."""
    for name in _NUMBERS:
        for index in words(src).get(name, ()):
            if text_at(src, index - 1) == b"enum":
                place = Span(src.code[index - 1].start, src.code[index].start)
                yield RULE.finding(src, place, f"{name.decode()} is a number in HIP", [Edit(place, b"")])
    for name, tag in _TAGS.items():
        for index in words(src).get(name, ()):
            word = text_at(src, index - 1)
            if word not in (b"struct", b"enum") or text_at(src, index + 1) in (b"{", b":"):
                continue
            start, token = src.code[index - 1].start, src.code[index]
            message = f"{name.decode()} is a typedef in HIP: `{word.decode()}` is not allowed before it"
            yield RULE.finding(src, Span(start, token.end), message, [Edit(Span(token.start, token.end), tag)])
