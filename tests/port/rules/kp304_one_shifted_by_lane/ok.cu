#include <cuda_runtime.h>

// A lane of 32 and a bit of a word.
__global__ void kernel(unsigned* out, const int* bit) {
  unsigned lane = threadIdx.x & 31;
  out[threadIdx.x] = (1u << lane) - 1 + (1u << bit[threadIdx.x]);
}
