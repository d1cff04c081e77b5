#if CUDA_VERSION < 9000
#error "CUDA 9 or newer is needed"
#endif

int modern() {
#if defined(CUDART_VERSION) && CUDART_VERSION >= 11000
  return 11;
#endif
  return 0;
}

int built_with() { return CUDART_VERSION; }

#define BUILD_HALVE 1
#if CUDA_VERSION < 10020
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
#if CUDART_VERSION >= 9000
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

#ifndef CUDART_VERSION
#error "cuda_runtime_api.h is needed"
#endif

int is_new() { return CUDART_VERSION >= 10000; }
