#include <cuda_runtime.h>

// A vote of the block decides.
__global__ void walk(const int* next, int* at) {
  int p = at[threadIdx.x];
  while (__syncthreads_or(p >= 0)) {
    if (p >= 0) p = next[p];
  }
  at[threadIdx.x] = p;
}
