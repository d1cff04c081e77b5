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

#define BUILD_HALVE 1
#if !defined(__HIP_PLATFORM_AMD__)
#undef BUILD_HALVE
#define BUILD_HALVE 0
#endif
#if BUILD_HALVE == 1
__global__ void halve(float* x) { x[threadIdx.x] *= 0.5f; }
#endif

#if CUDART_VERSION >= 11080
#define HAS_THIRDS
#endif
#ifdef HAS_THIRDS
__global__ void thirds(float* x) { x[threadIdx.x] /= 3.0f; }
#endif
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
