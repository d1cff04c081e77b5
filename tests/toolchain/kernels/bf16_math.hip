#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

__global__ void bf16_scalar(__hip_bfloat16* out, const __hip_bfloat16* a, const __hip_bfloat16* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __hip_bfloat16 x = a[i], y = b[i];
  __hip_bfloat16 r = __hadd(__hmul(x, y), __hsub(x, y));
  r = __hfma(r, x, __float2bfloat16(0.5f));
  if (__hgt(r, y)) r = hexp(r);
  out[i] = __float2bfloat16(__bfloat162float(r) * 2.0f);
}

__global__ void bf16_packed(__hip_bfloat162* out, const __hip_bfloat162* a) {
  const __hip_bfloat162 v = __hadd2(a[threadIdx.x], a[threadIdx.x]);
  const float2 f = __bfloat1622float2(v);
  out[threadIdx.x] = __float22bfloat162_rn(float2{f.y, f.x});
}
