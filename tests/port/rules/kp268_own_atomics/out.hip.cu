#include <hip/hip_runtime.h>


__global__ void largest(float *m, const float *x) { atomicMax(m, x[threadIdx.x]); }
