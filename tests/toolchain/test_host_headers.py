"""HIP's headers as a plain C++ compiler reads them: torch compiles the .cpp files of an extension that way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.port.names.compat_header import Needs, compat_header
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.merged_headers import host_header_roots, merge_headers

PROGRAM = """
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_math_constants.h>
float sum(__half h, __hip_bfloat16 b) { return __half2float(h) + __bfloat162float(b) + float(__float2half(1.0f)); }
"""


def test_the_host_compiler_reads_hips_headers(tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    source = tmp_path / "a.cpp"
    source.write_text(PROGRAM)
    folders = [word for folder in toolchain.include_dirs for word in ("-I", str(folder))]
    flags = ["-x", "c++", "-std=c++17", "-D__HIP_PLATFORM_AMD__", "-fsyntax-only"]
    command = [*toolchain.compiler, *toolchain.host_flags, *flags, *folders, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


IN_C = """
#include <hip/hip_gl_interop.h>
#include <hipblas/hipblas.h>
#include <hipfft/hipfft.h>
#include <hiprand/hiprand.h>
#include <hipsolver/hipsolver.h>
#include <hipsparse/hipsparse.h>
#include <rccl/rccl.h>
hipblasStatus_t product(hipblasHandle_t handle, const float *a, float *b) {
    float one = 1;
    return hipblasSgemm(handle, HIPBLAS_OP_N, HIPBLAS_OP_T, 2, 2, 2, &one, a, 2, a, 2, &one, b, 2);
}
hiprandStatus_t numbers(hiprandGenerator_t generator, float *to) { return hiprandGenerateUniform(generator, to, 8); }
"""


def test_a_c_compiler_reads_our_declarations_of_hips_libraries(tmp_path: Path) -> None:
    """Projects in C call cuBLAS and cuRAND too: only their kernels are C++."""
    try:
        roots = host_header_roots(find_toolchain())
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    merge_headers(tmp_path / "include", roots)
    command = ["cc", "-xc", "-std=c11", "-fsyntax-only", "-D__HIP_PLATFORM_AMD__", f"-isystem{tmp_path}/include", "-"]
    # ROCm's own hiprand.h names __half, which a port declares for it.
    half = compat_header([Needs(names=(("curandCreateGenerator", "hiprandCreateGenerator"),))])
    done = subprocess.run(command, input=half + IN_C, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
