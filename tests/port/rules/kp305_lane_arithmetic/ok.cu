#include <cuda_runtime.h>

// A literal 32 that is a tile's edge, and a width that host and device both take from the device.
__global__ void tile(float* out, int n) {
  int column = threadIdx.x % 32, row = threadIdx.x / 32;
  out[row * n + column] = 0;
}

__global__ void per_wave(float* out) {
  if (threadIdx.x % warpSize == 0) out[threadIdx.x / warpSize] = 1;
}

void launch(float* out) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int waves = 256 / prop.warpSize;
  cudaMemset(out, 0, waves * sizeof(float));
  per_wave<<<1, 256>>>(out);
}
