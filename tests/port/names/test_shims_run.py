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
static bool is_double(double) { return true; }
static bool is_double(float) { return false; }
__host__ __device__ float clamped(float x) { return min(max(x, 0.0), 1.0); }
int main() {
  float part = 0.7f;
  unsigned high = 3000000000u;
  if (max(part, 0.5f) != 0.7f || max(high, 5) != high || min(1ll << 40, 1ll << 41) != 1ll << 40) return 2;
  if (clamped(0.25f) != 0.25f || max(-3, -4) != -3) return 3;
  if (!is_double(min(part, 1.0)) || is_double(min(part, 1.0f))) return 4;
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

# The first API of cuBLAS: no handle, letters, scalars by value.
BLAS = r"""
#include <cstdio>
#include <cublas.h>
static int wrong(const char *what, double got, double want) {
  if (got == want) return 0;
  printf("%s: %g is not %g\n", what, got, want);
  return 1;
}
int main() {
  if (cublasInit() != CUBLAS_STATUS_SUCCESS) return 1;
  const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};  // columns
  float *da, *db, *dc, c[4];
  cublasAlloc(4, sizeof(float), (void **)&da);
  cublasAlloc(4, sizeof(float), (void **)&db);
  cublasAlloc(4, sizeof(float), (void **)&dc);
  cublasSetMatrix(2, 2, sizeof(float), a, 2, da, 2);
  cublasSetMatrix(2, 2, sizeof(float), b, 2, db, 2);
  cublasSgemm('n', 'T', 2, 2, 2, 1.0f, da, 2, db, 2, 0.0f, dc, 2);
  cublasGetMatrix(2, 2, sizeof(float), dc, 2, c, 2);
  int bad = wrong("gemm", c[0], 1 * 5 + 3 * 7) + wrong("gemm", c[1], 2 * 5 + 4 * 7);
  bad += wrong("gemm", c[2], 1 * 6 + 3 * 8);
  bad += wrong("dot", cublasSdot(4, da, 1, db, 1), 5 + 12 + 21 + 32);
  bad += wrong("asum", cublasSasum(4, da, 1), 10) + wrong("amax", cublasIsamax(4, da, 1), 4);
  cublasSscal(4, 2.0f, da, 1);
  cublasSaxpy(4, -1.0f, db, 1, da, 1);
  cublasGetVector(4, sizeof(float), da, 1, c, 1);
  bad += wrong("axpy", c[0], -3) + wrong("axpy", c[3], 0);
  cublasSetMatrix(2, 2, sizeof(float), a, 2, da, 2);
  cublasStrmm('L', 'U', 'N', 'N', 2, 2, 1.0f, da, 2, db, 2);  // upper part of a: 1 3 / 0 4
  cublasGetMatrix(2, 2, sizeof(float), db, 2, c, 2);
  bad += wrong("trmm", c[0], 5 + 18) + wrong("trmm", c[1], 24) + wrong("trmm", c[2], 7 + 24);
  cublasStrsm('L', 'U', 'N', 'N', 2, 2, 1.0f, da, 2, db, 2);
  cublasGetMatrix(2, 2, sizeof(float), db, 2, c, 2);
  bad += wrong("trsm", c[0], 5) + wrong("trsm", c[1], 6);
  bad += wrong("error", cublasGetError(), CUBLAS_STATUS_SUCCESS);
  cublasSgemm('n', 'n', -1, 2, 2, 1.0f, da, 2, db, 2, 0.0f, dc, 2);
  bad += cublasGetError() == CUBLAS_STATUS_SUCCESS;
  bad += wrong("error once", cublasGetError(), CUBLAS_STATUS_SUCCESS);
  cublasFree(da); cublasFree(db); cublasFree(dc);
  bad += cublasShutdown() != CUBLAS_STATUS_SUCCESS;
  printf(bad ? "%d wrong\n" : "as expected\n", bad);
  return bad != 0;
}
"""


# libcu++'s atomic, its fence, and the atomics of a block with values of another type.
ATOMICS = r"""
#include <cstdio>
#include <cuda/atomic>
#include <cuda_runtime.h>
__device__ cuda::atomic<int, cuda::thread_scope_device> total{0};
struct Ticket { cuda::atomic<unsigned> next; };
__global__ void count(Ticket *ticket, unsigned *seen, unsigned *blocks) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> local;
  if (threadIdx.x == 0) local.store(0, cuda::std::memory_order_relaxed);
  __syncthreads();
  local += 2;
  seen[ticket->next.fetch_add(1, cuda::memory_order_relaxed)] = 1;
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  __syncthreads();
  if (threadIdx.x == 0) total.fetch_add(local, cuda::memory_order_acq_rel);
  atomicAdd_block(blocks, 1);
  atomicSub_block(blocks + 1, 1);
  atomicInc_block(blocks + 2, 9);
  atomicDec_block(blocks + 3, 9);
  atomicCAS_block(blocks + 4, 0, threadIdx.x == 7 ? 5 : 0);
}
__global__ void read(int *out) { out[0] = total; out[1] = ++total; out[2] = total--; }
int main() {
  Ticket *ticket; unsigned *seen, *blocks; int *out;
  cudaMallocManaged(&ticket, sizeof *ticket); cudaMallocManaged(&seen, 128 * sizeof(unsigned));
  cudaMallocManaged(&blocks, 5 * sizeof(unsigned)); cudaMallocManaged(&out, 3 * sizeof(int));
  ticket->next = 0;
  for (int i = 0; i < 128; ++i) seen[i] = 0;
  for (int i = 0; i < 5; ++i) blocks[i] = 0;
  count<<<1, 128>>>(ticket, seen, blocks);
  read<<<1, 1>>>(out);
  int bad = cudaDeviceSynchronize() != cudaSuccess;
  for (int i = 0; i < 128; ++i) bad += seen[i] != 1;
  bad += ticket->next.load() != 128 || out[0] != 256 || out[1] != 257 || out[2] != 257;
  bad += blocks[0] != 128 || blocks[1] != 0u - 128 || blocks[2] != 128 % 10 || blocks[3] != 2 || blocks[4] != 5;
  printf(bad ? "%d wrong\n" : "as expected\n", bad);
  return bad != 0;
}
"""


# Tiles of 128 threads and of 64: two to four waves, and one or two.
TILES = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
namespace cg = cooperative_groups;
struct Numbers { int sum, below, from, votes, pair, meta; };
__global__ void k(Numbers *out) {
  __shared__ cg::block_tile_memory<256> memory;
  cg::thread_block block = cg::this_thread_block(memory);
  cg::thread_block_tile<128> tile = cg::tiled_partition<128>(block);
  cg::thread_block_tile<64> pair = cg::tiled_partition<64>(block);
  int i = threadIdx.x;
  Numbers mine;
  mine.sum = cg::reduce(tile, i, cg::plus<int>());
  mine.below = cg::exclusive_scan(tile, i) + cg::inclusive_scan(tile, 1, cg::plus<int>());
  mine.from = tile.shfl(i, 5);
  mine.votes = tile.any(i == 130) + 2 * tile.all(i < 128);
  mine.pair = cg::reduce(pair, i, cg::greater<int>());
  mine.meta = 1000 * tile.meta_group_rank() + 10 * tile.meta_group_size() + int(tile.size() / 128);
  tile.sync();
  out[i] = mine;
}
int main() {
  Numbers *out;
  cudaMallocManaged(&out, 256 * sizeof *out);
  k<<<1, 256>>>(out);
  int bad = cudaDeviceSynchronize() != cudaSuccess;
  for (int i = 0; i < 256; ++i) {
    int first = i / 128 * 128, at = i - first;
    bad += out[i].sum != 128 * first + 127 * 64 || out[i].from != first + 5 || out[i].votes != (i < 128 ? 2 : 1);
    bad += out[i].below != at * first + at * (at - 1) / 2 + at + 1 || out[i].pair != i / 64 * 64 + 63;
    bad += out[i].meta != 1000 * (i / 128) + 21;
  }
  printf(bad ? "%d wrong\n" : "as expected\n", bad);
  return bad != 0;
}
"""


# Reductions over the lanes of a mask: two groups of lanes at one call, and some lanes in a branch.
REDUCTIONS = r"""
#include <cstdio>
#include <cuda_runtime.h>
__device__ int sum(unsigned mask, int value) { return __reduce_add_sync(mask, value); }
__global__ void k(int *out, unsigned *low) {
  int i = threadIdx.x, lane = i % 32;
  unsigned mask = lane % 3 == 0 ? 0x49249249u : 0xb6db6db6u;  // two groups of lanes at one call
  out[i] = sum(mask, i);
  if (lane < 5) out[i] += 1000 * __reduce_max_sync(0x1fu, i);
  low[i] = __reduce_min_sync(mask, 7u + i) + 1000 * __reduce_or_sync(mask, 1u << (lane / 8));
}
int main() {
  int *out; unsigned *low;
  cudaMallocManaged(&out, 128 * sizeof(int)); cudaMallocManaged(&low, 128 * sizeof(unsigned));
  k<<<1, 128>>>(out, low);
  int bad = cudaDeviceSynchronize() != cudaSuccess;
  for (int i = 0; i < 128; ++i) {
    int first = i / 32 * 32, lane = i % 32, want = 0, least = 1 << 30;
    for (int l = 0; l < 32; ++l)
      if ((l % 3 == 0) == (lane % 3 == 0)) { want += first + l; least = first + l < least ? first + l : least; }
    if (lane < 5) want += 1000 * (first + 4);
    bad += out[i] != want || low[i] != 7u + least + 15000u;
  }
  printf(bad ? "%d wrong\n" : "as expected\n", bad);
  return bad != 0;
}
"""


# The driver's virtual memory: a kernel over two pieces of memory side by side.
VIRTUAL_MEMORY = r"""
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
#define CHECK(call) if (CUresult r = (call)) return printf("%d: %s gives %d\n", __LINE__, #call, r)
__global__ void count(int *p, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] += i; }
int main() {
  CHECK(cuInit(0));
  int has = 0, device = 0;
  CHECK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  size_t granule = 0, free_before, free_with, free_after, all;
  CHECK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CHECK(cuMemGetInfo(&free_before, &all));
  CUdeviceptr place;
  CHECK(cuMemAddressReserve(&place, 3 * granule, 0, 0, 0));
  CUmemGenericAllocationHandle one, two;
  CHECK(cuMemCreate(&one, granule, &prop, 0));
  CHECK(cuMemCreate(&two, granule, &prop, 0));
  CHECK(cuMemMap(place, granule, 0, one, 0));
  CHECK(cuMemMap(place + granule, granule, 0, two, 0));
  CHECK(cuMemMap(place + 2 * granule, granule, 0, one, 0));  // the first again
  CHECK(cuMemGetInfo(&free_with, &all));
  CUmemAccessDesc access = {};
  access.location = prop.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(place, 3 * granule, &access, 1));
  int words = int(granule / sizeof(int)), *p = (int *)place, *host = new int[3 * words];
  CHECK(cuMemsetD8(place, 0, 3 * granule));
  count<<<1, 256>>>(p, 2 * words);  // across both
  CHECK(cuMemcpyDtoH(host, place, 3 * granule));
  int bad = has != 1 || free_before - free_with != 2 * granule;
  for (int i = 0; i < 2 * words; ++i) bad += host[i] != i;
  for (int i = 0; i < words; ++i) bad += host[2 * words + i] != i;
  unsigned long long flags = 0;
  CHECK(cuMemGetAccess(&flags, &access.location, place));
  bad += flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  int file = -1;
  CHECK(cuMemExportToShareableHandle(&file, two, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle same;
  CHECK(cuMemImportFromShareableHandle(&same, (void *)(size_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  CHECK(cuMemUnmap(place + 2 * granule, granule));
  CHECK(cuMemMap(place + 2 * granule, granule, 0, same, 0));
  CHECK(cuMemSetAccess(place + 2 * granule, granule, &access, 1));
  CHECK(cuMemcpyDtoH(host, place + 2 * granule, sizeof(int)));
  bad += host[0] != words;
  bad += cuMemMap(place, granule, 0, two, 0) == CUDA_SUCCESS;  // it is taken
  bad += cuMemAddressFree(place, 3 * granule) == CUDA_SUCCESS;  // it is in use
  CHECK(cuMemUnmap(place, 3 * granule));
  bad += cuMemcpyDtoH(host, place, 4) == CUDA_SUCCESS;
  CHECK(cuMemRelease(one));
  CHECK(cuMemRelease(two));
  CHECK(cuMemRelease(same));
  CHECK(cuMemAddressFree(place, 3 * granule));
  CHECK(cuMemGetInfo(&free_after, &all));
  bad += free_after != free_before;
  printf(bad ? "%d wrong\n" : "as expected\n", bad);
  return bad != 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [PROGRAM, ROUNDED, BLAS, ATOMICS, TILES, REDUCTIONS, VIRTUAL_MEMORY],
    ids=["arguments", "rounding", "old-blas", "atomics", "wide-tiles", "reductions", "virtual-memory"],
)
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_the_program_says_what_it_says_on_nvidia(
    gpu: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.cu").write_text(text)
    libraries = ["-l", "hipblas"] if "cublas" in text else []
    assert main(["emulate", str(tmp_path / "program.cu"), "--gpu", gpu, *libraries]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "as expected"


COMPILED_AT_RUN_TIME = r"""
#include <cstdio>
#include <cuda.h>
#include <nvrtc.h>
static const char *text = "extern \"C\" __global__ void k(float *p) { p[threadIdx.x] = SCALE * threadIdx.x; }";
int main() {
  nvrtcProgram program;
  nvrtcCreateProgram(&program, text, "k.cu", 0, nullptr, nullptr);
  const char *options[] = {"--gpu-architecture=compute_80", "-arch", "sm_80", "--use_fast_math", "--std=c++14",
                           "--define-macro=SCALE=2.0f", "--fmad=false", "--maxrregcount=32",
                           "--include-path=/tmp", "-lineinfo"};
  if (nvrtcCompileProgram(program, 10, options) != NVRTC_SUCCESS) return 1;
  size_t size;
  nvrtcGetCUBINSize(program, &size);
  char *code = new char[size];
  nvrtcGetCUBIN(program, code);
  cuInit(0);
  CUmodule module;
  CUfunction kernel;
  if (cuModuleLoadData(&module, code) || cuModuleGetFunction(&kernel, module, "k")) return 2;
  float *p, h[4];
  cudaMalloc(&p, sizeof h);
  void *arguments[] = {&p};
  if (cuLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr)) return 3;
  cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g\n", h[1], h[3]);
}
"""


@pytest.mark.slow
def test_options_of_nvrtc_are_translated(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "compiled.cu"
    source.write_text(COMPILED_AT_RUN_TIME, encoding="utf-8")
    assert main(["emulate", "--gpu", "mi300x", str(source), "-l", "hiprtc"]) == 0
    assert "2 6" in capfd.readouterr().out
