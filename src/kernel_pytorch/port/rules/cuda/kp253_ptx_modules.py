"""PTX, cubin and fatbin modules

What: cuModuleLoad, cuModuleLoadData, cuModuleLoadDataEx, cuModuleLoadFatBinary, cuLibraryLoad* and the cuLink
    functions.
Why: AMD loads code objects of one architecture (hsaco). Nothing turns PTX or a cubin into one at run time.
Fix: Build a code object per architecture (hipcc --genco --offload-arch=gfx942) and pick it by gcnArchName without its
    feature suffix, or compile the source with hipRTC.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.calls import calls
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule(
    "KP253",
    "ptx-modules",
    languages=("cuda", "c++"),
    safety=Safety.MANUAL,
    triggers=(b"cuModuleLoad", b"cuLink", b"cuLibraryLoad"),
)

_LOADERS = (
    b"cuModuleLoad", b"cuModuleLoadData", b"cuModuleLoadDataEx", b"cuModuleLoadFatBinary", b"cuLinkAddData",
    b"cuLinkAddFile",
    b"cuLibraryLoadData", b"cuLibraryLoadFromFile",
)  # fmt: skip


def check(src: CxxFile) -> Iterator[Finding]:
    """Each call that loads or links a module, unless hipRTC's or NVRTC's output is plainly what it loads."""
    if b"nvrtcGetPTX" in src.data or b"nvrtcGetCUBIN" in src.data:
        return  # what NVRTC compiles, hipRTC compiles too: KP254 speaks about its options
    for call in calls(src, *_LOADERS):
        message = f"{call.name.decode()} takes an AMD code object in HIP: PTX, cubin and fatbin files cannot be loaded"
        yield RULE.finding(src, call.span, message)
