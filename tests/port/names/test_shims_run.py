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


# Quotients and roots against the host's own directed rounding, atomics of the system, shuffles of structures.
ROUNDED = r"""
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;
struct Pair { float a; int b[3]; };
__global__ void rounded(const float *f, const double *d, float *fo, double *dd, unsigned *count, Pair *pairs) {
  int i = threadIdx.x;
  float a = f[i], b = f[63 - i];
  double x = d[i], y = d[63 - i];
  float *p = fo + 9 * i;
  double *q = dd + 9 * i;
  p[0] = __fdiv_rd(a, b); p[1] = __fdiv_ru(a, b); p[2] = __fdiv_rz(a, b);
  p[3] = __fsqrt_rd(fabsf(a)); p[4] = __fsqrt_ru(fabsf(a)); p[5] = __fsqrt_rz(fabsf(a));
  p[6] = __frcp_rd(a); p[7] = __frcp_ru(a); p[8] = __frcp_rz(a);
  q[0] = __ddiv_rd(x, y); q[1] = __ddiv_ru(x, y); q[2] = __ddiv_rz(x, y);
  q[3] = __dsqrt_rd(fabs(x)); q[4] = __dsqrt_ru(fabs(x)); q[5] = __dsqrt_rz(fabs(x));
  q[6] = __drcp_rd(x); q[7] = __drcp_ru(x); q[8] = __drcp_rz(x);
  atomicInc_system(count, 9);
  atomicDec_system(count + 1, 9);
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  Pair mine = {a, {i, i + 1, i + 2}};
  pairs[i] = tile.shfl_xor(mine, 1);
}
template <typename T> int wrong(T got, T want, const char *what, int i) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  printf("%s %d: %a is not %a\n", what, i, double(got), double(want));
  return 1;
}
template <typename T> int check(const T *in, const T *out, const char *what) {
  const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  int bad = 0;
  for (int i = 0; i < 64; ++i) {
    for (int m = 0; m < 3; ++m) {
      volatile T a = in[i], b = in[63 - i], one = 1;
      fesetround(modes[m]);
      volatile T q = a / b, s = std::sqrt(std::fabs(a)), r = one / a;
      fesetround(FE_TONEAREST);
      bad += wrong<T>(out[9 * i + m], q, what, i) + wrong<T>(out[9 * i + 3 + m], s, what, i) +
             wrong<T>(out[9 * i + 6 + m], r, what, i);
    }
  }
  return bad;
}
int main() {
  float *f, *fo; double *d, *dd; unsigned *count; Pair *pairs;
  cudaMallocManaged(&f, 64 * sizeof(float)); cudaMallocManaged(&fo, 9 * 64 * sizeof(float));
  cudaMallocManaged(&d, 64 * sizeof(double)); cudaMallocManaged(&dd, 9 * 64 * sizeof(double));
  cudaMallocManaged(&count, 2 * sizeof(unsigned)); cudaMallocManaged(&pairs, 64 * sizeof(Pair));
  unsigned seed = 1;
  for (int i = 0; i < 64; ++i) {
    seed = seed * 1664525u + 1013904223u;
    double mantissa = 1 + (seed >> 8) / 16777216.0 + (seed & 255) * 0x1p-45;
    f[i] = float(std::ldexp(mantissa, i % 4 == 3 ? int(seed >> 24) % 120 : i % 7)) * (i % 2 ? 1 : -1);
    d[i] = std::ldexp(mantissa, i % 5 == 4 ? -1020 + i : int(seed >> 24)) * (i % 2 ? 1 : -1);
  }
  f[5] = 0; f[6] = INFINITY; f[7] = 1e-44f; f[8] = 3; f[9] = 4; d[5] = 0; d[6] = INFINITY; d[7] = 5e-324; d[8] = 3;
  count[0] = count[1] = 0;
  rounded<<<1, 64>>>(f, d, fo, dd, count, pairs);
  cudaDeviceSynchronize();
  int bad = check(f, fo, "float") + check(d, dd, "double");
  bad += count[0] != 64 % 10 || count[1] != (10 - 64 % 10) % 10;
  for (int i = 0; i < 64; ++i) bad += pairs[i].a != f[i ^ 1] || pairs[i].b[2] != (i ^ 1) + 2;
  printf(bad ? "%d wrong\n" : "as expected\n", bad);
  return bad != 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", [PROGRAM, ROUNDED], ids=["arguments", "rounding"])
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_the_program_says_what_it_says_on_nvidia(
    gpu: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.cu").write_text(text)
    assert main(["emulate", str(tmp_path / "program.cu"), "--gpu", gpu]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "as expected"
