#include <hip/hip_runtime.h>

#if __AMDGCN_WAVEFRONT_SIZE == 64
__device__ int logical_lane(int lane) { return lane & 31; }
#else
__device__ int logical_lane(int lane) { return lane; }
#endif

__global__ void kernel(int* out) {
#if defined(__HIP_PLATFORM_AMD__)
  out[threadIdx.x] = logical_lane(threadIdx.x % __builtin_amdgcn_wavefrontsize());
#endif
}
