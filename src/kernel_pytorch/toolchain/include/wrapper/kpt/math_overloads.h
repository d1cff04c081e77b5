// C++ overloads of the device math: sin(float), sin(int), pow(float, int), isnan, signbit and so on.
#ifndef KPT_MATH_OVERLOADS_H
#define KPT_MATH_OVERLOADS_H

#define KPT_OVERLOAD1(NAME)                                                                                            \
    KPT_FN float NAME(float __x) { return NAME##f(__x); }                                                              \
    template <class __T> KPT_FN kpt::if_integral<__T> NAME(__T __x) { return NAME((double)__x); }
#define KPT_OVERLOAD2(NAME)                                                                                            \
    KPT_FN float NAME(float __x, float __y) { return NAME##f(__x, __y); }                                              \
    template <class __A, class __B> KPT_FN kpt::if_mixed<__A, __B> NAME(__A __x, __B __y) {                            \
        typedef kpt::if_mixed<__A, __B> __T;                                                                           \
        return NAME((__T)__x, (__T)__y);                                                                               \
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
KPT_FN float cospi(float __x) { return cospif(__x); }
KPT_FN float erfcinv(float __x) { return erfcinvf(__x); }
KPT_FN float erfcx(float __x) { return erfcxf(__x); }
KPT_FN float erfinv(float __x) { return erfinvf(__x); }
KPT_FN float normcdf(float __x) { return normcdff(__x); }
KPT_FN float normcdfinv(float __x) { return normcdfinvf(__x); }
KPT_FN float rcbrt(float __x) { return rcbrtf(__x); }
KPT_FN float rhypot(float __x, float __y) { return rhypotf(__x, __y); }
KPT_FN float sinpi(float __x) { return sinpif(__x); }
KPT_FN void sincos(float __x, float *__s, float *__c) { sincosf(__x, __s, __c); }
KPT_FN void sincospi(float __x, float *__s, float *__c) { sincospif(__x, __s, __c); }

// An integer exponent takes the cheaper power function; other mixtures follow C++'s promotion.
KPT_FN float pow(float __x, float __y) { return powf(__x, __y); }
KPT_FN float pow(float __x, int __n) { return powif(__x, __n); }
KPT_FN double pow(double __x, int __n) { return powi(__x, __n); }
template <class __A, class __B> KPT_FN kpt::if_mixed<__A, __B> pow(__A __x, __B __y) {
    typedef kpt::if_mixed<__A, __B> __T;
    return pow((__T)__x, (__T)__y);
}

KPT_FN float fma(float __x, float __y, float __z) { return fmaf(__x, __y, __z); }
template <class __A, class __B, class __C> KPT_FN kpt::if_mixed3<__A, __B, __C> fma(__A __x, __B __y, __C __z) {
    typedef kpt::if_mixed3<__A, __B, __C> __T;
    return fma((__T)__x, (__T)__y, (__T)__z);
}

KPT_FN long abs(long __x) { return labs(__x); }
KPT_FN long long abs(long long __x) { return llabs(__x); }
KPT_FN float abs(float __x) { return fabsf(__x); }
KPT_FN double abs(double __x) { return fabs(__x); }

KPT_FN float frexp(float __x, int *exponent) { return frexpf(__x, exponent); }
KPT_FN float modf(float __x, float *whole) { return modff(__x, whole); }
KPT_FN float ldexp(float __x, int __e) { return ldexpf(__x, __e); }
KPT_FN float scalbn(float __x, int __e) { return scalbnf(__x, __e); }
KPT_FN float scalbln(float __x, long __e) { return scalblnf(__x, __e); }
KPT_FN float remquo(float __x, float __y, int *__q) { return remquof(__x, __y, __q); }
KPT_FN int ilogb(float __x) { return ilogbf(__x); }
KPT_FN long lrint(float __x) { return lrintf(__x); }
KPT_FN long lround(float __x) { return lroundf(__x); }
KPT_FN long long llrint(float __x) { return llrintf(__x); }
KPT_FN long long llround(float __x) { return llroundf(__x); }
template <class __T> KPT_FN kpt::if_integral<__T> ldexp(__T __x, int __e) { return ldexp((double)__x, __e); }

#define KPT_CLASSIFY(NAME)                                                                                             \
    KPT_FN bool NAME(float __x) { return __builtin_##NAME(__x); }                                                      \
    KPT_FN bool NAME(double __x) { return __builtin_##NAME(__x); }                                                     \
    template <class __T> KPT_FN typename kpt::enable_if<kpt::is_integral<__T>::value, bool>::type NAME(__T __x) {      \
        return __builtin_##NAME((double)__x);                                                                          \
    }
KPT_CLASSIFY(isfinite)
KPT_CLASSIFY(isinf)
KPT_CLASSIFY(isnan)
KPT_CLASSIFY(isnormal)
KPT_CLASSIFY(signbit)
#undef KPT_CLASSIFY

#define KPT_COMPARE(NAME)                                                                                              \
    KPT_FN bool NAME(float __x, float __y) { return __builtin_##NAME(__x, __y); }                                      \
    KPT_FN bool NAME(double __x, double __y) { return __builtin_##NAME(__x, __y); }
KPT_COMPARE(isgreater)
KPT_COMPARE(isgreaterequal)
KPT_COMPARE(isless)
KPT_COMPARE(islessequal)
KPT_COMPARE(islessgreater)
KPT_COMPARE(isunordered)
#undef KPT_COMPARE

#endif // KPT_MATH_OVERLOADS_H
