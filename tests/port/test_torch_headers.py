"""torch's CUDA headers: renamed by torch where it builds the extension, reported where it does not (KP213)."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.project import PortOptions, choose_layout, port_project

SOURCE = """#include <c10/cuda/CUDAStream.h>
#ifdef USE_ROCM
#include <ATen/hip/HIPContext.h>
#else
#include <ATen/cuda/CUDAContext.h>
#endif
__global__ void k(float* x) { x[threadIdx.x] = 0.f; }
"""


def reported(root: Path) -> list[tuple[str, int]]:
    project = discover(root)
    result = port_project(project, PortOptions(choose_layout(project)), workers=1)
    return [(one.path, one.line) for one in result.findings if one.code == "KP213"]


def test_a_project_that_cmake_builds(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("project(x CXX CUDA)\nfind_package(Torch)\nadd_library(x k.cu)\n")
    (tmp_path / "k.cu").write_text(SOURCE)
    assert reported(tmp_path) == [("k.cu", 1)]


def test_an_extension_that_torch_builds(tmp_path: Path) -> None:
    (tmp_path / "setup_cuda.py").write_text("from torch.utils.cpp_extension import CUDAExtension\n")
    (tmp_path / "k.cu").write_text(SOURCE)
    assert choose_layout(discover(tmp_path)) == "torch-extension"
    assert reported(tmp_path) == []
