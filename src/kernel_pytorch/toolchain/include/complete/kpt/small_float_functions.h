// Arithmetic and comparison functions of the small floating types, scalar and packed. Only names that ROCm 7.2 has:
// what CUDA has beyond them must fail here as it does there.
#ifndef KPT_SMALL_FLOAT_FUNCTIONS_H
#define KPT_SMALL_FLOAT_FUNCTIONS_H

#define KPT_SMALL_ARITHMETIC(__H, H2, __N)                                                                             \
    KPT_HD __H __hadd(__H x, __H y) { return x + y; }                                                                  \
    KPT_HD __H __hsub(__H x, __H y) { return x - y; }                                                                  \
    KPT_HD __H __hmul(__H x, __H y) { return x * y; }                                                                  \
    KPT_HD __H __hdiv(__H x, __H y) { return x / y; }                                                                  \
    KPT_HD __H __hadd_rn(__H x, __H y) { return x + y; }                                                               \
    KPT_HD __H __hsub_rn(__H x, __H y) { return x - y; }                                                               \
    KPT_HD __H __hmul_rn(__H x, __H y) { return x * y; }                                                               \
    KPT_HD __H __hneg(__H x) { return -x; }                                                                            \
    KPT_HD __H __habs(__H x) {                                                                                         \
        x.__x &= 0x7fff;                                                                                               \
        return x;                                                                                                      \
    }                                                                                                                  \
    KPT_HD __H __hfma(__H x, __H y, __H z) { return kpt_fma(x, y, z); }                                                \
    KPT_HD bool __hisnan(__H x) { return float(x) != float(x); }                                                       \
    KPT_HD int __hisinf(__H x) { return __habs(x).__x == __H(__builtin_inff()).__x ? (x.__x >> 15 ? -1 : 1) : 0; }     \
    KPT_HD bool __heq(__H x, __H y) { return x == y; }                                                                 \
    KPT_HD bool __hne(__H x, __H y) { return x != y && !__hisnan(x) && !__hisnan(y); }                                 \
    KPT_HD bool __hlt(__H x, __H y) { return x < y; }                                                                  \
    KPT_HD bool __hle(__H x, __H y) { return x <= y; }                                                                 \
    KPT_HD bool __hgt(__H x, __H y) { return x > y; }                                                                  \
    KPT_HD bool __hge(__H x, __H y) { return x >= y; }                                                                 \
    KPT_HD bool __hequ(__H x, __H y) { return !(x < y) && !(x > y); }                                                  \
    KPT_HD bool __hneu(__H x, __H y) { return x != y; }                                                                \
    KPT_HD bool __hltu(__H x, __H y) { return !(x >= y); }                                                             \
    KPT_HD bool __hleu(__H x, __H y) { return !(x > y); }                                                              \
    KPT_HD bool __hgtu(__H x, __H y) { return !(x <= y); }                                                             \
    KPT_HD bool __hgeu(__H x, __H y) { return !(x < y); }                                                              \
    KPT_HD __H __hmax(__H x, __H y) { return __H(__builtin_fmaxf(float(x), float(y))); }                               \
    KPT_HD __H __hmin(__H x, __H y) { return __H(__builtin_fminf(float(x), float(y))); }                               \
    KPT_DEV __H fma(__H x, __H y, __H z) { return __hfma(x, y, z); }                                                   \
    KPT_SMALL_PACKED(__H, H2, __N)

#define KPT_SMALL_PACKED(__H, H2, __N)                                                                                 \
    KPT_HD H2 __hadd2(H2 a, H2 b) { return a + b; }                                                                    \
    KPT_HD H2 __hsub2(H2 a, H2 b) { return a - b; }                                                                    \
    KPT_HD H2 __hmul2(H2 a, H2 b) { return a * b; }                                                                    \
    KPT_HD H2 __h2div(H2 a, H2 b) { return a / b; }                                                                    \
    KPT_HD H2 __hadd2_rn(H2 a, H2 b) { return a + b; }                                                                 \
    KPT_HD H2 __hsub2_rn(H2 a, H2 b) { return a - b; }                                                                 \
    KPT_HD H2 __hmul2_rn(H2 a, H2 b) { return a * b; }                                                                 \
    KPT_HD H2 __hneg2(H2 a) { return -a; }                                                                             \
    KPT_HD H2 __habs2(H2 a) { return H2(__habs(a.x), __habs(a.y)); }                                                   \
    KPT_HD H2 __hfma2(H2 a, H2 b, H2 c) { return kpt_fma(a, b, c); }                                                   \
    KPT_HD H2 __hisnan2(H2 a) { return H2(__H(__hisnan(a.x) ? 1.0f : 0.0f), __H(__hisnan(a.y) ? 1.0f : 0.0f)); }       \
    KPT_SMALL_COMPARE2(__H, H2, eq)                                                                                    \
    KPT_SMALL_COMPARE2(__H, H2, ne)                                                                                    \
    KPT_SMALL_COMPARE2(__H, H2, lt)                                                                                    \
    KPT_SMALL_COMPARE2(__H, H2, le)                                                                                    \
    KPT_SMALL_COMPARE2(__H, H2, gt)                                                                                    \
    KPT_SMALL_COMPARE2(__H, H2, ge)                                                                                    \
    KPT_SMALL_COMPARE2_BOTH(H2, equ)                                                                                   \
    KPT_SMALL_COMPARE2_BOTH(H2, neu)                                                                                   \
    KPT_SMALL_COMPARE2_BOTH(H2, ltu)                                                                                   \
    KPT_SMALL_COMPARE2_BOTH(H2, leu)                                                                                   \
    KPT_SMALL_COMPARE2_BOTH(H2, gtu)                                                                                   \
    KPT_SMALL_COMPARE2_BOTH(H2, geu)

