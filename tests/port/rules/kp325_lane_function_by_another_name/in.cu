#include <cuda_runtime.h>
#define shfl __shfl
#define vote __ballot
#define shfl_down(...) __shfl_down_sync(0xFFFFFFFF, __VA_ARGS__)

__global__ void k(float* x, unsigned* out) {
  float v = shfl(x[threadIdx.x], 0);
  x[threadIdx.x] = v + shfl_down(v, 16);
  out[threadIdx.x] = vote(v > 0);
}
