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
