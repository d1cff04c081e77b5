#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#if !defined(__NVCC__) && !defined(__CUDACC__)
inline float rsqrtf(float x) { return 1.0f / x; }
#endif

HOST_DEVICE inline int twice(int x) { return 2 * x; }

// For an editor's parser, and forgotten: every compiler of a .cu file knows.
#define __CUDACC__
#include <cooperative_groups.h>

__global__ void k(int *p) { *p = twice(*p); }
