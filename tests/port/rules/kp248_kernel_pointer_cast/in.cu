#include <cuda_runtime.h>

template <typename T, int N>
__global__ void kernel(T *p) {
  p[threadIdx.x] = N;
}

__global__ void other(int *p) { *p = 1; }

int prepare() {
  cudaFuncSetAttribute(kernel<float, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152);
  cudaFuncAttributes attributes;
  cudaFuncGetAttributes(&attributes, other);
  cudaFuncSetCacheConfig(other, cudaFuncCachePreferL1);
  return attributes.numRegs;
}
