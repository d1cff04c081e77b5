from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.jobs.scan import scan
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.phases import phases


def test_a_setup_py_with_findings_counts_as_a_build_file(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text("__global__ void nothing() {}\n")
    (tmp_path / "setup.py").write_text("import torch\n")
    found = Finding("KP420", "setup.py", 1, 1, "a flag of nvcc", Safety.SAFE)
    build = phases(discover(tmp_path), [found])[3]
    assert build.applies
    assert build.reason == "1 build file, 1 place in them"
    assert not phases(discover(tmp_path), [])[3].applies


def applying(tmp_path: Path, files: dict[str, str], *findings: Finding) -> set[int]:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return {phase.number for phase in phases(discover(tmp_path), findings) if phase.applies}


def test_python_alone_skips_the_phases_of_c(tmp_path: Path) -> None:
    """The decision tree of the porting guide; a deploy file is work of the environment, not of the build."""
    twin = Finding("KP440", "Dockerfile", 1, 1, "NVIDIA's image", Safety.SAFE)
    assert applying(tmp_path, {"model.py": "import torch\n"}, twin) == {1, 8}


def test_kernels_run_the_phases_of_c(tmp_path: Path) -> None:
    assert applying(tmp_path, {"a.cu": "__global__ void k() {}\n", "CMakeLists.txt": ""}) == {1, 2, 3, 4, 8}


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("#include <cublas_v2.h>\n", "cuBLAS -> hipBLAS"),
        ("#include <cudnn.h>\n", "cuDNN -> MIOpen"),
        ('#include "nccl.h"\n', "NCCL -> RCCL"),
        ("#include <cufft.h>\n", "cuFFT -> hipFFT"),
        ("void f() { cublasSgemm(handle); }\n", "cuBLAS -> hipBLAS"),
        ("#include <cub/cub.cuh>\n", "CUB -> hipCUB"),
        ("#include <cutlass/gemm/gemm.h>\n", "CUTLASS -> Composable Kernel, by hand"),
    ],
)
def test_libraries_of_cxx_are_phase_five(tmp_path: Path, text: str, library: str) -> None:
    (tmp_path / "a.cu").write_text(text + "int main() { cudaDeviceSynchronize(); }\n")
    phase = phases(discover(tmp_path), [])[4]
    assert phase.applies and library in phase.reason


def test_a_kernel_without_libraries_is_not_phase_five(tmp_path: Path) -> None:
    text = "// cublas is slow\n__global__ void cube(float* cub) {}\n"
    assert 5 not in applying(tmp_path, {"a.cu": text})


@pytest.mark.parametrize(
    "text", ["model = torch.compile(model)\n", "@torch.compile\ndef f(x): ...\n", "from torch import compile, nn\n"]
)
def test_a_plain_compile_is_phase_six(tmp_path: Path, text: str) -> None:
    assert applying(tmp_path, {"model.py": "import torch\n" + text}) == {1, 6, 8}


@pytest.mark.parametrize("text", ["# torch.compile\n", "import re\nre.compile('torch')\n", "torch.compiled = 1\n"])
def test_other_compiles_are_not(tmp_path: Path, text: str) -> None:
    assert applying(tmp_path, {"model.py": text}) == {1, 8}


def test_graphs_are_phase_seven(tmp_path: Path) -> None:
    assert applying(tmp_path, {"model.py": "import torch\ng = torch.cuda.CUDAGraph()\n"}) == {1, 7, 8}
    assert 7 in applying(tmp_path, {"a.cu": "void f(cudaStream_t s) { cudaStreamBeginCapture(s, 0); }\n"})


def test_tensor_core_code_is_counted_by_how_it_moves(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(
        """#include <mma.h>
using namespace nvcuda;
__global__ void k(float* d, unsigned a, unsigned b) {
  wmma::mma_sync(x, y, z, x);
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a), "r"(b));
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4}, {%5}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a), "r"(b));
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.commit_group.sync.aligned;");
}
#define NOBODY_USES_IT() asm volatile("cp.async.bulk.commit_group;")
"""
    )
    (tmp_path / "double.cu").write_text(
        """#include <mma.h>
__global__ void k() {
  namespace w = nvcuda::wmma;
  w::fragment<w::accumulator, 8, 8, 4, double> x;
  w::mma_sync(x, y, z, x);
  mma::mma_sync(x, y, z, x);
}
"""
    )
    reason = next(phase.reason for phase in scan(tmp_path).phases if phase.number == 3)
    assert "tensor cores: 2 places moved by kpt, 2 in a slower form, 2 for a person" in reason
