#include <cuda_runtime.h>

constexpr int kTile = 128;
#define STAGES 3

__global__ void kernel(float *p);

void prepare(int bytes) {
  cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       STAGES * kTile * 64 * sizeof(float));
  const int tile_bytes = bytes * (sizeof(int) + 3 * sizeof(float));
  cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, tile_bytes);
  cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
