#include <cuda_runtime.h>

#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)

#else
static inline int clusters(cudaClusterSchedulingPolicy policy) {
    return policy == cudaClusterSchedulingPolicyDefault ? 0 : 1;
}
#endif

__global__ void twice(float* x) {
    x[threadIdx.x] *= 2;
}
