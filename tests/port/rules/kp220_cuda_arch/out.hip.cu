// The device pass of HIP defines no __CUDA_ARCH__.
#include <hip/hip_runtime.h>
#ifndef KPT_SHIM_CVTA_GENERIC_TO_SHARED
#define KPT_SHIM_CVTA_GENERIC_TO_SHARED
static __device__ inline size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(unsigned)(unsigned long long)(const __attribute__((address_space(3))) void*)p;
}
#endif
#ifndef KPT_SHIM_TRAP
#define KPT_SHIM_TRAP
static __device__ inline void __trap() { __builtin_trap(); }
#endif
__host__ __device__ inline int where() {
#ifdef __HIP_DEVICE_COMPILE__
  return 1;
#else
  return 0;
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double *p, double v);
#endif

__global__ void add(double *total, const double *x) {
#if defined(__HIP_DEVICE_COMPILE__)
  atomicAdd(total, __ldg(x + threadIdx.x));
#else
  atomicAdd(total, x[threadIdx.x]);
#endif
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ < 600)
  __syncthreads();
#endif
}

__global__ void only_new(int *p) {
#if defined(__HIP_DEVICE_COMPILE__)
  p[threadIdx.x] = 1;
#endif
}

__global__ void only_hopper(int *p) {
#if __CUDA_ARCH__ >= 900
  p[threadIdx.x] = 1;
#endif
}

// A form for single GPUs within code that AMD compiles is rightly left out; so is the limit above.
__global__ void with_special_forms(int *p) {
#if defined(__HIP_DEVICE_COMPILE__) && defined(__HIP_DEVICE_COMPILE__) && defined(__HIP_DEVICE_COMPILE__)
#if __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890
  p[threadIdx.x] = 2;
#endif
  unsigned at = threadIdx.x;
  __shared__ int4 rows[32];
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %0, 0;\n @p cp.async.cg.shared.global [%1], [%2], 16;\n}\n"
               :: "r"(at), "r"((unsigned)__cvta_generic_to_shared(rows + at)), "l"(p + 4 * at));
  p[at] = rows[at].x;
#else
  __trap();
#endif
}

__device__ int chosen_in_code(int x) {
  if constexpr (700 >= 900) {
    return 2 * x;
  } else {
    return x;
  }
}

__device__ void added_in_code(int *p) {
  if constexpr (890 >= 800) {
    p[threadIdx.x] = 1;
  }
}

// Marks alone: clang's host pass reads the bodies of kernels too, and needs them there.
#ifdef __HIPCC__
#define ON_DEVICE __device__
#else
#define ON_DEVICE
#endif
#ifndef __HIPCC__
#define ON_BOTH
#else
#define ON_BOTH __host__ __device__
#endif
ON_BOTH inline int twice(int x) { return 2 * x; }
__global__ void doubles(int *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
