#include <cuda_runtime.h>

__global__ void row_sum(const float* in, float* out, int n) {
  int lane = threadIdx.x % warpSize;
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  float v = 0;
  for (int i = lane; i < n; i += warpSize) v += in[row * n + i];
  atomicAdd(&out[row], v);
}

void launch(const float* in, float* out, int rows, int n) {
  row_sum<<<rows * 32 / 256, 256>>>(in, out, n);
}
