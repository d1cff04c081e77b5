#include <cuda_runtime.h>

template <int N>
__device__ int chunk(int i) {
  return i / N;
}

__global__ void stage(int* out) {
  __shared__ int tile[warpSize];
  tile[threadIdx.x & 31] = chunk<warpSize>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = tile[0];
}
