#include <cuda_fp16.h>
#include <cuda_runtime.h>

struct Counter {};

__device__ void atomicAdd(Counter*, Counter) {}

__global__ void add(__half2* sums, __half2 value) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    unsafeAtomicAdd(sums + threadIdx.x, value);
#else
    atomicAdd(sums + threadIdx.x, value);
#endif
}
