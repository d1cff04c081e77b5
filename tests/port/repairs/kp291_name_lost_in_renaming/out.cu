#include <cuda_runtime.h>

bool is_captured(cudaError_t status) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    return status == hipErrorCapturedEvent;
#else
    return status == cudaErrorCapturedEvent;
#endif
}
