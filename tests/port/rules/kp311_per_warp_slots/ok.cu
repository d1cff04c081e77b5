#include <cuda_runtime.h>

// 32 bins and a 32-wide tile.
__global__ void bins(const int* in, int* out) {
  __shared__ int bin[32];
  int slot = in[threadIdx.x] / 32;
  bin[slot] = 1;
  __syncthreads();
  out[threadIdx.x] = bin[threadIdx.x & 31];
}
