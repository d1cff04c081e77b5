#include <cuda_runtime.h>

// The name in a comment: __AMDGCN_WAVEFRONT_SIZE
#if defined(__GFX9__)
__device__ int logical_lane(int lane) { return lane & 31; }
#else
__device__ int logical_lane(int lane) { return lane; }
#endif
