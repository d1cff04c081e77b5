#include <cuda_runtime.h>

__global__ void addresses(unsigned* out) {
    __shared__ float tile[32];
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    out[0] = (unsigned)(__UINTPTR_TYPE__)(&tile[0]);
    out[1] = static_cast<unsigned>(reinterpret_cast<__UINTPTR_TYPE__>(&tile[1]));
#else
    out[0] = (unsigned)(&tile[0]);
    out[1] = reinterpret_cast<unsigned>(&tile[1]);
#endif
}
