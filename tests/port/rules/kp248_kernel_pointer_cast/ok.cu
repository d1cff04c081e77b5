#include <cuda_runtime.h>

__global__ void other(int *p) { *p = 1; }

int prepare() {
  cudaFuncAttributes attributes;
  cudaFuncGetAttributes(&attributes, (const void *)other);
  cudaFuncSetCacheConfig(reinterpret_cast<const void *>(other), cudaFuncCachePreferL1);
  return attributes.numRegs;
}

#ifdef USE_ROCM
#define ROCM_ONLY(x) x
#else
#define ROCM_ONLY(x)
#endif

int large(int bytes) {
  return cudaFuncSetAttribute(ROCM_ONLY((const void *)) other, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
