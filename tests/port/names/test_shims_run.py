"""Names with other arguments and old names that kpt gives: a program of them, emulated at both widths."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main

PROGRAM = r"""
#include <cstdio>
#include <cuda_runtime.h>
#ifdef __DRIVER_TYPES_H__
static void check(cudaError_t e, const char *what) {
  if (e != cudaSuccess) printf("%s: %s\n", what, cudaGetErrorName(e));
}
#endif
__global__ void k(unsigned *out, int n) {
  int i = threadIdx.x;
  out[i] = umin(static_cast<unsigned>(i), 5u) + umax(3u, static_cast<unsigned>(n)) + mul24(2, i) +
           static_cast<unsigned>(llmin(7ll, i)) + static_cast<unsigned>(ullmax(1ull, 2ull)) +
           (float_as_int(int_as_float(i)) == i);
}
__constant__ unsigned table[2];
__device__ unsigned kept[2];
__global__ void keep() { kept[threadIdx.x] = table[threadIdx.x]; }
int main() {
  unsigned two[2] = {3, 4}, back[2] = {0, 0};
  check(cudaMemcpyToSymbolAsync(table, two, sizeof two), "to a symbol");
  keep<<<1, 2>>>();
  check(cudaMemcpyFromSymbolAsync(back, kept, sizeof back, 0), "from a symbol");
  check(cudaDeviceSynchronize(), "synchronize");
  if (back[0] != 3 || back[1] != 4) {
    return 1;
  }
  unsigned *d, h[8];
  struct cudaDeviceProp prop;
  check(cudaGetDeviceProperties(&prop, 0), "properties");
  check(cudaMalloc(&d, sizeof h), "malloc");
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "stream");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin");
  k<<<1, 8, 0, stream>>>(d, 4);
  check(cudaStreamEndCapture(stream, &graph), "end");
  check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  check(cudaGraphLaunch(exec, stream), "launch");
  check(cudaStreamSynchronize(stream), "synchronize");
  check(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost), "copy");
  for (int i = 0; i < 8; ++i) {
    unsigned want = (i < 5 ? i : 5) + 4 + 2 * i + (i < 7 ? i : 7) + 2 + 1;
    if (h[i] != want) {
      printf("%d: %u is not %u\n", i, h[i], want);
      return 1;
    }
  }
  printf("as expected\n");
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_the_program_says_what_it_says_on_nvidia(gpu: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.cu").write_text(PROGRAM)
    assert main(["emulate", str(tmp_path / "program.cu"), "--gpu", gpu]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "as expected"
