// innocent: the width is only printed
#include <cstdio>
__global__ void lanes(int* out) { out[threadIdx.x] = threadIdx.x % 32; }
void show() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  printf("warp size %d\n", prop.warpSize);
}
