#include <cuda_runtime.h>

constexpr int kTile = 64;

__global__ void kernel(float *p);

void prepare() {
  cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTile * 64 * sizeof(float));
  cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
}
