#include <cuda_runtime.h>

// Bit counts of data, not of lanes.
__global__ void weight(const unsigned* words, int* out) {
  unsigned mask = words[0];
  out[threadIdx.x] = __popc(words[threadIdx.x] & mask) + __ffs(mask) + __clz(mask);
}
