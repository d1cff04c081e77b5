#include <cuda_runtime.h>

int runtime_version() {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    return (HIP_VERSION_MAJOR * 1000 + HIP_VERSION_MINOR * 10);
#else
    return CUDART_VERSION;
#endif
}
