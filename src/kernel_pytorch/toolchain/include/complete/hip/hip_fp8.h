// FP8: the OCP formats (gfx950, gfx12) and the FNUZ ones (gfx942). Conversions are done in integer arithmetic, the same
// on every target. Saturation maps infinities to the largest finite value, as CUDA documents it.
#ifndef HIP_INCLUDE_HIP_HIP_FP8_H
#define HIP_INCLUDE_HIP_HIP_FP8_H

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <kpt/fp8_bits.h>

#define HIP_FP8_CVT_FAST_PATH 0

// As in ROCm, a target with FP8 hardware has the types of its own format only; the others and the host have both.
#if __HIP_DEVICE_COMPILE__ && defined(__gfx942__)
#define HIP_FP8_TYPE_OCP 0
#define HIP_FP8_TYPE_FNUZ 1
#define KPT_FP8_OCP __host__
#define KPT_FP8_FNUZ __host__ __device__
#elif __HIP_DEVICE_COMPILE__ &&                                                                                        \
    (defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__) || defined(__gfx1250__))
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 0
#define KPT_FP8_OCP __host__ __device__
#define KPT_FP8_FNUZ __host__
#else
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1
#define KPT_FP8_OCP __host__ __device__
#define KPT_FP8_FNUZ __host__ __device__
#endif

typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;

enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };

KPT_HD __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t sat, __hip_fp8_interpretation_t as) {
    const bool saturate = sat == __HIP_SATFINITE;
    if (as == __HIP_E4M3) return kpt::fp8_encode<true, false>(x, saturate);
    if (as == __HIP_E5M2) return kpt::fp8_encode<false, false>(x, saturate);
    if (as == __HIP_E4M3_FNUZ) return kpt::fp8_encode<true, true>(x, saturate);
    return kpt::fp8_encode<false, true>(x, saturate);
}
namespace kpt {
KPT_HD float fp8_to_float(__hip_fp8_storage_t x, __hip_fp8_interpretation_t as) {
    if (as == __HIP_E4M3) return fp8_decode<true, false>(x);
    if (as == __HIP_E5M2) return fp8_decode<false, false>(x);
    if (as == __HIP_E4M3_FNUZ) return fp8_decode<true, true>(x);
    return fp8_decode<false, true>(x);
}
} // namespace kpt

KPT_HD __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t s, __hip_fp8_interpretation_t as) {
    return __hip_cvt_float_to_fp8(float(x), s, as);
}
KPT_HD __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t s, __hip_fp8_interpretation_t as) {
    return __hip_cvt_float_to_fp8(float(__half(x)), s, as);
}
KPT_HD __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x, __hip_saturation_t s,
                                                        __hip_fp8_interpretation_t as) {
    return __hip_cvt_float_to_fp8(float(__hip_bfloat16(x)), s, as);
}
KPT_HD __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 v, __hip_saturation_t s, __hip_fp8_interpretation_t as) {
    return __hip_fp8x2_storage_t(__hip_cvt_float_to_fp8(v.x, s, as) | __hip_cvt_float_to_fp8(v.y, s, as) << 8);
}
KPT_HD __hip_fp8x2_storage_t __hip_cvt_double2_to_fp8x2(double2 v, __hip_saturation_t s,
                                                        __hip_fp8_interpretation_t as) {
    return __hip_cvt_float2_to_fp8x2(float2{float(v.x), float(v.y)}, s, as);
}
KPT_HD __hip_fp8x2_storage_t __hip_cvt_halfraw2_to_fp8x2(__half2_raw v, __hip_saturation_t s,
                                                         __hip_fp8_interpretation_t as) {
    return __hip_cvt_float2_to_fp8x2(__half22float2(__half2(v)), s, as);
}
KPT_HD __hip_fp8x2_storage_t __hip_cvt_bfloat16raw2_to_fp8x2(__hip_bfloat162_raw v, __hip_saturation_t s,
                                                             __hip_fp8_interpretation_t as) {
    return __hip_cvt_float2_to_fp8x2(__bfloat1622float2(__hip_bfloat162(v)), s, as);
}
KPT_HD __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t as) {
    return __half(kpt::fp8_to_float(x, as));
}
KPT_HD __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x, __hip_fp8_interpretation_t as) {
    return __half2(__half(kpt::fp8_to_float(x & 0xff, as)), __half(kpt::fp8_to_float(x >> 8, as)));
}

