#include <hip/hip_runtime.h>

__global__ void totals(const int* in, const unsigned* words, int* sum, unsigned* any) {
  sum[threadIdx.x] = [](auto kpt_r) { for (int kpt_o = 16; kpt_o > 0; kpt_o >>= 1) kpt_r += __shfl_xor(kpt_r, kpt_o, 32); return kpt_r; }(in[threadIdx.x]);
  sum[threadIdx.x] += [](auto kpt_r) { for (int kpt_o = 16; kpt_o > 0; kpt_o >>= 1) { auto kpt_s = __shfl_xor(kpt_r, kpt_o, 32); kpt_r = kpt_r < kpt_s ? kpt_s : kpt_r; }; return kpt_r; }(in[threadIdx.x]);
  any[threadIdx.x] = [](auto kpt_r) { for (int kpt_o = 16; kpt_o > 0; kpt_o >>= 1) kpt_r |= __shfl_xor(kpt_r, kpt_o, 32); return kpt_r; }(words[threadIdx.x]);
}

__device__ int of_some(unsigned mask, int value) { return [](unsigned kpt_m, auto kpt_v) { auto kpt_r = kpt_v; for (unsigned kpt_l = 0; kpt_l < 32; ++kpt_l) { auto kpt_s = __shfl(kpt_v, kpt_l, 32); if (kpt_l != (__lane_id() & 31) && (kpt_m >> kpt_l & 1)) kpt_r += kpt_s; } return kpt_r; }(mask, value); }
__device__ unsigned least(unsigned lanes, unsigned value) { return [](unsigned kpt_m, auto kpt_v) { auto kpt_r = kpt_v; for (unsigned kpt_l = 0; kpt_l < 32; ++kpt_l) { auto kpt_s = __shfl(kpt_v, kpt_l, 32); if (kpt_l != (__lane_id() & 31) && (kpt_m >> kpt_l & 1)) kpt_r = kpt_s < kpt_r ? kpt_s : kpt_r; } return kpt_r; }(lanes & 0xffff, value); }
