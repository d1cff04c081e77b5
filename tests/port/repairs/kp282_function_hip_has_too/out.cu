#include <cuda_runtime.h>

#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)

#else
template <typename T>
__device__ __forceinline__ T max(T a, T b) {
    return a > b ? a : b;
}
#endif

__global__ void larger(float* x) {
    x[threadIdx.x] = max(x[threadIdx.x], 0.f);
}
