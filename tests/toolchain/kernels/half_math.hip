#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

__global__ void half_scalar(__half* out, const __half* a, const __half* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half x = a[i], y = b[i];
  __half r = __hadd(__hmul(x, y), __hsub(x, y));
  r = __hfma(r, x, __float2half(0.5f));
  r = r + hexp(x) * hsqrt(__habs(y)) - hlog(__hmax(x, y)) / hrcp(y);
  if (__hgt(r, __float2half(65504.0f)) || __hisnan(r)) r = __float2half_rn(0.0f);
  r += hsin(x) + hcos(y) + htrunc(x) + hfloor(y) + hceil(x) + hrint(y);
  out[i] = r > __half(0) ? r : -r;
}

__global__ void half_packed(__half2* out, const __half2* a, const __half2* b) {
  const int i = threadIdx.x;
  __half2 r = __hfma2(a[i], b[i], __float2half2_rn(1.0f));
  r = __hadd2(r, h2exp(a[i]));
  r = __hmul2(r, __halves2half2(__low2half(b[i]), __high2half(a[i])));
  const float2 f = __half22float2(r);
  out[i] = __floats2half2_rn(f.x + __low2float(a[i]), f.y);
}

__global__ void half_lanes(__half* out, const __half* in) {
  __half v = in[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) v = v + __shfl_xor(v, offset, 32);
  out[threadIdx.x] = v;
}
