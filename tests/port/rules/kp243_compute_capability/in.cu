#include <cuda_runtime.h>

int choose() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  if (prop.major >= 8) return 1;
  int sm = prop.major * 10 + prop.minor;
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return sm + major;
}