#define KPT_SMALL_MAP2(H2, NAME, ONE)                                                                                  \
    KPT_HD H2 NAME(H2 a, H2 b) { return H2(ONE(a.x, b.x), ONE(a.y, b.y)); }

// Packed comparisons: 1.0 or 0.0 in each half, or true if both hold.
#define KPT_SMALL_COMPARE2(__H, H2, OP)                                                                                \
    KPT_HD H2 __h##OP##2(H2 a, H2 b) {                                                                                 \
        return H2(__H(__h##OP(a.x, b.x) ? 1.0f : 0.0f), __H(__h##OP(a.y, b.y) ? 1.0f : 0.0f));                         \
    }                                                                                                                  \
    KPT_SMALL_COMPARE2_BOTH(H2, OP)
#define KPT_SMALL_COMPARE2_BOTH(H2, OP)                                                                                \
    KPT_HD bool __hb##OP##2(H2 a, H2 b) { return __h##OP(a.x, b.x) && __h##OP(a.y, b.y); }

// Math functions on the device, through float: one rounding at the end. __half has its own where the target does.
#define KPT_SMALL_MATH1(__H, H2, NAME, EXPRESSION)                                                                     \
    KPT_DEV __H h##NAME(__H value) {                                                                                   \
        float x = float(value);                                                                                        \
        return __H(EXPRESSION);                                                                                        \
    }                                                                                                                  \
    KPT_DEV H2 h2##NAME(H2 a) { return H2(h##NAME(a.x), h##NAME(a.y)); }

#define KPT_SMALL_MATH(__H, H2)                                                                                        \
    KPT_SMALL_MATH1(__H, H2, ceil, __builtin_ceilf(x))                                                                 \
    KPT_SMALL_MATH1(__H, H2, floor, __builtin_floorf(x))                                                               \
    KPT_SMALL_MATH1(__H, H2, rint, __builtin_rintf(x))                                                                 \
    KPT_SMALL_MATH1(__H, H2, trunc, __builtin_truncf(x))                                                               \
    KPT_SMALL_MATH1(__H, H2, sqrt, __builtin_sqrtf(x))                                                                 \
    KPT_SMALL_MATH1(__H, H2, rsqrt, ::rsqrtf(x))                                                                       \
    KPT_SMALL_MATH1(__H, H2, exp, ::expf(x))                                                                           \
    KPT_SMALL_MATH1(__H, H2, exp2, ::exp2f(x))                                                                         \
    KPT_SMALL_MATH1(__H, H2, exp10, ::exp10f(x))                                                                       \
    KPT_SMALL_MATH1(__H, H2, log, ::logf(x))                                                                           \
    KPT_SMALL_MATH1(__H, H2, log2, ::log2f(x))                                                                         \
    KPT_SMALL_MATH1(__H, H2, log10, ::log10f(x))                                                                       \
    KPT_SMALL_MATH1(__H, H2, sin, ::sinf(x))                                                                           \
    KPT_SMALL_MATH1(__H, H2, cos, ::cosf(x))                                                                           \
    KPT_SMALL_MATH1(__H, H2, rcp, 1.0f / x)

// Conversions of the type that the API calls NAME ("half", "bfloat16") and of the packed one.
#define KPT_SMALL_CONVERSIONS(__H, H2, __R, NAME)                                                                      \
    KPT_HD __H __ushort_as_##NAME(unsigned short x) { return __H(__R{x}); }                                            \
    KPT_HD __H __short_as_##NAME(short x) { return __H(__R{(unsigned short)x}); }                                      \
    KPT_HD unsigned short __##NAME##_as_ushort(__H x) { return x.__x; }                                                \
    KPT_HD short __##NAME##_as_short(__H x) { return short(x.__x); }                                                   \
    KPT_HD __H __float2##NAME(float x) { return __H(x); }                                                              \
    KPT_HD float __##NAME##2float(__H x) { return float(x); }                                                          \
    KPT_HD H2 __halves2##NAME##2(__H x, __H y) { return H2(x, y); }                                                    \
    KPT_HD H2 __##NAME##2##NAME##2(__H x) { return H2(x, x); }                                                         \
    KPT_HD H2 __float22##NAME##2_rn(float2 v) { return H2(__H(v.x), __H(v.y)); }                                       \
    KPT_HD float2 __##NAME##22float2(H2 v) { return float2{float(v.x), float(v.y)}; }                                  \
    KPT_HD float __low2float(H2 v) { return float(v.x); }                                                              \
    KPT_HD float __high2float(H2 v) { return float(v.y); }                                                             \
    KPT_HD __H __low2##NAME(H2 v) { return v.x; }                                                                      \
    KPT_HD __H __high2##NAME(H2 v) { return v.y; }                                                                     \
    KPT_HD H2 __low2##NAME##2(H2 v) { return H2(v.x, v.x); }                                                           \
    KPT_HD H2 __high2##NAME##2(H2 v) { return H2(v.y, v.y); }                                                          \
    KPT_HD H2 __lows2##NAME##2(H2 a, H2 b) { return H2(a.x, b.x); }                                                    \
    KPT_HD H2 __highs2##NAME##2(H2 a, H2 b) { return H2(a.y, b.y); }                                                   \
    KPT_HD H2 __lowhigh2highlow(H2 v) { return H2(v.y, v.x); }

#endif // KPT_SMALL_FLOAT_FUNCTIONS_H
