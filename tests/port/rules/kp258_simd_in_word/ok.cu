#include <cuda_runtime.h>

static __device__ unsigned __vadd4(unsigned a, unsigned b) { return a + b; }

__global__ void combine(unsigned *out, const unsigned *a, const unsigned *b) {
  out[threadIdx.x] = __vadd4(a[threadIdx.x], b[threadIdx.x]);  // __vsub4 is not called
}
