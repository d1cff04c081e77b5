#include <hip/hip_runtime.h>
__global__ void twice(float *x) {
  float v = x[threadIdx.x];
  int i = threadIdx.x;
  x[i] = 2 * v;
}
