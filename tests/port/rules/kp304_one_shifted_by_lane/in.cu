#include <cuda_runtime.h>

__device__ unsigned lanes_below() {
  unsigned lane = threadIdx.x % warpSize;
  return (1u << lane) - 1;
}

__global__ void kernel(unsigned* out) {
  out[threadIdx.x] = lanes_below();
}
