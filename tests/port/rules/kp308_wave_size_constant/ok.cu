#include <cuda_runtime.h>

constexpr int kWarpSize = 32;

__global__ void stage(int* out) {
  __shared__ int tile[kWarpSize];
  tile[threadIdx.x % kWarpSize] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[0];
}
