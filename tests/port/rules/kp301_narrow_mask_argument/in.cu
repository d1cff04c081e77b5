#include <cuda_runtime.h>

#define FULL_MASK 0xffffffff

template <typename T>
__device__ T pair_sum(T v, unsigned mask = FULL_MASK) {
  return v + __shfl_xor_sync(mask, v, 1, 2);
}

__global__ void kernel(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = pair_sum(in[i]);
  v += __shfl_sync(__activemask(), v, 3, 4);
  unsigned group = 0xffu << (threadIdx.x & 24);
  bool some = __any_sync(group, v > 0);
  if (some && __all_sync(FULL_MASK, v < 100)) out[i] = v;
}
