#include <hip/hip_runtime.h>

__global__ void copy(float *to, const float *from, float4 *wide, const float4 *wide_from) {
  int i = threadIdx.x;
  to[i] = (*(from + i)) + (*(&from[i + 1]));
  wide[i] = (*(wide_from + i));
}
