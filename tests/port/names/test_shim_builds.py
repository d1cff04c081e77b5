"""Shims that HIP's own compiler must accept, and a unit that waits for a file of the project's own build."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.port.builds.ported_project import build_ported
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.project import PortOptions, port_project
from kernel_pytorch.toolchain.compile import CompileOptions, compile_device_text
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain

SURFACES = b"""\
__global__ void k(cudaSurfaceObject_t s, float* out) {
  int x = 4 * threadIdx.x;
  surf2DLayeredwrite(out[0], s, x, 1, 2, cudaBoundaryModeZero);
  surf2Dwrite(out[1], s, x, 3, cudaBoundaryModeZero);
  surf2Dwrite(out[1], s, x, 3);
  surf3Dwrite(out[2], s, x, 3, 1, cudaBoundaryModeZero);
  surf1Dwrite(out[2], s, x, cudaBoundaryModeZero);
  surf2DLayeredread(&out[3], s, x, 1, 2);
  out[4] = surf2DLayeredread<float>(s, x, 1, 2) + surf2Dread<float>(s, x, 0) + surf1Dread<float>(s, x);
}
"""
ROUNDING = b"""\
__global__ void k(float* f, double* d) {
  f[0] = __fmul_ru(f[1], f[2]) + __fmaf_rd(f[1], f[2], f[3]) + __fadd_rz(f[1], f[2]) + __fsub_ru(f[1], f[2]);
  d[0] = __dmul_rd(d[1], d[2]) + __fma_ru(d[1], d[2], d[3]) + __dadd_ru(d[1], d[2]) + __dsub_rz(d[1], d[2]);
  f[4] = __fdiv_ru(f[1], f[2]) + __fsqrt_rd(f[3]) + __frcp_rz(f[4]);
  d[4] = __ddiv_ru(d[1], d[2]) + __dsqrt_rd(d[3]) + __drcp_rz(d[4]);
}
"""


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    if found.headers != "debian" and found.kind != "rocm":
        pytest.skip("ROCm's own headers are needed")
    return found


def test_surfaces_are_shims_and_no_findings_of_their_own() -> None:
    result = hipify_file(cxx_file("a.cu", SURFACES), None, HipifyOptions(rules=()))
    assert "KP202" not in {finding.code for finding in result.findings}
    assert b"#define surf2DLayeredwrite kpt_surf2DLayeredwrite" in result.after


@pytest.mark.parametrize("target", ["gfx1100", "gfx942", "gfx90a"])
def test_surfaces_build_with_and_without_image_hardware(target: str, toolchain: Toolchain) -> None:
    text = hipify_file(cxx_file("a.cu", SURFACES), None, HipifyOptions(rules=())).after.decode()
    assert compile_device_text(text, target, toolchain, CompileOptions())


def test_directed_rounding_builds(toolchain: Toolchain) -> None:
    text = hipify_file(cxx_file("a.cu", ROUNDING), None, HipifyOptions(rules=())).after.decode()
    assert compile_device_text(text, "gfx942", toolchain, CompileOptions())


def test_rounded_quotients_are_no_findings() -> None:
    result = hipify_file(cxx_file("a.cu", ROUNDING), None, HipifyOptions(rules=()))
    assert not result.findings


def test_a_header_that_the_build_makes_is_waited_for(toolchain: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "settings.h.in").write_text("#define N @N@\n")
    (tmp_path / "a.cu").write_text('#include "made/settings.h"\nvoid run(float* p) { cudaFree(p); }\n')
    project = discover(tmp_path)
    patches = port_project(project, PortOptions(), 1).patches
    (check,) = build_ported(project, patches, toolchain, "gfx942")
    assert check.status is Status.NOT_RUN
    assert "settings.h.in" in check.detail


@pytest.mark.parametrize(
    ("source", "guard"),
    [
        (
            b"#include <cublas.h>\nvoid f(float* a) { cublasSgemm('n', 'n', 4, 4, 4, 1, a, 4, a, 4, 0, a, 4); }\n",
            "SGEMM_13",
        ),
        (b"#include <cublas.h>\nfloat f(float* a) { return cublasSdot(4, a, 1, a, 1); }\n", "CUBLASSDOT_5"),
        (b"#include <cublas.h>\nint f() { return cublasInit(); }\n", "CUBLASINIT"),
        (b"#include <cuda/atomic>\n__device__ cuda::atomic<int> n;\n", "CUDA_ATOMIC_REF"),
        (b"__global__ void k(unsigned* p) { atomicInc_block(p, 9); }\n", "ATOMICINC_BLOCK"),
        (
            b"#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
            b"__global__ void k() { cg::tiled_partition<128>(cg::this_thread_block()).sync(); }\n",
            "CG_BLOCK_TILE_MEMORY",
        ),
    ],
)
def test_what_a_file_uses_is_written_out_and_no_finding(source: bytes, guard: str) -> None:
    done = hipify_file(cxx_file("a.cu", source), None, HipifyOptions())
    assert f"{guard}\n" in done.after.decode()
    assert [one.code for one in done.findings if not one.edits] == []


def test_the_api_of_cublas_with_handles_gets_no_overloads() -> None:
    source = b"#include <cublas_v2.h>\nvoid f(cublasHandle_t h, float* a) { cublasSdot(h, 4, a, 1, a, 1, a); }\n"
    assert b"KPT_SHIM" not in hipify_file(cxx_file("a.cu", source), None, HipifyOptions()).after


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (b"__global__ void __cluster_dims__(2, 1, 1) k() {}\n", "KP202"),  # HIP has the word, no AMD GPU has clusters
        (b"#include <cuda.h>\nbool f(int v) { cuDriverGetVersion(&v); return v < 11000; }\n", "KP218"),
    ],
)
def test_what_hip_has_by_name_only_is_a_finding(source: bytes, code: str) -> None:
    found = hipify_file(cxx_file("a.cu", source), None, HipifyOptions()).findings
    assert [one.code for one in found if not one.edits] == [code]
