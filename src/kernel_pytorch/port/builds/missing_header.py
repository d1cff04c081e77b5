"""A header that is not here: whether that says anything about the port.

A library's header that is missing on this machine, or a submodule that was not checked out, says nothing: the source
was not built. A header that exists for NVIDIA's GPUs alone says that the source cannot be built.
"""

from __future__ import annotations

import re

from kernel_pytorch.core.findings import Status

_NOT_FOUND = re.compile(r"'([^']+)' file not found")
_NVIDIA_ONLY = re.compile(
    r"cutlass/|cute/|cudnn|cuda/(?:barrier|pipeline|ptx|annotated_ptr)|cudaTypedefs|nvrtc|nvshmem|optix|"
    r"nvjpeg|npp|NvInfer|cufile|nvml|nvToolsExt|cupti"
)
_OF_CUDA = re.compile(
    r"cuda|(?:crt/)?mma\.h|cooperative_groups|cublas|cusparse|cusolver|cufft|curand|cub/|c10/cuda/|ATen/cuda/"
)
_OF_OLD_TORCH = re.compile(r"TH[CH]?(?:UNN)?/")
_OF_ROCM = re.compile(
    r"(?:hipcub|rocprim|thrust|rocthrust|rccl|miopen|ck|ck_tile|hip(?:blas|blaslt|sparse|solver|fft|rand)|"
    r"roc(?:blas|sparse|solver|fft|rand|wmma|tracer|tx))(?:/|\.h)"
)


def missing_header(message: str, where: str) -> tuple[Status, str] | None:
    """What a message about a missing header means. None: it is about something else, or about a header of CUDA."""
    found = _NOT_FOUND.search(message)
    if found is None or _OF_OLD_TORCH.match(found[1]):
        return None
    name = found[1]
    if _NVIDIA_ONLY.match(name):
        return Status.FAIL, f"{where} includes {name}, which exists for NVIDIA's GPUs alone"
    if _OF_CUDA.match(name):
        return None
    if _OF_ROCM.match(name):
        return Status.NOT_RUN, (
            f"{where} includes {name} of ROCm's libraries, whose headers are not here: name a ROCm root with "
            "KPT_ROCM_ROOT"
        )
    return Status.NOT_RUN, no_folder_has(name, where)


def no_folder_has(name: str, where: str, how: str = "includes") -> str:
    """A sentence about a library's header that is not here."""
    return (
        f"{where} {how} {name}, which no include folder has: check out the submodule, install the library, or name its "
        "folder: -I DIR, or include_dirs of [tool.kernel_pytorch.verify]"
    )
