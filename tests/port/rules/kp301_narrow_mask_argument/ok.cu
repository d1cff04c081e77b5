#include <cuda_runtime.h>

// The same words in other places: a hash constant, a name, a shuffle that has no mask.
__device__ unsigned mix(unsigned h) { return (h ^ (h >> 16)) & 0xffffffff; }
__global__ void kernel(const float* in, float* out) {
  float v = in[threadIdx.x] + __shfl_xor(in[threadIdx.x], 1, 32);
  out[threadIdx.x] = v + mix(threadIdx.x);
}
