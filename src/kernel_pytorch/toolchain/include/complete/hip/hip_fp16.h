// IEEE half precision: __half, __half2 and their functions.
#ifndef HIP_INCLUDE_HIP_HIP_FP16_H
#define HIP_INCLUDE_HIP_HIP_FP16_H

#include <kpt/small_float.h>

typedef _Float16 _Float16_2 __attribute__((ext_vector_type(2)));

struct __half_raw {
    unsigned short x;
};
struct __half2_raw {
    unsigned short x;
    unsigned short y;
};

KPT_SMALL_FLOAT(__half, __half_raw, _Float16)
KPT_SMALL_FLOAT2(__half2, __half, __half2_raw, _Float16, _Float16_2)
typedef __half half;
typedef __half2 half2;

// On the host a double holds the product exactly.
KPT_HD __half kpt_fma(__half x, __half y, __half z) {
#if __HIP_DEVICE_COMPILE__
    return __half(__builtin_elementwise_fma(x.data, y.data, z.data));
#else
    return __half(__builtin_fma(double(x), double(y), double(z)));
#endif
}
KPT_HD __half2 kpt_fma(__half2 a, __half2 b, __half2 c) {
#if __HIP_DEVICE_COMPILE__
    return __half2(_Float16_2(__builtin_elementwise_fma(a.data, b.data, c.data)));
#else
    return __half2(kpt_fma(a.x, b.x, c.x), kpt_fma(a.y, b.y, c.y));
#endif
}

KPT_SMALL_ARITHMETIC(__half, __half2, _Float16)

