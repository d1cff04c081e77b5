// The C and CUDA math functions on the device: sinf(float), sin(double) and so on.
#ifndef KPT_MATH_CORE_H
#define KPT_MATH_CORE_H

#define KPT_FN static __device__ inline __attribute__((always_inline))

// One- and two-argument functions that are an OCML call.
#define KPT_OCML1(NAME, OCML)                                                                                          \
    KPT_FN float NAME##f(float __x) { return __ocml_##OCML##_f32(__x); }                                               \
    KPT_FN double NAME(double __x) { return __ocml_##OCML##_f64(__x); }
#define KPT_OCML2(NAME, OCML)                                                                                          \
    KPT_FN float NAME##f(float __x, float __y) { return __ocml_##OCML##_f32(__x, __y); }                               \
    KPT_FN double NAME(double __x, double __y) { return __ocml_##OCML##_f64(__x, __y); }

KPT_OCML1(acos, acos)
KPT_OCML1(acosh, acosh)
KPT_OCML1(asin, asin)
KPT_OCML1(asinh, asinh)
KPT_OCML1(atan, atan)
KPT_OCML1(atanh, atanh)
KPT_OCML1(cbrt, cbrt)
KPT_OCML1(cos, cos)
KPT_OCML1(cosh, cosh)
KPT_OCML1(cospi, cospi)
KPT_OCML1(cyl_bessel_i0, i0)
KPT_OCML1(cyl_bessel_i1, i1)
KPT_OCML1(erf, erf)
KPT_OCML1(erfc, erfc)
KPT_OCML1(erfcinv, erfcinv)
KPT_OCML1(erfcx, erfcx)
KPT_OCML1(erfinv, erfinv)
KPT_OCML1(expm1, expm1)
KPT_OCML1(j0, j0)
KPT_OCML1(j1, j1)
KPT_OCML1(lgamma, lgamma)
KPT_OCML1(log1p, log1p)
KPT_OCML1(logb, logb)
KPT_OCML1(normcdf, ncdf)
KPT_OCML1(normcdfinv, ncdfinv)
KPT_OCML1(rcbrt, rcbrt)
KPT_OCML1(rsqrt, rsqrt)
KPT_OCML1(sin, sin)
KPT_OCML1(sinh, sinh)
KPT_OCML1(sinpi, sinpi)
KPT_OCML1(tan, tan)
KPT_OCML1(tanh, tanh)
KPT_OCML1(tgamma, tgamma)
KPT_OCML1(y0, y0)
KPT_OCML1(y1, y1)
KPT_OCML2(atan2, atan2)
KPT_OCML2(fdim, fdim)
KPT_OCML2(fmod, fmod)
KPT_OCML2(hypot, hypot)
KPT_OCML2(nextafter, nextafter)
KPT_OCML2(pow, pow)
KPT_OCML2(remainder, remainder)
KPT_OCML2(rhypot, rhypot)

// The back end expands these float builtins itself, and -ffast-math then reaches them.
KPT_FN float expf(float __x) { return __builtin_expf(__x); }
KPT_FN float exp2f(float __x) { return __builtin_exp2f(__x); }
KPT_FN float exp10f(float __x) { return __builtin_exp10f(__x); }
KPT_FN float logf(float __x) { return __builtin_logf(__x); }
KPT_FN float log2f(float __x) { return __builtin_log2f(__x); }
KPT_FN float log10f(float __x) { return __builtin_log10f(__x); }
KPT_FN double exp(double __x) { return __ocml_exp_f64(__x); }
KPT_FN double exp2(double __x) { return __ocml_exp2_f64(__x); }
KPT_FN double exp10(double __x) { return __ocml_exp10_f64(__x); }
KPT_FN double log(double __x) { return __ocml_log_f64(__x); }
KPT_FN double log2(double __x) { return __ocml_log2_f64(__x); }
KPT_FN double log10(double __x) { return __ocml_log10_f64(__x); }

// Functions that are an instruction, or a few, of the target.
#define KPT_BUILTIN1(NAME)                                                                                             \
    KPT_FN float NAME##f(float __x) { return __builtin_##NAME##f(__x); }                                               \
    KPT_FN double NAME(double __x) { return __builtin_##NAME(__x); }
#define KPT_BUILTIN2(NAME)                                                                                             \
    KPT_FN float NAME##f(float __x, float __y) { return __builtin_##NAME##f(__x, __y); }                               \
    KPT_FN double NAME(double __x, double __y) { return __builtin_##NAME(__x, __y); }

KPT_BUILTIN1(ceil)
KPT_BUILTIN1(fabs)
KPT_BUILTIN1(floor)
KPT_BUILTIN1(nearbyint)
KPT_BUILTIN1(rint)
KPT_BUILTIN1(round)
KPT_BUILTIN1(sqrt)
KPT_BUILTIN1(trunc)
KPT_BUILTIN2(copysign)
KPT_BUILTIN2(fmax)
KPT_BUILTIN2(fmin)
KPT_FN float fmaf(float __x, float __y, float __z) { return __builtin_fmaf(__x, __y, __z); }
KPT_FN double fma(double __x, double __y, double __z) { return __builtin_fma(__x, __y, __z); }

KPT_FN float fdividef(float __x, float __y) { return __x / __y; }
KPT_FN float powif(float __x, int __n) { return __ocml_pown_f32(__x, __n); }
KPT_FN double powi(double __x, int __n) { return __ocml_pown_f64(__x, __n); }
KPT_FN float ldexpf(float __x, int __e) { return __builtin_amdgcn_ldexpf(__x, __e); }
KPT_FN double ldexp(double __x, int __e) { return __builtin_amdgcn_ldexp(__x, __e); }
KPT_FN float scalbnf(float __x, int __e) { return __builtin_amdgcn_ldexpf(__x, __e); }
KPT_FN double scalbn(double __x, int __e) { return __builtin_amdgcn_ldexp(__x, __e); }
KPT_FN float scalblnf(float __x, long __e) {
    return __builtin_amdgcn_ldexpf(__x, __e > 0x7fff ? 0x7fff : __e < -0x7fff ? -0x7fff : (int)__e);
}
KPT_FN double scalbln(double __x, long __e) {
    return __builtin_amdgcn_ldexp(__x, __e > 0x7fff ? 0x7fff : __e < -0x7fff ? -0x7fff : (int)__e);
}
KPT_FN int ilogbf(float __x) { return __ocml_ilogb_f32(__x); }
KPT_FN int ilogb(double __x) { return __ocml_ilogb_f64(__x); }
KPT_FN long lrintf(float __x) { return (long)__builtin_rintf(__x); }
KPT_FN long lrint(double __x) { return (long)__builtin_rint(__x); }
KPT_FN long long llrintf(float __x) { return (long long)__builtin_rintf(__x); }
KPT_FN long long llrint(double __x) { return (long long)__builtin_rint(__x); }
KPT_FN long lroundf(float __x) { return (long)__builtin_roundf(__x); }
KPT_FN long lround(double __x) { return (long)__builtin_round(__x); }
KPT_FN long long llroundf(float __x) { return (long long)__builtin_roundf(__x); }
KPT_FN long long llround(double __x) { return (long long)__builtin_round(__x); }
KPT_FN float nanf(const char *) { return __builtin_nanf(""); }
KPT_FN double nan(const char *) { return __builtin_nan(""); }

// OCML writes its second result through a private (stack) pointer.
#define KPT_OUT(NAME, __T, OUT, OCML, __S)                                                                             \
    KPT_FN __T NAME(__T __x, OUT *out) {                                                                               \
        OUT second;                                                                                                    \
        __T first = __ocml_##OCML##_##__S(__x, (KPT_PRIVATE OUT *)&second);                                            \
        *out = second;                                                                                                 \
        return first;                                                                                                  \
    }
KPT_OUT(frexpf, float, int, frexp, f32)
KPT_OUT(frexp, double, int, frexp, f64)
KPT_OUT(modff, float, float, modf, f32)
KPT_OUT(modf, double, double, modf, f64)
#undef KPT_OUT

#define KPT_SINCOS(NAME, __T, OCML, __S)                                                                               \
    KPT_FN void NAME(__T __x, __T *sine, __T *cosine) {                                                                \
        __T second;                                                                                                    \
        *sine = __ocml_##OCML##_##__S(__x, (KPT_PRIVATE __T *)&second);                                                \
        *cosine = second;                                                                                              \
    }
KPT_SINCOS(sincosf, float, sincos, f32)
KPT_SINCOS(sincos, double, sincos, f64)
KPT_SINCOS(sincospif, float, sincospi, f32)
KPT_SINCOS(sincospi, double, sincospi, f64)
#undef KPT_SINCOS

#define KPT_REMQUO(NAME, __T, __S)                                                                                     \
    KPT_FN __T NAME(__T __x, __T __y, int *quotient) {                                                                 \
        int second;                                                                                                    \
        __T first = __ocml_remquo_##__S(__x, __y, (KPT_PRIVATE int *)&second);                                         \
        *quotient = second;                                                                                            \
        return first;                                                                                                  \
    }
KPT_REMQUO(remquof, float, f32)
KPT_REMQUO(remquo, double, f64)
#undef KPT_REMQUO

// Bessel functions of integer order by the forward recurrence B(n+1) = 2n/x B(n) - B(n-1).
#define KPT_BESSEL(NAME, __T, B0, B1)                                                                                  \
    KPT_FN __T NAME(int __n, __T __x) {                                                                                \
        if (__n == 0) return B0(__x);                                                                                  \
        if (__n == 1) return B1(__x);                                                                                  \
        __T before = B0(__x), here = B1(__x);                                                                          \
        for (int __i = 1; __i < __n; ++__i) {                                                                          \
            __T next = (__T)(2 * __i) / __x * here - before;                                                           \
            before = here;                                                                                             \
            here = next;                                                                                               \
        }                                                                                                              \
        return here;                                                                                                   \
    }
KPT_BESSEL(jnf, float, j0f, j1f)
KPT_BESSEL(jn, double, j0, j1)
KPT_BESSEL(ynf, float, y0f, y1f)
KPT_BESSEL(yn, double, y0, y1)
#undef KPT_BESSEL

#define KPT_NORMS(__T, __S, __F, SQRT)                                                                                 \
    KPT_FN __T norm3d##__F(__T __x, __T __y, __T __z) { return __ocml_len3_##__S(__x, __y, __z); }                     \
    KPT_FN __T norm4d##__F(__T __x, __T __y, __T __z, __T __w) { return __ocml_len4_##__S(__x, __y, __z, __w); }       \
    KPT_FN __T rnorm3d##__F(__T __x, __T __y, __T __z) { return __ocml_rlen3_##__S(__x, __y, __z); }                   \
    KPT_FN __T rnorm4d##__F(__T __x, __T __y, __T __z, __T __w) { return __ocml_rlen4_##__S(__x, __y, __z, __w); }     \
    KPT_FN __T norm##__F(int dim, const __T *__v) {                                                                    \
        __T sum = 0;                                                                                                   \
        for (int __i = 0; __i < dim; ++__i) sum += __v[__i] * __v[__i];                                                \
        return SQRT(sum);                                                                                              \
    }                                                                                                                  \
    KPT_FN __T rnorm##__F(int dim, const __T *__v) {                                                                   \
        __T sum = 0;                                                                                                   \
        for (int __i = 0; __i < dim; ++__i) sum += __v[__i] * __v[__i];                                                \
        return __ocml_rsqrt_##__S(sum);                                                                                \
    }
KPT_NORMS(float, f32, f, sqrtf)
KPT_NORMS(double, f64, , sqrt)
#undef KPT_NORMS

// glibc spells the classification functions this way.
KPT_FN int __finitef(float __x) { return __builtin_isfinite(__x); }
KPT_FN int __finite(double __x) { return __builtin_isfinite(__x); }
KPT_FN int __isnanf(float __x) { return __builtin_isnan(__x); }
KPT_FN int __isnan(double __x) { return __builtin_isnan(__x); }
KPT_FN int __isinff(float __x) { return __builtin_isinf(__x); }
KPT_FN int __isinf(double __x) { return __builtin_isinf(__x); }
KPT_FN int __signbitf(float __x) { return __builtin_signbitf(__x); }
KPT_FN int __signbit(double __x) { return __builtin_signbit(__x); }

KPT_FN int abs(int __x) { return __x < 0 ? -__x : __x; }
KPT_FN long labs(long __x) { return __x < 0 ? -__x : __x; }
KPT_FN long long llabs(long long __x) { return __x < 0 ? -__x : __x; }

#endif // KPT_MATH_CORE_H
