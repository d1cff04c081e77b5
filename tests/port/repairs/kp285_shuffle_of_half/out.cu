#include <c10/util/Half.h>
#include <cuda_runtime.h>

__global__ void sum(c10::Half* x) {
    c10::Half value = x[threadIdx.x];
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    value += static_cast<std::decay_t<decltype(value)>>(__shfl_down(static_cast<float>(value), 16, 32));
#else
    value += __shfl_down(value, 16, 32);
#endif
    x[threadIdx.x] = value;
}
