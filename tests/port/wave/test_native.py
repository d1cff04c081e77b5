"""`--wave native`: whole waves where that is proved right, 32-lane warps everywhere else."""

from __future__ import annotations

import pytest
from test_lane_model import Case, memory_after

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.wave.analysis import hazards

BLOCK_SUM = """
__device__ int warp_sum(int v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
__global__ void block_sum(const int* in, int* out) {
  __shared__ int part[32];
  int lane = threadIdx.x & 31;
  int warp = threadIdx.x >> 5;
  int v = warp_sum(in[threadIdx.x]);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0);
    if (lane == 0) out[0] = v;
  }
}
void launch(const int* in, int* out) { block_sum<<<1, 128>>>(in, out); }
"""
ATOMIC_SUM = """
__global__ void atomic_sum(const int* in, int* out) {
  int v = in[threadIdx.x];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) atomicAdd(&out[0], v);
}
void launch(const int* in, int* out) { atomic_sum<<<1, 128>>>(in, out); }
"""


def widened(text: str, wave: str = "native") -> str:
    source = cxx_file("case.cu", text.encode())
    edits = sorted(
        {edit for hazard in hazards(source, Unit((source,), wave), wave) for edit in hazard.edits},
        key=lambda edit: edit.span.start,
    )
    pieces, at = [], 0
    for edit in edits:
        assert edit.span.start >= at
        pieces += [source.data[at : edit.span.start], edit.text]
        at = edit.span.end
    return b"".join([*pieces, source.data[at:]]).decode()


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize(("kernel", "text"), [("block_sum", BLOCK_SUM), ("atomic_sum", ATOMIC_SUM)])
def test_widened_gives_the_same(kernel: str, text: str, wave: int) -> None:
    after = widened(text)
    assert "warpSize / 2" in after
    assert ", 32)" not in after and "0xffffffff" not in after
    case = Case(kernel, text, kernel, ("ints_inout", "zeros"))
    for seed in range(3):
        assert memory_after(case, text, "cuda", 32, seed) == memory_after(case, after, "hip", wave, seed)


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        ("<<<1, 128>>>", "<<<1, 96>>>", "the last wave is half empty"),
        ("<<<1, 128>>>", "<<<1, n>>>", "the block's size is not known"),
        ("<<<1, 128>>>", "<<<1, dim3(32, 4)>>>", "rows of 32"),
        ("void launch", "#if 0\nvoid launch", "no launch in sight"),
        ("out[0] = v", "out[warp] = v", "a result per warp"),
        ("if (lane == 0) out[0] = v", "out[threadIdx.x] = v", "every lane keeps the sum"),
        ("v += __shfl", "v = 2 * v + __shfl", "the order matters"),
        ("0xffffffff", "0xffff", "half a warp"),
        ("in[threadIdx.x]", "in[warp * 32 + lane]", "an address by warp"),
    ],
)
def test_what_is_not_proved_keeps_32_lanes(was: str, becomes: str, why: str) -> None:
    text = BLOCK_SUM.replace(was, becomes)
    assert text != BLOCK_SUM, why
    if becomes.startswith("#if 0"):
        text = text.split("#if 0")[0]
    after = widened(text)
    assert "warpSize" not in after, why
    assert "__shfl_down(v, o, 32)" in after, why


RANKS = """
__global__ void ranks(const int* in, int* out, int* total) {
  int lane = threadIdx.x % warpSize;
  unsigned votes = __ballot_sync(0xffffffff, in[threadIdx.x]);
  int before = __popc(votes & ((1u << lane) - 1));
  if (votes != 0 && lane == __ffs(votes) - 1) atomicAdd(&total[0], __popc(votes));
  out[threadIdx.x] = in[threadIdx.x] * (before >= 0);
}
int waves_of(int threads) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  return threads / prop.warpSize;
}
"""


@pytest.mark.parametrize("wave", [32, 64])
def test_masks_follow_the_wave(wave: int) -> None:
    """The host asks the device for the width: the program follows it by design."""
    after = widened(RANKS, "logical32")
    assert after == widened(RANKS)
    assert "unsigned long long votes = __ballot(in[threadIdx.x])" in after
    assert "__popcll(votes & ((1ull << lane) - 1))" in after
    case = Case("ranks", RANKS, "ranks", ("bits", "out", "zeros"))
    assert memory_after(case, RANKS, "cuda", 32, 0) == memory_after(case, after, "hip", wave, 0)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("in[threadIdx.x] * (before >= 0)", "votes"),
        ("__ffs(votes)", "__clz(votes)"),
        ("unsigned votes", "unsigned other = 1, votes"),
    ],
)
def test_a_mask_with_an_unknown_use_is_for_a_person(was: str, becomes: str) -> None:
    source = cxx_file("case.cu", RANKS.replace(was, becomes).encode())
    found = hazards(source, Unit((source,), "native"), "native")
    assert [one.code for one in found if not one.edits] == ["KP303"]
    assert not [one for one in found if one.edits]