KPT_HD __half kpt_clamp01(__half x) { return x > __half(0.0f) ? (x < __half(1.0f) ? x : __half(1.0f)) : __half(0.0f); }
KPT_HD __half __hadd_sat(__half x, __half y) { return kpt_clamp01(x + y); }
KPT_HD __half __hsub_sat(__half x, __half y) { return kpt_clamp01(x - y); }
KPT_HD __half __hmul_sat(__half x, __half y) { return kpt_clamp01(x * y); }
KPT_HD __half __hfma_sat(__half x, __half y, __half z) { return kpt_clamp01(__hfma(x, y, z)); }
KPT_HD __half __hmax_nan(__half x, __half y) { return __hisnan(x) ? x : __hisnan(y) ? y : __hmax(x, y); }
KPT_HD __half __hmin_nan(__half x, __half y) { return __hisnan(x) ? x : __hisnan(y) ? y : __hmin(x, y); }
KPT_SMALL_MAP2(__half2, __hadd2_sat, __hadd_sat)
KPT_SMALL_MAP2(__half2, __hsub2_sat, __hsub_sat)
KPT_SMALL_MAP2(__half2, __hmul2_sat, __hmul_sat)
KPT_HD __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
#define KPT_HALF_UNORDERED(OP)                                                                                         \
    KPT_HD __half2 __h##OP##2(__half2 a, __half2 b) {                                                                  \
        return __half2(__half(__h##OP(a.x, b.x) ? 1.0f : 0.0f), __half(__h##OP(a.y, b.y) ? 1.0f : 0.0f));              \
    }
KPT_HALF_UNORDERED(equ)
KPT_HALF_UNORDERED(neu)
KPT_HALF_UNORDERED(ltu)
KPT_HALF_UNORDERED(leu)
KPT_HALF_UNORDERED(gtu)
KPT_HALF_UNORDERED(geu)
#undef KPT_HALF_UNORDERED

#if defined(__HIP__) // functions of the device: a host compiler reads the rest
#define KPT_HALF_MATH(NAME)                                                                                            \
    KPT_DEV __half h##NAME(__half x) { return __half(__ocml_##NAME##_f16(x.data)); }                                   \
    KPT_DEV __half2 h2##NAME(__half2 v) { return __half2(_Float16_2(__ocml_##NAME##_2f16(v.data))); }
KPT_HALF_MATH(ceil)
KPT_HALF_MATH(cos)
KPT_HALF_MATH(exp)
KPT_HALF_MATH(exp10)
KPT_HALF_MATH(exp2)
KPT_HALF_MATH(floor)
KPT_HALF_MATH(log)
KPT_HALF_MATH(log10)
KPT_HALF_MATH(log2)
KPT_HALF_MATH(rint)
KPT_HALF_MATH(rsqrt)
KPT_HALF_MATH(sin)
KPT_HALF_MATH(sqrt)
KPT_HALF_MATH(trunc)
#undef KPT_HALF_MATH
KPT_SMALL_MATH1(__half, __half2, rcp, 1.0f / x)
KPT_SMALL_SHUFFLES(__half)
KPT_SMALL_SHUFFLES(__half2)
KPT_SMALL_LOADS(__half)
KPT_SMALL_LOADS(__half2)
KPT_SMALL_ATOMICS(__half)
KPT_SMALL_ATOMICS(__half2)
#endif

KPT_SMALL_CONVERSIONS(__half, __half2, __half_raw, half)
KPT_HD __half __float2half_rn(float x) { return __half(x); }
#if defined(__HIP__)
KPT_DEV __half __float2half_rz(float x) { return __half(__ocml_cvtrtz_f16_f32(x)); }
KPT_DEV __half __float2half_rd(float x) { return __half(__ocml_cvtrtn_f16_f32(x)); }
KPT_DEV __half __float2half_ru(float x) { return __half(__ocml_cvtrtp_f16_f32(x)); }
#endif

// Integers: the suffix is the rounding of the conversion to an integer.
#define KPT_HALF_INTEGER(NAME, __I)                                                                                    \
    KPT_HD __I __half2##NAME##_rn(__half x) { return kpt::saturated<__I>(__builtin_rintf(__half2float(x))); }          \
    KPT_HD __I __half2##NAME##_rz(__half x) { return kpt::saturated<__I>(__builtin_truncf(__half2float(x))); }         \
    KPT_HD __I __half2##NAME##_rd(__half x) { return kpt::saturated<__I>(__builtin_floorf(__half2float(x))); }         \
    KPT_HD __I __half2##NAME##_ru(__half x) { return kpt::saturated<__I>(__builtin_ceilf(__half2float(x))); }          \
    KPT_HD __half __##NAME##2half_rn(__I x) { return __half(x); }
#if defined(__HIP__)
#define KPT_HALF_ROUNDED(NAME, __I)                                                                                    \
    KPT_DEV __half __##NAME##2half_rz(__I x) { return __float2half_rz(float(x)); }                                     \
    KPT_DEV __half __##NAME##2half_rd(__I x) { return __float2half_rd(float(x)); }                                     \
    KPT_DEV __half __##NAME##2half_ru(__I x) { return __float2half_ru(float(x)); }
#else
#define KPT_HALF_ROUNDED(NAME, __I)
#endif
KPT_HALF_INTEGER(int, int)
KPT_HALF_ROUNDED(int, int)
KPT_HALF_INTEGER(uint, unsigned int)
KPT_HALF_ROUNDED(uint, unsigned int)
KPT_HALF_INTEGER(short, short)
KPT_HALF_ROUNDED(short, short)
KPT_HALF_INTEGER(ushort, unsigned short)
KPT_HALF_ROUNDED(ushort, unsigned short)
KPT_HALF_INTEGER(ll, long long)
KPT_HALF_ROUNDED(ll, long long)
KPT_HALF_INTEGER(ull, unsigned long long)
KPT_HALF_ROUNDED(ull, unsigned long long)
#undef KPT_HALF_INTEGER
#undef KPT_HALF_ROUNDED

KPT_HD __half2 make_half2(__half x, __half y) { return __half2(x, y); }
KPT_HD __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
KPT_HD __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }

#define HIPRT_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define HIPRT_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define HIPRT_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define HIPRT_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define HIPRT_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define HIPRT_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
#define HIPRT_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)

#if defined(__HIP__)
KPT_DEV float amd_mixed_dot(__half2 a, __half2 b, float c, bool saturate) {
    return __ockl_fdot2(a.data, b.data, c, saturate);
}
#endif

#endif // HIP_INCLUDE_HIP_HIP_FP16_H
