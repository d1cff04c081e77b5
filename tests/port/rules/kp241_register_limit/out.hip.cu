#include <hip/hip_runtime.h>
__global__ void  scale(float *p) { p[threadIdx.x] *= 2.0f; }
