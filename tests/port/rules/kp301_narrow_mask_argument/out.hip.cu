#include <hip/hip_runtime.h>

#define FULL_MASK 0xffffffff

template <typename T>
__device__ T pair_sum(T v, unsigned mask = FULL_MASK) {
  return v + __shfl_xor(v, 1, 2);
}

__global__ void kernel(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = pair_sum(in[i]);
  v += __shfl(v, 3, 4);
  unsigned group = 0xffu << (threadIdx.x & 24);
  bool some = (((unsigned)(__ballot(v > 0) >> (__lane_id() & 32)) & group) != 0);
  if (some && ((unsigned)((__ballot(v < 100) ^ __ballot(1)) >> (__lane_id() & 32)) == 0)) out[i] = v;
}
