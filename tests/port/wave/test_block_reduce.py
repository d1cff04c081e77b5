"""`--wave native`: block reductions of two functions, for every block a kernel may be launched with."""

from __future__ import annotations

import re

import pytest
from test_lane_model import Case, memory_after
from test_native import widened

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.names.shims import shims

LEADER_ONLY = """
__device__ int warp_sum(int v) {
  #pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o, 32);
  return v;
}
__device__ int block_sum(int v) {
  static __shared__ int part[32];
  int lane = threadIdx.x & 0x1f;
  int warp = threadIdx.x >> 5;
  v = warp_sum(v);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = (threadIdx.x < (blockDim.x / 32)) ? part[lane] : 0;
  v = warp_sum(v);
  return v;
}
__global__ void sums(const int* in, int* out) {
  int v = in[threadIdx.x];
  v = block_sum(v);
  if (threadIdx.x == 0) out[0] = v;
}
"""
FOR_ALL = """
#define WARP 32
__device__ int warp_max(int v) {
  for (int o = WARP / 2; o > 0; o /= 2) { v = max(v, __shfl_xor_sync(~0u, v, o)); }
  return v;
}
__device__ int block_max(int v) {
  __shared__ int part[WARP];
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x / WARP;
  const int warps = blockDim.x / WARP;
  int best = warp_max(v);
  if (lane == 0) { part[warp] = best; }
  __syncthreads();
  best = (lane < warps) ? part[lane] : -1000000;
  int all = warp_max(best);
  return all;
}
__global__ void maxima(const int* in, int* out) { out[threadIdx.x] = block_max(in[threadIdx.x]); }
"""
THROUGH_SHARED = """
__device__ int warp_min(int v) {
  for (int o = 16; o > 0; o >>= 1) v = min(v, __shfl_down_sync(0xffffffffu, v, o));
  return v;
}
__device__ int block_min(int v) {
  __shared__ int part[32];
  int lane = threadIdx.x % 32;
  int warp = threadIdx.x / 32;
  v = warp_min(v);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < blockDim.x / 32 ? part[lane] : 1000000;
    v = warp_min(v);
    if (lane == 0) part[0] = v;
  }
  __syncthreads();
  return part[0];
}
__global__ void minima(const int* in, int* out) { out[threadIdx.x] = block_min(in[threadIdx.x]) - in[threadIdx.x]; }
"""
CASES = {"sums": LEADER_ONLY, "maxima": FOR_ALL, "minima": THROUGH_SHARED}


def for_the_machine(text: str) -> str:
    """The helper as the lane machine reads it: no default argument, no builtin."""
    shim = shims()[b"kpt_wave"].text.replace("unsigned int below = 2048", "unsigned int below")
    shim = shim.replace("__builtin_amdgcn_wavefrontsize()", "warpSize")
    return re.sub(r"kpt_wave\(\)", "kpt_wave(2048)", f"{shim}\n{text}")


@pytest.mark.parametrize("threads", [32, 64, 96, 128, 192, 1024])
@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("kernel", CASES)
def test_widened_gives_the_same(kernel: str, wave: int, threads: int) -> None:
    before = CASES[kernel]
    after = widened(before)
    assert "kpt_wave(" in after and "_sync" not in after.replace("__syncthreads", "")
    case = Case(kernel, before, kernel, ("ints_inout", "out"), (threads, 1))
    for seed in range(2):
        expected = memory_after(case, before, "cuda", 32, seed)
        assert expected == memory_after(case, for_the_machine(after), "hip", wave, seed)


def test_whole_waves_are_used() -> None:
    """Threads 32 to 63 see the sum once they belong to the first wave: the check above can tell."""
    text = LEADER_ONLY.replace("if (threadIdx.x == 0) out[0] = v", "out[threadIdx.x] = v")
    after = widened(LEADER_ONLY).replace("if (threadIdx.x == 0) out[0] = v", "out[threadIdx.x] = v")
    case = Case("sums", text, "sums", ("ints_inout", "out"), (128, 1))
    cuda = memory_after(case, text, "cuda", 32, 0)
    assert memory_after(case, for_the_machine(after), "hip", 32, 0) == cuda
    assert memory_after(case, for_the_machine(after), "hip", 64, 0) != cuda


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        ("if (threadIdx.x == 0) out[0] = v", "out[threadIdx.x] = v", "every thread uses what the first warp alone has"),
        ("if (threadIdx.x == 0)", "if (threadIdx.x % 32 == 0)", "the leader of another warp uses it"),
        ("  v = block_sum(v);", "  if (in[threadIdx.x] < 0) return;\n  v = block_sum(v);", "threads may have left"),
        ("out[0] = v;", "out[0] = v + warp_sum(1);", "the warp's part is called elsewhere"),
        ("part[32]", "part[16]", "no slot for every warp"),
        ("? part[lane] : 0", "? part[lane] : 1", "what fills up the wave counts"),
        ("(threadIdx.x < (blockDim.x / 32)) ? part[lane] : 0", "part[lane]", "slots beyond the array are read"),
        ("v += __shfl", "v = 2 * v + __shfl", "the order matters"),
        ("0xffffffff", "0xffff", "half a warp"),
        ("int o = 16", "int o = 8", "half a warp"),
        ("& 0x1f", "& 0xf", "no lane"),
        (", 32)", ", 16)", "two reductions at once"),
    ],
)
def test_what_is_not_proved_keeps_32_lanes(was: str, becomes: str, why: str) -> None:
    text = LEADER_ONLY.replace(was, becomes)
    assert text != LEADER_ONLY, why
    assert "kpt_wave" not in widened(text), why


@pytest.mark.parametrize("layout", ["copy", "single-source", "torch-extension"])
def test_the_helper_comes_along(layout: str) -> None:
    source = cxx_file("sums.cu", LEADER_ONLY.encode())
    result = hipify_file(source, Unit((source,), "native"), HipifyOptions(layout, "native"))
    assert "kpt_wave" in [name for shim in result.shims for name in shim.names]
    assert (b"int kpt_wave(" in result.after) == (layout != "single-source")
    again = cxx_file("sums.cu", result.after)
    assert hipify_file(again, Unit((again,), "native"), HipifyOptions(layout, "native")).after == result.after
