#include <cuda_runtime.h>

__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o, 32);
  return v;
}

__global__ void sum(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = warp_sum(in[i]);
  if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}

__global__ void some(float* data, int n) {
  if (threadIdx.x < n) data[threadIdx.x] = __shfl_sync(0xffffffff, data[threadIdx.x], 3, 32);
}
