__device__ int all_of(int p) {
#if CUDART_VERSION >= 9000
  return __all_sync(0xffffffff, p);
#else
  return __all(p);
#endif
}
#if CUDA_VERSION >= 12080 || defined(USE_ROCM)
int modern = 1;
#endif
#if CUDA_VERSION >= 11000
#define HAS_ASYNC_ALLOCATOR 1
#endif
const char *text = "CUDA_VERSION >= 9000";
#ifdef CUDART_VERSION
int built_with() { return CUDART_VERSION; }
#else
int built_with() { return 0; }
#endif

// AMD takes the other branch, which has code.
#if CUDART_VERSION >= 11000
#define HAS_NEW_WAY
#endif
#ifdef HAS_NEW_WAY
__global__ void either(float* x) { x[threadIdx.x] /= 3.0f; }
#else
__global__ void either(float* x) { x[threadIdx.x] *= 0.333f; }
#endif
