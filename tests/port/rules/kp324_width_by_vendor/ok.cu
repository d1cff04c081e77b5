#include <cuda_runtime.h>

// A block size by vendor is tuning, and 64 : 32 may be bits.
#if defined(USE_ROCM)
#define BLOCK 64
#else
#define BLOCK 32
#endif

__global__ void fill(int* out, bool is_long) {
  out[blockIdx.x * BLOCK + threadIdx.x] = is_long ? 64 : 32;
}
