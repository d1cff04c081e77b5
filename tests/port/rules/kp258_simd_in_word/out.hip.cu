#include <hip/hip_runtime.h>
#ifndef KPT_SIMD_VABSDIFFU4
#define KPT_SIMD_VABSDIFFU4
static __device__ inline unsigned __vabsdiffu4(unsigned a, unsigned b) {
  unsigned r = 0;
  for (int i = 0; i < 32; i += 8) { const int x = (unsigned char)(a >> i); const int y = (unsigned char)(b >> i); r |= ((unsigned)(x > y ? x - y : y - x) & 0xffu) << i; }
  return r;
}
#endif
#ifndef KPT_SIMD_VADD4
#define KPT_SIMD_VADD4
static __device__ inline unsigned __vadd4(unsigned a, unsigned b) {
  unsigned r = 0;
  for (int i = 0; i < 32; i += 8) { const int x = (unsigned char)(a >> i); const int y = (unsigned char)(b >> i); r |= ((unsigned)(x + y) & 0xffu) << i; }
  return r;
}
#endif
#ifndef KPT_SIMD_VCMPGTU2
#define KPT_SIMD_VCMPGTU2
static __device__ inline unsigned __vcmpgtu2(unsigned a, unsigned b) {
  unsigned r = 0;
  for (int i = 0; i < 32; i += 16) { const int x = (unsigned short)(a >> i); const int y = (unsigned short)(b >> i); r |= (unsigned)(x > y ? 0xffffu : 0u) << i; }
  return r;
}
#endif
#include <hip/hip_runtime.h>

__global__ void combine(unsigned *out, const unsigned *a, const unsigned *b) {
  int i = threadIdx.x;
  out[i] = __vadd4(a[i], b[i]) ^ __vcmpgtu2(a[i], b[i]) ^ __vabsdiffu4(a[i], b[i]);
}
