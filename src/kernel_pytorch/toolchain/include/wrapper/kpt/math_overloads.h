// C++ overloads of the device math: sin(float), sin(int), pow(float, int), isnan, signbit and so on.
#ifndef KPT_MATH_OVERLOADS_H
#define KPT_MATH_OVERLOADS_H

#define KPT_OVERLOAD1(NAME)                                                                                 \
  KPT_FN float NAME(float x) { return NAME##f(x); }                                                         \
  template <class T> KPT_FN kpt::if_integral<T> NAME(T x) { return NAME((double)x); }
#define KPT_OVERLOAD2(NAME)                                                                                 \
  KPT_FN float NAME(float x, float y) { return NAME##f(x, y); }                                             \
  template <class A, class B> KPT_FN kpt::if_mixed<A, B> NAME(A x, B y) {                                   \
    typedef kpt::if_mixed<A, B> T;                                                                          \
    return NAME((T)x, (T)y);                                                                                \
  }

KPT_OVERLOAD1(acos)
KPT_OVERLOAD1(acosh)
KPT_OVERLOAD1(asin)
KPT_OVERLOAD1(asinh)
KPT_OVERLOAD1(atan)
KPT_OVERLOAD1(atanh)
KPT_OVERLOAD1(cbrt)
KPT_OVERLOAD1(ceil)
KPT_OVERLOAD1(cos)
KPT_OVERLOAD1(cosh)
KPT_OVERLOAD1(erf)
KPT_OVERLOAD1(erfc)
KPT_OVERLOAD1(exp)
KPT_OVERLOAD1(exp2)
KPT_OVERLOAD1(exp10)
KPT_OVERLOAD1(expm1)
KPT_OVERLOAD1(fabs)
KPT_OVERLOAD1(floor)
KPT_OVERLOAD1(lgamma)
KPT_OVERLOAD1(log)
KPT_OVERLOAD1(log10)
KPT_OVERLOAD1(log1p)
KPT_OVERLOAD1(log2)
KPT_OVERLOAD1(logb)
KPT_OVERLOAD1(nearbyint)
KPT_OVERLOAD1(rint)
KPT_OVERLOAD1(round)
KPT_OVERLOAD1(rsqrt)
KPT_OVERLOAD1(sin)
KPT_OVERLOAD1(sinh)
KPT_OVERLOAD1(sqrt)
KPT_OVERLOAD1(tan)
KPT_OVERLOAD1(tanh)
KPT_OVERLOAD1(tgamma)
KPT_OVERLOAD1(trunc)
KPT_OVERLOAD2(atan2)
KPT_OVERLOAD2(copysign)
KPT_OVERLOAD2(fdim)
KPT_OVERLOAD2(fmax)
KPT_OVERLOAD2(fmin)
KPT_OVERLOAD2(fmod)
KPT_OVERLOAD2(hypot)
KPT_OVERLOAD2(nextafter)
KPT_OVERLOAD2(remainder)

// CUDA's functions of no C++ standard: float overloads only.
KPT_FN float cospi(float x) { return cospif(x); }
KPT_FN float erfcinv(float x) { return erfcinvf(x); }
KPT_FN float erfcx(float x) { return erfcxf(x); }
KPT_FN float erfinv(float x) { return erfinvf(x); }
KPT_FN float normcdf(float x) { return normcdff(x); }
KPT_FN float normcdfinv(float x) { return normcdfinvf(x); }
KPT_FN float rcbrt(float x) { return rcbrtf(x); }
KPT_FN float rhypot(float x, float y) { return rhypotf(x, y); }
KPT_FN float sinpi(float x) { return sinpif(x); }
KPT_FN void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
KPT_FN void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }

// An integer exponent takes the cheaper power function; other mixtures follow C++'s promotion.
KPT_FN float pow(float x, float y) { return powf(x, y); }
KPT_FN float pow(float x, int n) { return powif(x, n); }
KPT_FN double pow(double x, int n) { return powi(x, n); }
template <class A, class B> KPT_FN kpt::if_mixed<A, B> pow(A x, B y) {
  typedef kpt::if_mixed<A, B> T;
  return pow((T)x, (T)y);
}

KPT_FN float fma(float x, float y, float z) { return fmaf(x, y, z); }
template <class A, class B, class C> KPT_FN kpt::if_mixed3<A, B, C> fma(A x, B y, C z) {
  typedef kpt::if_mixed3<A, B, C> T;
  return fma((T)x, (T)y, (T)z);
}

KPT_FN long abs(long x) { return labs(x); }
KPT_FN long long abs(long long x) { return llabs(x); }
KPT_FN float abs(float x) { return fabsf(x); }
KPT_FN double abs(double x) { return fabs(x); }

KPT_FN float frexp(float x, int* exponent) { return frexpf(x, exponent); }
KPT_FN float modf(float x, float* whole) { return modff(x, whole); }
KPT_FN float ldexp(float x, int e) { return ldexpf(x, e); }
KPT_FN float scalbn(float x, int e) { return scalbnf(x, e); }
KPT_FN float scalbln(float x, long e) { return scalblnf(x, e); }
KPT_FN float remquo(float x, float y, int* q) { return remquof(x, y, q); }
KPT_FN int ilogb(float x) { return ilogbf(x); }
KPT_FN long lrint(float x) { return lrintf(x); }
KPT_FN long lround(float x) { return lroundf(x); }
KPT_FN long long llrint(float x) { return llrintf(x); }
KPT_FN long long llround(float x) { return llroundf(x); }
template <class T> KPT_FN kpt::if_integral<T> ldexp(T x, int e) { return ldexp((double)x, e); }

#define KPT_CLASSIFY(NAME)                                                                                  \
  KPT_FN bool NAME(float x) { return __builtin_##NAME(x); }                                                 \
  KPT_FN bool NAME(double x) { return __builtin_##NAME(x); }                                                \
  template <class T> KPT_FN typename kpt::enable_if<kpt::is_integral<T>::value, bool>::type NAME(T x) {     \
    return __builtin_##NAME((double)x);                                                                     \
  }
KPT_CLASSIFY(isfinite)
KPT_CLASSIFY(isinf)
KPT_CLASSIFY(isnan)
KPT_CLASSIFY(isnormal)
KPT_CLASSIFY(signbit)
#undef KPT_CLASSIFY

#define KPT_COMPARE(NAME)                                                                                   \
  KPT_FN bool NAME(float x, float y) { return __builtin_##NAME(x, y); }                                     \
  KPT_FN bool NAME(double x, double y) { return __builtin_##NAME(x, y); }
KPT_COMPARE(isgreater)
KPT_COMPARE(isgreaterequal)
KPT_COMPARE(isless)
KPT_COMPARE(islessequal)
KPT_COMPARE(islessgreater)
KPT_COMPARE(isunordered)
#undef KPT_COMPARE

#endif  // KPT_MATH_OVERLOADS_H
