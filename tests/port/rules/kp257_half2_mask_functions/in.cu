#include <cuda_fp16.h>

__global__ void compare(unsigned *out, const __half2 *a, const __half2 *b) {
  out[threadIdx.x] = __hgt2_mask(a[threadIdx.x], b[threadIdx.x]);
}
