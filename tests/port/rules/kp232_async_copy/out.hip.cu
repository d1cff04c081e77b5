#include <hip/hip_runtime.h>
#ifndef KPT_SHIM_CVTA_GENERIC_TO_SHARED
#define KPT_SHIM_CVTA_GENERIC_TO_SHARED
static __device__ inline size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(unsigned)(unsigned long long)(const __attribute__((address_space(3))) void*)p;
}
#endif
#include <hip/hip_runtime.h>

template <int bytes>
__device__ void copy_async(void *to, const void *from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  do {
    unsigned char* const kpt_to0 = (unsigned char*)(__attribute__((address_space(3))) unsigned char*)((unsigned)((unsigned)address));
    const unsigned char* const kpt_from0 = (const unsigned char*)(from);
    if ((unsigned)((unsigned)(bytes)) == 4) *(unsigned*)kpt_to0 = *(const unsigned*)kpt_from0; else if ((unsigned)((unsigned)(bytes)) == 8) *(uint2*)kpt_to0 = *(const uint2*)kpt_from0; else if ((unsigned)((unsigned)(bytes)) == 16) *(uint4*)kpt_to0 = *(const uint4*)kpt_from0;
  } while (0);
}

__device__ void copy_async_16(unsigned to, const void *from, bool ok) {
  int size = ok ? 16 : 0;
  do {
    uint4* const kpt_to0 = (uint4*)(__attribute__((address_space(3))) uint4*)((unsigned)((unsigned)to));
    const uint4* const kpt_from0 = (const uint4*)(from);
    const unsigned kpt_n0 = (unsigned)size;
    if (kpt_n0 == 16) { *kpt_to0 = *kpt_from0; } else for (unsigned kpt_i = 0; kpt_i < 16; ++kpt_i) ((unsigned char*)kpt_to0)[kpt_i] = kpt_i < kpt_n0 ? ((const unsigned char*)kpt_from0)[kpt_i] : 0;
  } while (0);
}

__device__ void copy_async_if(unsigned to, const void *from, bool ok) {
  do {
    const unsigned kpt_0 = (unsigned)((int)ok);
    const unsigned kpt_1 = (unsigned)(to);
    const unsigned long long kpt_2 = (unsigned long long)(from);
    bool kpt_p;
    kpt_p = (kpt_0 != 0u);
    if (kpt_p) { uint4* const kpt_to1 = (uint4*)(__attribute__((address_space(3))) uint4*)((unsigned)(kpt_1)); const uint4* const kpt_from1 = (const uint4*)(kpt_2); *kpt_to1 = *kpt_from1; }
  } while (0);
}

__global__ void kernel(float4 *out, const float4 *in) {
  __shared__ float4 tile[64];
  unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
  copy_async<16>(&tile[threadIdx.x], in + threadIdx.x);
  copy_async_16(to, in + threadIdx.x, threadIdx.x < 32);
  copy_async_if(to, in + threadIdx.x, threadIdx.x < 32);
  (void)0;
  (void)0;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
