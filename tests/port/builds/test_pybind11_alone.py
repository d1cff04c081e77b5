"""A kernel file that includes pybind11 and nothing of torch's is built by itself, and no torch extension."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.jobs.port import port

pytest.importorskip("torch")

SOURCE = """#include <pybind11/pybind11.h>
#include <cuda_runtime.h>
__global__ void k(float* x) { x[threadIdx.x] *= 2; }
void run(size_t place) { k<<<1, 32>>>(reinterpret_cast<float*>(place)); cudaDeviceSynchronize(); }
PYBIND11_MODULE(ops, m) { m.def("run", &run); }
"""


def test_a_file_that_torchs_hipify_cannot_read_stands_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "ops.cu").write_text(SOURCE)
    # UAMMD: 57 sources were not built because of one file in Latin-1, which torch's hipify would have read.
    (tmp_path / "plot.cpp").write_bytes(b"// gr\xf6\xdfe\nint main() { return 0; }\n")
    result = port(tmp_path, targets=["gfx942"])
    assert [(one.check, one.status) for one in result.checks] == [("build ops.cu for gfx942", Status.PASS)]


def test_a_header_that_the_project_brings_along_is_named(tmp_path: Path) -> None:
    # UAMMD: `-I src` with src/third_party in it. The message asked for a submodule.
    (tmp_path / "src/third_party").mkdir(parents=True)
    (tmp_path / "src/third_party/allocator.h").write_text("#pragma once\nint it = 1;\n")
    (tmp_path / "src/own.cuh").write_text("#pragma once\n#include <third_party/allocator.h>\n")
    (tmp_path / "main.cu").write_text('#include "src/own.cuh"\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n')
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(p LANGUAGES CXX CUDA)\ninclude_directories(src)\n"
        "add_executable(p main.cu)\n"
    )
    (one,) = port(tmp_path, targets=["gfx942"]).checks
    assert one.status is Status.PASS, "no CUDA in it: it is used as it is"
    (tmp_path / "src/third_party/allocator.h").write_text("#pragma once\n#include <cuda_runtime.h>\n")
    (one,) = port(tmp_path, targets=["gfx942"]).checks
    assert one.status is Status.NOT_RUN
    assert "src/third_party/allocator.h: kpt does not port what a project brings along" in one.detail
