#include <hip/hip_runtime.h>

__global__ void packed(float4* out, const float4* a, const float2* b, const int4* c, const uchar4* d) {
  const int i = threadIdx.x;
  float4 v = a[i] + make_float4(b[i].x, b[i].y, float(c[i].z), float(d[i].w));
  v.x *= 2.0f;
  v -= make_float4(1.0f, 1.0f, 1.0f, 1.0f);
  out[i] = v * 3.0f;
}

__global__ void integers(uint2* u, const longlong2* l, const short4* s, const double3* d) {
  const int i = threadIdx.x;
  u[i] = make_uint2((unsigned)l[i].x, (unsigned)(s[i].y + (int)d[i].z));
}
