#include <hip/hip_runtime.h>

__device__ float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down(v, offset, 32);
  return __shfl(v, 0, 32);
}

#define WARP_MAX(v)                                                     \
  do {                                                                  \
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor(v, o, 32));        \
  } while (0)

__global__ void kernel(const float* in, float* out) {
  float v = in[threadIdx.x];
  WARP_MAX(v);
  out[threadIdx.x] = v / warp_sum(in[threadIdx.x]);
}
