#include <cuda_runtime.h>

// A flag is volatile, the reduction has barriers.
__global__ void sum(const float* in, float* out, volatile int* flag) {
  __shared__ float s[64];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int o = 32; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0 && *flag) *out = s[0];
}
