#include <cuda_runtime.h>

#if defined(USE_ROCM)
#define WARP_SIZE 64
#else
#define WARP_SIZE 32
#endif

__global__ void widths(int* out) {
  out[threadIdx.x] = threadIdx.x / WARP_SIZE;
}

int warp_size_of(bool is_rocm) {
  return is_rocm ? 64 : 32;
}
