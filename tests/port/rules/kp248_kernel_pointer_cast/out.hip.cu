#include <hip/hip_runtime.h>

template <typename T, int N>
__global__ void kernel(T *p) {
  p[threadIdx.x] = N;
}

__global__ void other(int *p) { *p = 1; }

int prepare() {
  hipFuncSetAttribute(reinterpret_cast<const void*>(kernel<float, 4>), hipFuncAttributeMaxDynamicSharedMemorySize, 49152);
  hipFuncAttributes attributes;
  hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(other));
  hipFuncSetCacheConfig(reinterpret_cast<const void*>(other), hipFuncCachePreferL1);
  return attributes.numRegs;
}
