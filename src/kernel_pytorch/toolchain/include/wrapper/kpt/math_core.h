// The C and CUDA math functions on the device: sinf(float), sin(double) and so on.
#ifndef KPT_MATH_CORE_H
#define KPT_MATH_CORE_H

#define KPT_FN static __device__ inline __attribute__((always_inline))

// One- and two-argument functions that are an OCML call.
#define KPT_OCML1(NAME, OCML)                                                                               \
  KPT_FN float NAME##f(float x) { return __ocml_##OCML##_f32(x); }                                          \
  KPT_FN double NAME(double x) { return __ocml_##OCML##_f64(x); }
#define KPT_OCML2(NAME, OCML)                                                                               \
  KPT_FN float NAME##f(float x, float y) { return __ocml_##OCML##_f32(x, y); }                              \
  KPT_FN double NAME(double x, double y) { return __ocml_##OCML##_f64(x, y); }

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
KPT_FN float expf(float x) { return __builtin_expf(x); }
KPT_FN float exp2f(float x) { return __builtin_exp2f(x); }
KPT_FN float exp10f(float x) { return __builtin_exp10f(x); }
KPT_FN float logf(float x) { return __builtin_logf(x); }
KPT_FN float log2f(float x) { return __builtin_log2f(x); }
KPT_FN float log10f(float x) { return __builtin_log10f(x); }
KPT_FN double exp(double x) { return __ocml_exp_f64(x); }
KPT_FN double exp2(double x) { return __ocml_exp2_f64(x); }
KPT_FN double exp10(double x) { return __ocml_exp10_f64(x); }
KPT_FN double log(double x) { return __ocml_log_f64(x); }
KPT_FN double log2(double x) { return __ocml_log2_f64(x); }
KPT_FN double log10(double x) { return __ocml_log10_f64(x); }

// Functions that are an instruction, or a few, of the target.
#define KPT_BUILTIN1(NAME)                                                                                  \
  KPT_FN float NAME##f(float x) { return __builtin_##NAME##f(x); }                                          \
  KPT_FN double NAME(double x) { return __builtin_##NAME(x); }
#define KPT_BUILTIN2(NAME)                                                                                  \
  KPT_FN float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); }                              \
  KPT_FN double NAME(double x, double y) { return __builtin_##NAME(x, y); }

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
KPT_FN float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KPT_FN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

KPT_FN float fdividef(float x, float y) { return x / y; }
KPT_FN float powif(float x, int n) { return __ocml_pown_f32(x, n); }
KPT_FN double powi(double x, int n) { return __ocml_pown_f64(x, n); }
KPT_FN float ldexpf(float x, int e) { return __builtin_amdgcn_ldexpf(x, e); }
KPT_FN double ldexp(double x, int e) { return __builtin_amdgcn_ldexp(x, e); }
KPT_FN float scalbnf(float x, int e) { return __builtin_amdgcn_ldexpf(x, e); }
KPT_FN double scalbn(double x, int e) { return __builtin_amdgcn_ldexp(x, e); }
KPT_FN float scalblnf(float x, long e) {
  return __builtin_amdgcn_ldexpf(x, e > 0x7fff ? 0x7fff : e < -0x7fff ? -0x7fff : (int)e);
}
KPT_FN double scalbln(double x, long e) {
  return __builtin_amdgcn_ldexp(x, e > 0x7fff ? 0x7fff : e < -0x7fff ? -0x7fff : (int)e);
}
KPT_FN int ilogbf(float x) { return __ocml_ilogb_f32(x); }
KPT_FN int ilogb(double x) { return __ocml_ilogb_f64(x); }
KPT_FN long lrintf(float x) { return (long)__builtin_rintf(x); }
KPT_FN long lrint(double x) { return (long)__builtin_rint(x); }
KPT_FN long long llrintf(float x) { return (long long)__builtin_rintf(x); }
KPT_FN long long llrint(double x) { return (long long)__builtin_rint(x); }
KPT_FN long lroundf(float x) { return (long)__builtin_roundf(x); }
KPT_FN long lround(double x) { return (long)__builtin_round(x); }
KPT_FN long long llroundf(float x) { return (long long)__builtin_roundf(x); }
KPT_FN long long llround(double x) { return (long long)__builtin_round(x); }
KPT_FN float nanf(const char*) { return __builtin_nanf(""); }
KPT_FN double nan(const char*) { return __builtin_nan(""); }

// OCML writes its second result through a private (stack) pointer.
#define KPT_OUT(NAME, T, OUT, OCML, S)                                                                      \
  KPT_FN T NAME(T x, OUT* out) {                                                                            \
    OUT second;                                                                                             \
    T first = __ocml_##OCML##_##S(x, (KPT_PRIVATE OUT*)&second);                                            \
    *out = second;                                                                                          \
    return first;                                                                                           \
  }
KPT_OUT(frexpf, float, int, frexp, f32)
KPT_OUT(frexp, double, int, frexp, f64)
KPT_OUT(modff, float, float, modf, f32)
KPT_OUT(modf, double, double, modf, f64)
#undef KPT_OUT

#define KPT_SINCOS(NAME, T, OCML, S)                                                                        \
  KPT_FN void NAME(T x, T* sine, T* cosine) {                                                               \
    T second;                                                                                               \
    *sine = __ocml_##OCML##_##S(x, (KPT_PRIVATE T*)&second);                                                \
    *cosine = second;                                                                                       \
  }
KPT_SINCOS(sincosf, float, sincos, f32)
KPT_SINCOS(sincos, double, sincos, f64)
KPT_SINCOS(sincospif, float, sincospi, f32)
KPT_SINCOS(sincospi, double, sincospi, f64)
#undef KPT_SINCOS

KPT_FN float remquof(float x, float y, int* quotient) {
  int second;
  float first = __ocml_remquo_f32(x, y, (KPT_PRIVATE int*)&second);
  *quotient = second;
  return first;
}
KPT_FN double remquo(double x, double y, int* quotient) {
  int second;
  double first = __ocml_remquo_f64(x, y, (KPT_PRIVATE int*)&second);
  *quotient = second;
  return first;
}

// Bessel functions of integer order by the forward recurrence B(n+1) = 2n/x B(n) - B(n-1).
#define KPT_BESSEL(NAME, T, B0, B1)                                                                         \
  KPT_FN T NAME(int n, T x) {                                                                               \
    if (n == 0) return B0(x);                                                                               \
    if (n == 1) return B1(x);                                                                               \
    T before = B0(x), here = B1(x);                                                                         \
    for (int i = 1; i < n; ++i) {                                                                           \
      T next = (T)(2 * i) / x * here - before;                                                              \
      before = here;                                                                                        \
      here = next;                                                                                          \
    }                                                                                                       \
    return here;                                                                                            \
  }
KPT_BESSEL(jnf, float, j0f, j1f)
KPT_BESSEL(jn, double, j0, j1)
KPT_BESSEL(ynf, float, y0f, y1f)
KPT_BESSEL(yn, double, y0, y1)
#undef KPT_BESSEL

#define KPT_NORMS(T, S, F, SQRT)                                                                            \
  KPT_FN T norm3d##F(T x, T y, T z) { return __ocml_len3_##S(x, y, z); }                                    \
  KPT_FN T norm4d##F(T x, T y, T z, T w) { return __ocml_len4_##S(x, y, z, w); }                            \
  KPT_FN T rnorm3d##F(T x, T y, T z) { return __ocml_rlen3_##S(x, y, z); }                                  \
  KPT_FN T rnorm4d##F(T x, T y, T z, T w) { return __ocml_rlen4_##S(x, y, z, w); }                          \
  KPT_FN T norm##F(int dim, const T* v) {                                                                   \
    T sum = 0;                                                                                              \
    for (int i = 0; i < dim; ++i) sum += v[i] * v[i];                                                       \
    return SQRT(sum);                                                                                       \
  }                                                                                                         \
  KPT_FN T rnorm##F(int dim, const T* v) {                                                                  \
    T sum = 0;                                                                                              \
    for (int i = 0; i < dim; ++i) sum += v[i] * v[i];                                                       \
    return __ocml_rsqrt_##S(sum);                                                                           \
  }
KPT_NORMS(float, f32, f, sqrtf)
KPT_NORMS(double, f64, , sqrt)
#undef KPT_NORMS

// glibc spells the classification functions this way.
KPT_FN int __finitef(float x) { return __builtin_isfinite(x); }
KPT_FN int __finite(double x) { return __builtin_isfinite(x); }
KPT_FN int __isnanf(float x) { return __builtin_isnan(x); }
KPT_FN int __isnan(double x) { return __builtin_isnan(x); }
KPT_FN int __isinff(float x) { return __builtin_isinf(x); }
KPT_FN int __isinf(double x) { return __builtin_isinf(x); }
KPT_FN int __signbitf(float x) { return __builtin_signbitf(x); }
KPT_FN int __signbit(double x) { return __builtin_signbit(x); }

KPT_FN int abs(int x) { return x < 0 ? -x : x; }
KPT_FN long labs(long x) { return x < 0 ? -x : x; }
KPT_FN long long llabs(long long x) { return x < 0 ? -x : x; }

#endif  // KPT_MATH_CORE_H
