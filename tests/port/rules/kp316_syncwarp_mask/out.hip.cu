#include <hip/hip_runtime.h>

__global__ void hand_over(int* out) {
  __shared__ int s[32];
  s[threadIdx.x & 31] = threadIdx.x;
  __syncwarp();
  int v = s[31 - (threadIdx.x & 31)];
  unsigned mask = 0xffffu << (threadIdx.x & 16);
  __syncwarp();
  out[threadIdx.x] = v;
}
