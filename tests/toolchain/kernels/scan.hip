#include <hip/hip_runtime.h>

// Work-efficient exclusive scan of one block (Blelloch), two elements a thread.
__global__ void block_scan(int* out, int* block_sums, const int* in, int n) {
  extern __shared__ int temp[];
  const int t = threadIdx.x, base = 2 * blockIdx.x * blockDim.x, size = 2 * blockDim.x;
  temp[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
  temp[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
  int offset = 1;
  for (int d = size / 2; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) {
    block_sums[blockIdx.x] = temp[size - 1];
    temp[size - 1] = 0;
  }
  for (int d = 1; d < size; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      const int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1, kept = temp[left];
      temp[left] = temp[right];
      temp[right] += kept;
    }
  }
  __syncthreads();
  if (base + 2 * t < n) out[base + 2 * t] = temp[2 * t];
  if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = temp[2 * t + 1];
}

__device__ int wave_inclusive(int v) {
  for (int d = 1; d < warpSize; d *= 2) {
    const int other = __shfl_up(v, d);
    if ((int)__lane_id() >= d) v += other;
  }
  return v;
}

__global__ void wave_scan(int* out, const int* in) { out[threadIdx.x] = wave_inclusive(in[threadIdx.x]); }
