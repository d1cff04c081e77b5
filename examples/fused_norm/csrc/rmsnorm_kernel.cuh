// RMSNorm over rows, and the number of non-finite inputs per row.
#pragma once

#include <cuda_runtime.h>

constexpr int kWarp = 32;
constexpr int kThreads = 256;

__device__ __forceinline__ float warp_sum(float value) {
  for (int offset = kWarp / 2; offset > 0; offset >>= 1)
    value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

__device__ float block_sum(float value) {
  __shared__ float partial[kThreads / kWarp];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  value = warp_sum(value);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = threadIdx.x < kThreads / kWarp ? partial[lane] : 0.0f;
  if (warp == 0) value = warp_sum(value);
  if (threadIdx.x == 0) partial[0] = value;
  __syncthreads();
  return partial[0];
}

__global__ void __launch_bounds__(kThreads, 2)
rmsnorm(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y, int columns, float eps) {
  const float* row = x + static_cast<size_t>(blockIdx.x) * columns;
  float* out = y + static_cast<size_t>(blockIdx.x) * columns;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += kThreads) squares += row[i] * row[i];
  const float scale = rsqrtf(block_sum(squares) / columns + eps);
  for (int i = threadIdx.x; i < columns; i += kThreads) out[i] = row[i] * scale * weight[i];
}

// One warp per row; the lanes vote, and lane 0 adds up the votes.
__global__ void count_non_finite(const float* __restrict__ x, int* __restrict__ count, int rows, int columns) {
  const int lane = threadIdx.x & 31;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (row >= rows) return;
  int found = 0;
  for (int start = 0; start < columns; start += kWarp) {
    const int i = start + lane;
    const bool bad = i < columns && !isfinite(x[static_cast<size_t>(row) * columns + i]);
    unsigned votes = __ballot_sync(0xffffffff, bad);
    found += __popc(votes);
  }
  if (lane == 0) count[row] = found;
}
