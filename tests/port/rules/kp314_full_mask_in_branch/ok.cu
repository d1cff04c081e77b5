#include <cuda_runtime.h>

__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o, 32);
  return v;
}

// Conditions that whole warps share, and a bound rounded up to whole blocks.
__global__ void sum(const float* in, float* out, int n) {
  if (blockIdx.x >= n) return;
  int warp = threadIdx.x / 32;
  int whole = (n + blockDim.x - 1) / blockDim.x * blockDim.x;
  float v = 0;
  for (int i = threadIdx.x; i < whole; i += blockDim.x) v = warp_sum(i < n ? in[i] : 0);
  if (warp == 0) v = warp_sum(v);
  if (threadIdx.x < 64) v = warp_sum(v);
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}
