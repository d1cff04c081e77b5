#include <hip/hip_runtime.h>
#include <assert.h>
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

#if defined(__HIP_PLATFORM_AMD__)
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

// A macro that only says that nvcc is new enough. AMD has a form of what is under it.
#if (defined(__HIP_PLATFORM_AMD__))
#if (!defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 800))
#define COPIES_ENABLED
#endif
#endif

__device__ void commit() {
#ifdef COPIES_ENABLED
  asm volatile("cp.async.commit_group;\n" ::);
#else
  RUNTIME_ASSERT("no asynchronous copies");
#endif
}

#if defined(__HIP_PLATFORM_AMD__)
#define STORES_ENABLED
#define LOADS_ENABLED
#define OLD_LOADS_ENABLED
#endif

__device__ void store_slowly(unsigned to, unsigned a);
__device__ void store(unsigned to, unsigned a) {
#ifdef STORES_ENABLED
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(a));
#else
  store_slowly(to, a);
#endif
}

__device__ void load(unsigned &a, unsigned from) {
#if defined(LOADS_ENABLED)
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(from));
#elif defined(OLD_LOADS_ENABLED)
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(from));
#else
  assert(0);
#endif
}
