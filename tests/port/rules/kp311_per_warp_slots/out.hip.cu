#include <hip/hip_runtime.h>

__global__ void slots(const float* in, float* out) {
  __shared__ float part[32];
  int warp = threadIdx.x / 32;
  if ((threadIdx.x & 31) == 0) part[warp] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < blockDim.x / 32) out[threadIdx.x] = part[threadIdx.x];
}
