"""atomicAdd of types that HIP has no overload for

What: `atomicAdd` on at::Half, at::BFloat16, int64_t or an 8-bit number in a torch extension, or on __half2 in a project
    with overloads of its own.
Why: HIP's overloads are int, unsigned, unsigned long, float and double. CUDA has __half2 and others as well.
Fix: kpt uses torch's gpuAtomicAdd for torch's types and 64-bit integers, and HIP's unsafeAtomicAdd for __half, __half2
    and bfloat16 pairs. "Unsafe" is about memory shared with the host, where an addition may be lost. Tensors are not
    in such memory.
Source: aten/src/ATen/cuda/Atomic.cuh in pytorch/pytorch; projects/clr/hipamd/include/hip/amd_detail/amd_hip_fp16.h in
    ROCm/rocm-systems
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.port.names.rename import newline_of
from kernel_pytorch.port.repairs.calls import call_near
from kernel_pytorch.port.repairs.repair import Repair, RepairPlace

REPAIR = Repair("KP293", "atomic-add-of-type", re.compile(r"(?:no matching function for call to|call to) 'atomicAdd'"))
_FROM = re.compile(r"no known conversion from '([^']+?) ?\*' ")
_OF_HIP = frozenset({"__half", "__half2", "half", "half2", "__hip_bfloat16", "__hip_bfloat162"})
_OF_TORCH = frozenset({
    "c10::Half", "c10::BFloat16", "at::Half", "at::BFloat16", "long", "int64_t", "short", "int16_t", "char",
    "signed char", "unsigned char", "int8_t", "uint8_t", "bool",
})  # fmt: skip
_ATOMIC = "ATen/cuda/Atomic.cuh"
_TORCH = re.compile(r"(?:torch|ATen|c10)/")


def edits(place: RepairPlace) -> tuple[Edit, ...]:
    """The name of the function, by the type that the compiler names."""
    src = place.src
    kinds = {found[1] for note in place.complaint.context if (found := _FROM.search(note))}
    call = call_near(src, (b"atomicAdd",), place.offset)
    if call is None or len(kinds) != 1:
        return ()
    kind = kinds.pop()
    if kind in _OF_HIP:
        return (Edit(call.name, b"unsafeAtomicAdd"),)
    includes = includes_of(src.data)
    if kind not in _OF_TORCH or not any(_TORCH.match(include.name) for include in includes):
        return ()
    renamed = Edit(call.name, b"gpuAtomicAdd")
    if any(include.name == _ATOMIC for include in includes):
        return (renamed,)
    at = src.line_span(includes[-1].start)[1]
    return (Edit(Span(at, at), f"#include <{_ATOMIC}>".encode() + newline_of(src)), renamed)
