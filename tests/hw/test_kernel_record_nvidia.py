"""The recorder in a real CUDA program: launches, buffers and device variables as CUDA's own runtime has them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.verify.kernels.record import KernelArchive
from kernel_pytorch.verify.kernels.record_comparison import compare_records
from kernel_pytorch.verify.kernels.run import ProgramRun, record_executable

pytestmark = [pytest.mark.nvidia, pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")]

SOURCE = """
#include <cstdio>
__device__ int calls;
struct Pair { const float *in; float *out; };
template <typename T> __global__ void twice(T *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
  if (i == 0) atomicAdd(&calls, 1);
}
extern "C" __global__ void halves(Pair p, int n, int wrong) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && !(wrong && i % 64 >= 32)) p.out[i] = p.in[i] / 2;
}
int main(int count, char **) {
  float host[256], *x, *y;
  for (int i = 0; i < 256; i++) host[i] = i + 1;
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&y, sizeof host);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  twice<<<2, 128>>>(x, 256);
  if (cudaGetLastError() != cudaSuccess) return 3;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  halves<<<2, 128, 0, stream>>>(Pair{x, y}, 256, count - 1);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 4;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  twice<<<2, 128, 0, stream>>>(y, 256);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphLaunch(ready, stream);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 5;
}
"""


def build(folder: Path, *flags: str) -> Path:
    (folder / "program.cu").write_text(SOURCE)
    subprocess.run(["nvcc", *flags, "-arch=native", "-o", "program", "program.cu"], cwd=folder, check=True)
    return folder / "program"


def test_a_cuda_program_is_recorded(tmp_path: Path) -> None:
    program = build(tmp_path, "-cudart", "shared")
    record_executable(ProgramRun(program, repeats=2), tmp_path / "golden")
    archive = KernelArchive(tmp_path / "golden")
    twice, halves, captured, graph = archive.record.launches
    assert archive.record.exit_code == 0
    assert [(one.argument, one.offset, one.buffer) for one in twice.arguments] == [(0, 0, "#1")]
    assert [(one.argument, one.offset, one.buffer) for one in halves.arguments] == [(0, 0, "#1"), (0, 8, "#2")]
    assert {one.buffer for one in twice.buffers if one.changed} == {"#1", "calls"}
    (out,) = (one for one in halves.buffers if one.changed)
    assert struct.unpack("<256f", archive.content(out.after)) == tuple(float(i + 1) for i in range(256))
    assert captured.captured and graph.symbol == "(graph)"
    assert {one.buffer for one in graph.buffers if one.changed} == {"#2", "calls"}
    record_executable(ProgramRun(program, ("wrong",)), tmp_path / "wrong")
    result = compare_records(archive, KernelArchive(tmp_path / "wrong"))
    assert [one.status for one in result.launches] == ["same", "differs", "follows"]
    (wrong,) = (one for one in result.launches[1].buffers if not one.ok)
    assert wrong.kind == "stale lanes" and "lanes 32 to 63 of every 64" in wrong.text


def test_a_runtime_that_is_linked_in_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nvcc -cudart shared"):
        record_executable(ProgramRun(build(tmp_path)), tmp_path / "golden")
