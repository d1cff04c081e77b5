#include <hip/hip_runtime.h>
#ifdef __HIPCC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#if !defined(__HIPCC__) && !defined(__HIPCC__)
inline float rsqrtf(float x) { return 1.0f / x; }
#endif

HOST_DEVICE inline int twice(int x) { return 2 * x; }

// For an editor's parser, and forgotten: every compiler of a .cu file knows.

#include <hip/hip_cooperative_groups.h>

__global__ void k(int *p) { *p = twice(*p); }
