"""A kernel passed where HIP wants const void*

What: cudaFuncSetAttribute, cudaFuncGetAttributes, cudaFuncSetCacheConfig and cudaFuncSetSharedMemConfig with a
    kernel's name.
Why: CUDA has templates for these that take any kernel. HIP's functions take `const void*`, and a function pointer does
    not convert to it by itself.
Fix: `reinterpret_cast<const void*>(kernel)`, which is right in CUDA too.
Source: https://github.com/ROCm/HIPIFY/blob/amd-staging/CHANGELOG.md;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

# function -> which argument is the kernel
_FUNCTIONS = {
    b"cudaFuncSetAttribute": 0,
    b"cudaFuncGetAttributes": 1,
    b"cudaFuncSetCacheConfig": 0,
    b"cudaFuncSetSharedMemConfig": 0,
}
# Also as a macro's argument: `ROCM_ONLY((void*)) kernel`.
_CAST = re.compile(
    rb"(?:\w+\s*\(\s*)?\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)|(?:reinterpret|static|const)_cast\s*<"
)

RULE = Rule("KP248", "kernel-pointer-cast", languages=("cuda", "c++"), safety=Safety.SAFE, triggers=tuple(_FUNCTIONS))


def check(src: CxxFile) -> Iterator[Finding]:
    """Each call whose kernel is not cast yet."""
    for call in calls(src, *_FUNCTIONS):
        position = _FUNCTIONS[call.name]
        if len(call.arguments) <= position or _CAST.match(call.argument(src, position)):
            continue
        if call.argument(src, position).startswith(b"#"):
            continue  # behind a gate already
        span = call.arguments[position]
        kernel = call.argument(src, position)
        message = (
            f"{call.name.decode('utf-8', 'replace')} takes const void* in HIP: a kernel's name does not convert to it"
        )
        yield RULE.finding(src, span, message, [Edit(span, b"reinterpret_cast<const void*>(" + kernel + b")")])
