#include <hip/hip_runtime.h>

int arrays_may_be_sparse(int device) {
  hipDeviceProp_t prop;
  hipGetDeviceProperties(&prop, device);
  return prop.sparseHipArraySupported + prop.deferredMappingHipArraySupported;
}
