// Functions of our headers behind C names, for test_headers.py: compiled for the host and called through ctypes.
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>

#define API extern "C" __attribute__((visibility("default")))
typedef unsigned short u16;
typedef unsigned char u8;

API void half_to_float(const u16* in, float* out, int n) { for (int i = 0; i < n; ++i) out[i] = __half2float(__ushort_as_half(in[i])); }
API void float_to_half(const float* in, u16* out, int n) { for (int i = 0; i < n; ++i) out[i] = __half_as_ushort(__float2half(in[i])); }
API void half_binary(int op, const u16* a, const u16* b, u16* out, int n) {
  for (int i = 0; i < n; ++i) {
    __half x = __ushort_as_half(a[i]), y = __ushort_as_half(b[i]), r = x;
    if (op == 0) r = __hadd(x, y);
    if (op == 1) r = __hsub(x, y);
    if (op == 2) r = __hmul(x, y);
    if (op == 3) r = __hdiv(x, y);
    if (op == 4) r = __hmax(x, y);
    if (op == 5) r = __hmin(x, y);
    if (op == 6) r = __hfma(x, y, y);
    if (op == 7) r = __hneg(x);
    if (op == 8) r = __habs(x);
    out[i] = __half_as_ushort(r);
  }
}
API void half_compare(const u16* a, const u16* b, u8* out, int n) {
  for (int i = 0; i < n; ++i) {
    __half x = __ushort_as_half(a[i]), y = __ushort_as_half(b[i]);
    out[i] = u8(__heq(x, y) | __hlt(x, y) << 1 | __hge(x, y) << 2 | __hneu(x, y) << 3 | __hisnan(x) << 4 | (__hisinf(x) != 0) << 5);
  }
}
static_assert(std::is_trivially_copyable<__half>::value && std::is_trivially_copyable<__half2>::value, "kernel arguments");
static_assert(std::is_trivially_copyable<__hip_bfloat16>::value && std::is_trivial<__hip_bfloat16>::value, "kernel arguments");
static_assert(sizeof(__half2) == 4 && sizeof(__hip_bfloat162) == 4 && sizeof(__hip_fp8x4_e4m3) == 4, "layout");

API void half_to_int(const u16* in, int* nearest, unsigned* down, short* small, int n) {
  for (int i = 0; i < n; ++i) {
    nearest[i] = __half2int_rn(__ushort_as_half(in[i]));
    down[i] = __half2uint_rd(__ushort_as_half(in[i]));
    small[i] = __half2short_rz(__ushort_as_half(in[i]));
  }
}
API void packed(const u16* a, const u16* b, u16* out, int n) {
  for (int i = 0; i + 1 < n; i += 2) {
    __half2 x(__ushort_as_half(a[i]), __ushort_as_half(a[i + 1])), y(__ushort_as_half(b[i]), __ushort_as_half(b[i + 1]));
    __half2 r = __lowhigh2highlow(__hadd2(x, y));
    out[i] = __half_as_ushort(__low2half(r));
    out[i + 1] = __half_as_ushort(__high2half(r));
  }
}
API void float_to_bf16(const float* in, u16* out, int n) { for (int i = 0; i < n; ++i) out[i] = __bfloat16_as_ushort(__float2bfloat16(in[i])); }
API void truncated_bf16(const float* in, u16* out, int n) { for (int i = 0; i < n; ++i) out[i] = hip_bfloat16(in[i], hip_bfloat16::truncate).data; }
API void bf16_to_float(const u16* in, float* out, int n) { for (int i = 0; i < n; ++i) out[i] = __bfloat162float(__ushort_as_bfloat16(in[i])); }
API void old_bf16(const float* in, u16* out, int n) { for (int i = 0; i < n; ++i) out[i] = hip_bfloat16(in[i]).data; }
API void fp8_to_float(int as, const u8* in, float* out, int n) { for (int i = 0; i < n; ++i) out[i] = kpt::fp8_to_float(in[i], (__hip_fp8_interpretation_t)as); }
API void float_to_fp8(int as, int saturate, const float* in, u8* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = __hip_cvt_float_to_fp8(in[i], (__hip_saturation_t)saturate, (__hip_fp8_interpretation_t)as);
}
API void complex_op(int op, const double* a, const double* b, double* out, int n) {
  for (int i = 0; i < n; ++i) {
    hipDoubleComplex x = make_hipDoubleComplex(a[2 * i], a[2 * i + 1]), y = make_hipDoubleComplex(b[2 * i], b[2 * i + 1]);
    hipDoubleComplex r = op == 0 ? hipCmul(x, y) : op == 1 ? hipCdiv(x, y) : make_hipDoubleComplex(hipCabs(x), hipCsqabs(y));
    out[2 * i] = hipCreal(r);
    out[2 * i + 1] = hipCimag(r);
  }
}
