#include <hip/hip_runtime.h>
#if !defined(__HIP_PLATFORM_AMD__)
#error "CUDA 9 or newer is needed"
#endif

int modern() {
#if defined(__HIP_PLATFORM_AMD__) && defined(__HIP_PLATFORM_AMD__)
  return 11;
#endif
  return 0;
}

int built_with() { return (HIP_VERSION_MAJOR * 1000 + HIP_VERSION_MINOR * 10); }

__device__ int all_of(int p) {
#if defined(__HIP_PLATFORM_AMD__)
  return __all_sync(0xffffffff, p);
#else
  return __all(p);
#endif
}

#if CUDART_VERSION >= 12030
int conditional_nodes() { return 1; }
#else
int conditional_nodes() { return 0; }
#endif

#ifndef __HIP_PLATFORM_AMD__
#error "cuda_runtime_api.h is needed"
#endif

int is_new() { return 12000 >= 10000; }
