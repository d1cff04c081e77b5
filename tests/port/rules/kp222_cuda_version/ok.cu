#if CUDA_VERSION >= 12080 || defined(USE_ROCM)
int modern = 1;
#endif
// What this switches on is elsewhere.
#if CUDA_VERSION >= 11000
#define HAS_ASYNC_ALLOCATOR 1
#endif
// The branch for newer CUDA needs what AMD lacks.
__device__ int first(int *p) {
#if CUDART_VERSION >= 11000
  int x;
  asm("ld.global.nc.s32 %0, [%1];" : "=r"(x) : "l"(p));
  return x;
#else
  return *p;
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
}
const char *text = "CUDA_VERSION >= 9000";

#if __CUDACC_VER_MAJOR__ >= 11
#define ASYNC_COPIES
#endif

__device__ void copy(unsigned to, const float4 *from) {
#ifdef ASYNC_COPIES
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
#else
  copy_slowly(to, from);
#endif
}

__device__ void commit() {
#ifdef ASYNC_COPIES
  asm volatile("cp.async.commit_group;\n" ::);
#endif
}