#define KPT_FP8_TYPE(NAME, AS, SIDES)                                                                                  \
    struct __hip_fp8_##NAME {                                                                                          \
        __hip_fp8_storage_t __x;                                                                                       \
        static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                                    \
        static constexpr __hip_fp8_interpretation_t __default_interpret = AS;                                          \
        __hip_fp8_##NAME() = default;                                                                                  \
        template <class __T, kpt::if_number<__T> = 0>                                                                  \
        SIDES explicit __hip_fp8_##NAME(__T x)                                                                         \
            : __x(__hip_cvt_float_to_fp8(static_cast<float>(x), __HIP_SATFINITE, AS)) {}                               \
        SIDES explicit __hip_fp8_##NAME(__half x) : __x(__hip_cvt_float_to_fp8(float(x), __HIP_SATFINITE, AS)) {}      \
        SIDES explicit __hip_fp8_##NAME(__hip_bfloat16 x)                                                              \
            : __x(__hip_cvt_float_to_fp8(float(x), __HIP_SATFINITE, AS)) {}                                            \
        SIDES operator float() const { return kpt::fp8_to_float(__x, AS); }                                            \
        SIDES explicit operator double() const { return kpt::fp8_to_float(__x, AS); }                                  \
        SIDES explicit operator bool() const { return kpt::fp8_to_float(__x, AS) != 0.0f; }                            \
        SIDES explicit operator __half() const { return __half(kpt::fp8_to_float(__x, AS)); }                          \
        SIDES explicit operator __hip_bfloat16() const { return __hip_bfloat16(kpt::fp8_to_float(__x, AS)); }          \
        template <class __I, typename std::enable_if<std::is_integral<__I>::value && !std::is_same<__I, bool>::value,  \
                                                     int>::type = 0>                                                   \
        SIDES explicit operator __I() const {                                                                          \
            return kpt::saturated<__I>(kpt::fp8_to_float(__x, AS));                                                    \
        }                                                                                                              \
    };                                                                                                                 \
    struct __hip_fp8x2_##NAME {                                                                                        \
        __hip_fp8x2_storage_t __x;                                                                                     \
        __hip_fp8x2_##NAME() = default;                                                                                \
        SIDES explicit __hip_fp8x2_##NAME(float2 v) : __x(__hip_cvt_float2_to_fp8x2(v, __HIP_SATFINITE, AS)) {}        \
        SIDES explicit __hip_fp8x2_##NAME(double2 v) : __x(__hip_cvt_double2_to_fp8x2(v, __HIP_SATFINITE, AS)) {}      \
        SIDES explicit __hip_fp8x2_##NAME(__half2 v) : __x(__hip_cvt_halfraw2_to_fp8x2(v, __HIP_SATFINITE, AS)) {}     \
        SIDES explicit __hip_fp8x2_##NAME(__hip_bfloat162 v)                                                           \
            : __x(__hip_cvt_bfloat16raw2_to_fp8x2(v, __HIP_SATFINITE, AS)) {}                                          \
        SIDES operator float2() const {                                                                                \
            return float2{kpt::fp8_to_float(__x & 0xff, AS), kpt::fp8_to_float(__x >> 8, AS)};                         \
        }                                                                                                              \
        SIDES explicit operator __half2() const { return __half2(__hip_cvt_fp8x2_to_halfraw2(__x, AS)); }              \
    };                                                                                                                 \
    struct __hip_fp8x4_##NAME {                                                                                        \
        __hip_fp8x4_storage_t __x;                                                                                     \
        __hip_fp8x4_##NAME() = default;                                                                                \
        SIDES explicit __hip_fp8x4_##NAME(float4 v)                                                                    \
            : __x(__hip_cvt_float2_to_fp8x2(float2{v.x, v.y}, __HIP_SATFINITE, AS) |                                   \
                  unsigned(__hip_cvt_float2_to_fp8x2(float2{v.z, v.w}, __HIP_SATFINITE, AS)) << 16) {}                 \
        SIDES explicit __hip_fp8x4_##NAME(double4 v)                                                                   \
            : __hip_fp8x4_##NAME(float4{float(v.x), float(v.y), float(v.z), float(v.w)}) {}                            \
        SIDES explicit __hip_fp8x4_##NAME(__half2 low, __half2 high)                                                   \
            : __x(__hip_cvt_halfraw2_to_fp8x2(low, __HIP_SATFINITE, AS) |                                              \
                  unsigned(__hip_cvt_halfraw2_to_fp8x2(high, __HIP_SATFINITE, AS)) << 16) {}                           \
        SIDES explicit __hip_fp8x4_##NAME(__hip_bfloat162 low, __hip_bfloat162 high)                                   \
            : __x(__hip_cvt_bfloat16raw2_to_fp8x2(low, __HIP_SATFINITE, AS) |                                          \
                  unsigned(__hip_cvt_bfloat16raw2_to_fp8x2(high, __HIP_SATFINITE, AS)) << 16) {}                       \
        SIDES operator float4() const {                                                                                \
            return float4{kpt::fp8_to_float(__x & 0xff, AS), kpt::fp8_to_float((__x >> 8) & 0xff, AS),                 \
                          kpt::fp8_to_float((__x >> 16) & 0xff, AS), kpt::fp8_to_float(__x >> 24, AS)};                \
        }                                                                                                              \
    };

KPT_FP8_TYPE(e4m3, __HIP_E4M3, KPT_FP8_OCP)
KPT_FP8_TYPE(e5m2, __HIP_E5M2, KPT_FP8_OCP)
KPT_FP8_TYPE(e4m3_fnuz, __HIP_E4M3_FNUZ, KPT_FP8_FNUZ)
KPT_FP8_TYPE(e5m2_fnuz, __HIP_E5M2_FNUZ, KPT_FP8_FNUZ)
#undef KPT_FP8_TYPE

#endif // HIP_INCLUDE_HIP_HIP_FP8_H
