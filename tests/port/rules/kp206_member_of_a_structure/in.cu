#include <cuda_runtime.h>

int arrays_may_be_sparse(int device) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, device);
  return prop.sparseCudaArraySupported + prop.deferredMappingCudaArraySupported;
}
