/* 16-bit floats: kept in 16 bits, computed in float and rounded to the nearest after every operation. */
#pragma once

#include "atomics.h"
#include "math.h"

namespace kpt {
inline float half_to_float(unsigned short h) {
    unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    if (exponent == 31) return from_bits<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent) return from_bits<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    float value = (float)mantissa * 5.9604644775390625e-8f;
    return sign ? -value : value;
}
inline unsigned short float_to_half(float f) {
    unsigned x = (unsigned)to_bits(f), sign = x >> 16 & 0x8000;
    x &= 0x7fffffff;
    if (x > 0x7f800000) return (unsigned short)(sign | 0x7e00);
    if (x >= 0x477ff000) return (unsigned short)(sign | 0x7c00);
    if (x < 0x38800000) return (unsigned short)(sign | (unsigned)nearbyintf(from_bits<float>(x) * 16777216.0f));
    unsigned rounded = x + 0xfff + (x >> 13 & 1);
    return (unsigned short)(sign | ((rounded - 0x38000000u) >> 13));
}
inline float bfloat_to_float(unsigned short h) { return from_bits<float>((uint64_t)h << 16); }
inline unsigned short float_to_bfloat(float f) {
    unsigned x = (unsigned)to_bits(f);
    if ((x & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (unsigned short)((x + 0x7fff + (x >> 16 & 1)) >> 16);
}
} // namespace kpt

#define KPT_SMALL_FLOAT(H, to_float, from_float)                                                                       \
    struct H {                                                                                                         \
        unsigned short bits;                                                                                           \
        H() = default;                                                                                                 \
        H(float x) : bits(kpt::from_float(x)) {}                                                                       \
        H(double x) : bits(kpt::from_float((float)x)) {}                                                               \
        H(int x) : bits(kpt::from_float((float)x)) {}                                                                  \
        H(unsigned x) : bits(kpt::from_float((float)x)) {}                                                             \
        H(long x) : bits(kpt::from_float((float)x)) {}                                                                 \
        H(unsigned long x) : bits(kpt::from_float((float)x)) {}                                                        \
        H(long long x) : bits(kpt::from_float((float)x)) {}                                                            \
        H(unsigned long long x) : bits(kpt::from_float((float)x)) {}                                                   \
        operator float() const { return kpt::to_float(bits); }                                                         \
        H operator-() const { return H(-(float)*this); }                                                               \
        H &operator+=(H o) { return *this = H((float)*this + (float)o); }                                              \
        H &operator-=(H o) { return *this = H((float)*this - (float)o); }                                              \
        H &operator*=(H o) { return *this = H((float)*this * (float)o); }                                              \
        H &operator/=(H o) { return *this = H((float)*this / (float)o); }                                              \
    };                                                                                                                 \
    struct __attribute__((aligned(4))) H##2 { H x, y; };                                                               \
    static inline H operator+(H a, H b) { return H((float)a + (float)b); }                                             \
    static inline H operator-(H a, H b) { return H((float)a - (float)b); }                                             \
    static inline H operator*(H a, H b) { return H((float)a * (float)b); }                                             \
    static inline H operator/(H a, H b) { return H((float)a / (float)b); }                                             \
    static inline bool operator<(H a, H b) { return (float)a < (float)b; }                                             \
    static inline bool operator>(H a, H b) { return (float)a > (float)b; }                                             \
    static inline bool operator<=(H a, H b) { return (float)a <= (float)b; }                                           \
    static inline bool operator>=(H a, H b) { return (float)a >= (float)b; }                                           \
    static inline bool operator==(H a, H b) { return (float)a == (float)b; }                                           \
    static inline bool operator!=(H a, H b) { return (float)a != (float)b; }                                           \
    static inline H##2 operator+(H##2 a, H##2 b) { return {a.x + b.x, a.y + b.y}; }                                    \
    static inline H##2 operator-(H##2 a, H##2 b) { return {a.x - b.x, a.y - b.y}; }                                    \
    static inline H##2 operator*(H##2 a, H##2 b) { return {a.x * b.x, a.y * b.y}; }                                    \
    static inline H##2 operator/(H##2 a, H##2 b) { return {a.x / b.x, a.y / b.y}; }                                    \
    KPT_DEVICE H __hadd(H a, H b) { return a + b; }                                                                    \
    KPT_DEVICE H __hsub(H a, H b) { return a - b; }                                                                    \
    KPT_DEVICE H __hmul(H a, H b) { return a * b; }                                                                    \
    KPT_DEVICE H __hdiv(H a, H b) { return a / b; }                                                                    \
    KPT_DEVICE H __hneg(H a) { return -a; }                                                                            \
    KPT_DEVICE H __habs(H a) { return H(fabsf((float)a)); }                                                            \
    KPT_DEVICE H __hfma(H a, H b, H c) { return H(fmaf((float)a, (float)b, (float)c)); }                               \
    KPT_DEVICE H __hmax(H a, H b) { return H(fmaxf((float)a, (float)b)); }                                             \
    KPT_DEVICE H __hmin(H a, H b) { return H(fminf((float)a, (float)b)); }                                             \
    KPT_DEVICE bool __hlt(H a, H b) { return a < b; }                                                                  \
    KPT_DEVICE bool __hgt(H a, H b) { return a > b; }                                                                  \
    KPT_DEVICE bool __hle(H a, H b) { return a <= b; }                                                                 \
    KPT_DEVICE bool __hge(H a, H b) { return a >= b; }                                                                 \
    KPT_DEVICE bool __heq(H a, H b) { return a == b; }                                                                 \
    KPT_DEVICE bool __hne(H a, H b) { return a != b; }                                                                 \
    KPT_DEVICE bool __hisnan(H a) { return (float)a != (float)a; }                                                     \
    KPT_DEVICE bool __hisinf(H a) { return fabsf((float)a) == __builtin_inff(); }                                      \
    KPT_DEVICE H hexp(H a) { return H(expf((float)a)); }                                                               \
    KPT_DEVICE H hlog(H a) { return H(logf((float)a)); }                                                               \
    KPT_DEVICE H hsqrt(H a) { return H(sqrtf((float)a)); }                                                             \
    KPT_DEVICE H hrsqrt(H a) { return H(1.0f / sqrtf((float)a)); }                                                     \
    KPT_DEVICE H hrcp(H a) { return H(1.0f / (float)a); }                                                              \
    KPT_DEVICE H hsin(H a) { return H(sinf((float)a)); }                                                               \
    KPT_DEVICE H hcos(H a) { return H(cosf((float)a)); }                                                               \
    KPT_DEVICE H htanh(H a) { return H(tanhf((float)a)); }                                                             \
    KPT_DEVICE H hfloor(H a) { return H(floorf((float)a)); }                                                           \
    KPT_DEVICE H hceil(H a) { return H(ceilf((float)a)); }                                                             \
    KPT_DEVICE H##2 __hadd2(H##2 a, H##2 b) { return a + b; }                                                          \
    KPT_DEVICE H##2 __hsub2(H##2 a, H##2 b) { return a - b; }                                                          \
    KPT_DEVICE H##2 __hmul2(H##2 a, H##2 b) { return a * b; }                                                          \
    KPT_DEVICE H##2 __h2div(H##2 a, H##2 b) { return a / b; }                                                          \
    KPT_DEVICE H##2 __hneg2(H##2 a) { return {-a.x, -a.y}; }                                                           \
    KPT_DEVICE H##2 __hfma2(H##2 a, H##2 b, H##2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }         \
    KPT_DEVICE H##2 __hmax2(H##2 a, H##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                           \
    KPT_DEVICE H##2 __hmin2(H##2 a, H##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                           \
    KPT_DEVICE H##2 __heq2(H##2 a, H##2 b) { return {H(a.x == b.x ? 1.0f : 0.0f), H(a.y == b.y ? 1.0f : 0.0f)}; }      \
    KPT_DEVICE bool __hbeq2(H##2 a, H##2 b) { return a.x == b.x && a.y == b.y; }                                       \
    KPT_DEVICE H##2 __hne2(H##2 a, H##2 b) { return {H(a.x != b.x ? 1.0f : 0.0f), H(a.y != b.y ? 1.0f : 0.0f)}; }      \
    KPT_DEVICE bool __hbne2(H##2 a, H##2 b) { return a.x != b.x && a.y != b.y; }                                       \
    KPT_DEVICE H##2 __hlt2(H##2 a, H##2 b) { return {H(a.x < b.x ? 1.0f : 0.0f), H(a.y < b.y ? 1.0f : 0.0f)}; }        \
    KPT_DEVICE bool __hblt2(H##2 a, H##2 b) { return a.x < b.x && a.y < b.y; }                                         \
    KPT_DEVICE H##2 __hgt2(H##2 a, H##2 b) { return {H(a.x > b.x ? 1.0f : 0.0f), H(a.y > b.y ? 1.0f : 0.0f)}; }        \
    KPT_DEVICE bool __hbgt2(H##2 a, H##2 b) { return a.x > b.x && a.y > b.y; }                                         \
    KPT_DEVICE H##2 __hle2(H##2 a, H##2 b) { return {H(a.x <= b.x ? 1.0f : 0.0f), H(a.y <= b.y ? 1.0f : 0.0f)}; }      \
    KPT_DEVICE bool __hble2(H##2 a, H##2 b) { return a.x <= b.x && a.y <= b.y; }                                       \
    KPT_DEVICE H##2 __hge2(H##2 a, H##2 b) { return {H(a.x >= b.x ? 1.0f : 0.0f), H(a.y >= b.y ? 1.0f : 0.0f)}; }      \
    KPT_DEVICE bool __hbge2(H##2 a, H##2 b) { return a.x >= b.x && a.y >= b.y; }                                       \
    KPT_DEVICE H##2 __habs2(H##2 a) { return {__habs(a.x), __habs(a.y)}; }                                             \
    KPT_DEVICE H##2 h2exp(H##2 a) { return {hexp(a.x), hexp(a.y)}; }                                                   \
    KPT_DEVICE H##2 h2sqrt(H##2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }                                                \
    KPT_DEVICE H __low2##H(H##2 a) { return a.x; }                                                                     \
    KPT_DEVICE H __high2##H(H##2 a) { return a.y; }                                                                    \
    KPT_DEVICE float __low2float(H##2 a) { return (float)a.x; }                                                        \
    KPT_DEVICE float __high2float(H##2 a) { return (float)a.y; }

/* Conversions of the type H that CUDA calls NAME: "half" or "bfloat16". */
#define KPT_SMALL_CONVERSIONS(H, NAME)                                                                                 \
    KPT_DEVICE H __float2##NAME(float x) { return H(x); }                                                              \
    KPT_DEVICE H __float2##NAME##_rn(float x) { return H(x); }                                                         \
    KPT_DEVICE H __double2##NAME(double x) { return H(x); }                                                            \
    KPT_DEVICE float __##NAME##2float(H x) { return (float)x; }                                                        \
    KPT_DEVICE H##2 __float2##NAME##2_rn(float x) { return {H(x), H(x)}; }                                             \
    KPT_DEVICE H##2 __floats2##NAME##2_rn(float x, float y) { return {H(x), H(y)}; }                                   \
    KPT_DEVICE H##2 __float22##NAME##2_rn(float2 v) { return {H(v.x), H(v.y)}; }                                       \
    KPT_DEVICE float2 __##NAME##22float2(H##2 v) { return {(float)v.x, (float)v.y}; }                                  \
    KPT_DEVICE H##2 __##NAME##2##NAME##2(H x) { return {x, x}; }                                                       \
    KPT_DEVICE H##2 __halves2##NAME##2(H x, H y) { return {x, y}; }                                                    \
    KPT_DEVICE H##2 make_##NAME##2(H x, H y) { return {x, y}; }                                                        \
    KPT_DEVICE H __ushort_as_##NAME(unsigned short x) {                                                                \
        H h;                                                                                                           \
        h.bits = x;                                                                                                    \
        return h;                                                                                                      \
    }                                                                                                                  \
    KPT_DEVICE unsigned short __##NAME##_as_ushort(H x) { return x.bits; }
