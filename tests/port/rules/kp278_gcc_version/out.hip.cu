#include <hip/hip_runtime.h>

#define BUILD_SCALE 1

#ifdef __GNUC__
#if 0
#undef BUILD_SCALE
#define BUILD_SCALE 0
#endif
#endif

#if defined(__GNUC__) && (0)
#error "gcc 5 or newer"
#endif

#if BUILD_SCALE == 1
__global__ void scale(float* x, float factor) { x[threadIdx.x] *= factor; }
#endif
