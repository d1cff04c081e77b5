"""Compiling and launching on an AMD GPU, through ROCmCompiler and the HIP runtime.

With pytest: `python -m pytest tests/hw -m amd`. Without: `python tests/hw/test_launch_amd.py`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "src")]

import torch  # noqa: E402
from launch_cases import COMMON_CASES, Vendor, raises, run_as_script  # noqa: E402

from kernel_pytorch.backends.amd import ROCmCompiler  # noqa: E402
from kernel_pytorch.backends.amd.amd_exceptions import AMDDeviceError  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402

HAS_GPU = torch.version.hip is not None and torch.cuda.is_available()
CACHE = tempfile.TemporaryDirectory(prefix="kpt-hw-")


def compile_hip(source: str, name: str, target: str | None = None) -> Any:
    compiler = ROCmCompiler(AMDConfig(hip_compiler_cache_dir=CACHE.name))
    return compiler.compile_kernel(source, name, target=target)


AMD = Vendor(compile_hip, "hip/hip_fp16.h", "__half", AMDDeviceError)


def case_the_source_is_compiled_for_the_gpu_at_hand(vendor: Vendor) -> None:
    kernel = vendor.compile("__global__ void k(int* a) { a[0] = 1; }", "k")
    assert torch.cuda.get_device_properties(0).gcnArchName.startswith(kernel.architecture)


def case_the_wave_is_as_wide_as_the_code_object_says(vendor: Vendor) -> None:
    kernel = vendor.compile("__global__ void k(int* a) { a[0] = warpSize; }", "k")
    out = torch.zeros(1, device="cuda", dtype=torch.int32)
    kernel.launch(1, 1, [out])
    assert out.item() == kernel.kernel().wave_size


def case_a_code_object_for_another_gpu_is_refused(vendor: Vendor) -> None:
    other = "gfx1030" if not torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx1030") else "gfx942"
    kernel = compile_hip("__global__ void k(int* a) { a[0] = 1; }", "k", other)
    with raises(AMDDeviceError, "hipModuleLoadData failed"):
        kernel.launch(1, 1, [torch.zeros(1, device="cuda", dtype=torch.int32)])


CASES = [*COMMON_CASES, *(value for name, value in list(globals().items()) if name.startswith("case_"))]

try:
    import pytest
except ImportError:
    pass
else:
    pytestmark = [
        pytest.mark.amd,
        pytest.mark.skipif(not HAS_GPU, reason="needs an AMD GPU and a ROCm build of torch"),
    ]

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("case_"))
    def test_launch(case: Callable[[Vendor], None]) -> None:
        case(AMD)


if __name__ == "__main__":
    if not HAS_GPU:
        sys.exit("not run: this needs an AMD GPU and a ROCm build of torch")
    sys.exit(min(run_as_script(AMD, CASES), 1))
