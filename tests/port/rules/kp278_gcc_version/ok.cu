#include <cuda_runtime.h>

#if defined(__GNUC__) && __GNUC__ >= 7
#define FALLS_THROUGH __attribute__((fallthrough))
#else
#define FALLS_THROUGH
#endif

__global__ void scale(float* x, float factor) { x[threadIdx.x] *= factor; }
