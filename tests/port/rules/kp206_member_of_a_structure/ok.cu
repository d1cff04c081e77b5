#include <cuda_runtime.h>

// Members of the project's own structures, and a common word in a structure that is not CUDA's.
struct Meter { size_t usage; int sparse; };

size_t used(const Meter& meter, int device) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, device);
  cudaMemPoolProps pool = {};
  (void)pool;
  return meter.usage + prop.multiProcessorCount;
}
