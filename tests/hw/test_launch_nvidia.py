"""Packing and launching on an NVIDIA GPU: NVRTC, the driver, and the same argument packing that AMD uses.

With pytest: `python -m pytest tests/hw -m nvidia`. Without: `python tests/hw/test_launch_nvidia.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "src")]

import torch  # noqa: E402
from launch_cases import COMMON_CASES, Vendor, raises, run_as_script  # noqa: E402

from kernel_pytorch.backends.nvidia import CudaCompilationError, CudaDeviceError, compile_cuda  # noqa: E402

NVIDIA = Vendor(compile_cuda, "cuda_fp16.h", "__half", CudaDeviceError)
HAS_GPU = torch.version.cuda is not None and torch.cuda.is_available()


def case_the_source_is_compiled_for_the_gpu_at_hand(vendor: Vendor) -> None:
    kernel = vendor.compile("__global__ void k(int* a) { a[0] = 1; }", "k")
    major, minor = torch.cuda.get_device_capability()
    assert kernel.architecture == f"sm_{major}{minor}"
    assert kernel.binary[:4] == b"\x7fELF"


def case_ptx_is_loaded_too(vendor: Vendor) -> None:
    major, minor = torch.cuda.get_device_capability()
    kernel = compile_cuda("__global__ void k(int* a) { a[0] = 42; }", "k", f"compute_{major}{minor}")
    out = torch.zeros(1, device="cuda", dtype=torch.int32)
    kernel.launch(1, 1, [out])
    assert out.item() == 42


def case_a_cubin_for_another_gpu_is_refused(vendor: Vendor) -> None:
    other = "sm_80" if torch.cuda.get_device_capability() >= (9, 0) else "sm_90"
    kernel = compile_cuda("__global__ void k(int* a) { a[0] = 1; }", "k", other)
    with raises(CudaDeviceError, "cuModuleLoadData failed"):
        kernel.launch(1, 1, [torch.zeros(1, device="cuda", dtype=torch.int32)])


def case_what_does_not_compile_has_the_compilers_words(vendor: Vendor) -> None:
    with raises(CudaCompilationError, 'identifier "missing" is undefined'):
        vendor.compile("__global__ void k(int* a) { a[0] = missing; }", "k")
    with raises(CudaCompilationError, "has no __global__ function"):
        vendor.compile("", "k")


CASES = [*COMMON_CASES, *(value for name, value in list(globals().items()) if name.startswith("case_"))]

try:
    import pytest
except ImportError:
    pass
else:
    pytestmark = [
        pytest.mark.nvidia,
        pytest.mark.skipif(not HAS_GPU, reason="needs an NVIDIA GPU and a CUDA build of torch"),
    ]

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("case_"))
    def test_launch(case: Callable[[Vendor], None]) -> None:
        case(NVIDIA)


if __name__ == "__main__":
    if not HAS_GPU:
        sys.exit("not run: this needs an NVIDIA GPU and a CUDA build of torch")
    sys.exit(min(run_as_script(NVIDIA, CASES), 1))
