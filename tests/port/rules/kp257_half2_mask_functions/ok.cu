#include <cuda_fp16.h>

__global__ void compare(__half *out, const __half2 *a) {
  __half2 h = a[threadIdx.x];
  out[threadIdx.x] = __hgt(h.x, h.y) ? h.x : h.y;
}
__device__ float leaky_relu(float x) { return x > 0 ? x : 0.01f * x; }
__global__ void compare_both(unsigned *out, const __half2 *a, const __half2 *b) {
  out[threadIdx.x] = __hgt2_mask(a[threadIdx.x], b[threadIdx.x]);
}
