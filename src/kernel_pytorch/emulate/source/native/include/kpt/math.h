/* Math functions that CUDA has and the host's library has not, and the intrinsics. Results are the host library's. */
#pragma once

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include <cmath>
#include <cstdlib>

#include "warp.h"

KPT_DEVICE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
KPT_DEVICE double rsqrt(double x) { return 1.0 / ::sqrt(x); }
KPT_DEVICE float rsqrt(float x) { return 1.0f / sqrtf(x); }
KPT_DEVICE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KPT_DEVICE double rcbrt(double x) { return 1.0 / ::cbrt(x); }
KPT_DEVICE float sinpif(float x) { return (float)::sin(3.14159265358979323846 * (double)x); }
KPT_DEVICE float cospif(float x) { return (float)::cos(3.14159265358979323846 * (double)x); }
KPT_DEVICE double sinpi(double x) { return ::sin(3.14159265358979323846 * x); }
KPT_DEVICE double cospi(double x) { return ::cos(3.14159265358979323846 * x); }
KPT_DEVICE void sincospif(float x, float *s, float *c) {
    *s = sinpif(x);
    *c = cospif(x);
}
KPT_DEVICE void sincospi(double x, double *s, double *c) {
    *s = sinpi(x);
    *c = cospi(x);
}
KPT_DEVICE float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752440f); }
KPT_DEVICE double normcdf(double x) { return 0.5 * ::erfc(-x * 0.70710678118654752440); }
KPT_DEVICE float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
KPT_DEVICE double norm3d(double a, double b, double c) { return ::sqrt(a * a + b * b + c * c); }
KPT_DEVICE float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
KPT_DEVICE float rhypotf(float a, float b) { return 1.0f / hypotf(a, b); }
KPT_DEVICE float saturate(float x) { return x < 0.0f || x != x ? 0.0f : x > 1.0f ? 1.0f : x; }
KPT_DEVICE float __saturatef(float x) { return saturate(x); }
KPT_DEVICE float fdividef(float a, float b) { return a / b; }
KPT_DEVICE float __fdividef(float a, float b) { return a / b; }
/* exp10 is glibc's with GNU extensions, and nobody's without: ours has its own name and takes its place. */
KPT_DEVICE float kpt_exp10f(float x) { return powf(10.0f, x); }
KPT_DEVICE double kpt_exp10(double x) { return ::pow(10.0, x); }
#define exp10f kpt_exp10f
#define exp10 kpt_exp10

/* The C library declares some of these names for itself. */
#define KPT_FAST1(name)                                                                                                \
    KPT_DEVICE float kpt_fast_##name(float x) { return ::name(x); }
KPT_FAST1(expf)
KPT_FAST1(logf)
KPT_FAST1(log2f)
KPT_FAST1(log10f)
KPT_FAST1(sinf)
KPT_FAST1(cosf)
KPT_FAST1(tanf)
#undef KPT_FAST1
KPT_DEVICE float kpt_fast_powf(float x, float y) { return powf(x, y); }
KPT_DEVICE void kpt_fast_sincosf(float x, float *s, float *c) {
    *s = sinf(x);
    *c = cosf(x);
}
#define __expf kpt_fast_expf
#define __logf kpt_fast_logf
#define __log2f kpt_fast_log2f
#define __log10f kpt_fast_log10f
#define __sinf kpt_fast_sinf
#define __cosf kpt_fast_cosf
#define __tanf kpt_fast_tanf
#define __exp10f kpt_exp10f
#define __powf kpt_fast_powf
#define __sincosf kpt_fast_sincosf
KPT_DEVICE float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }

/* Directed rounding: operands and result are held in memory, so that the operation stays between the two calls. */
#define KPT_HOLD(x) asm volatile("" : "+m"(x));
#define KPT_IN_MODE(name, mode, result, parameters, hold, value)                                                       \
    KPT_DEVICE result name parameters {                                                                                \
        kpt_round(mode);                                                                                               \
        hold result rounded = value;                                                                                   \
        KPT_HOLD(rounded)                                                                                              \
        kpt_round(0);                                                                                                  \
        return rounded;                                                                                                \
    }
#define KPT_ROUNDED(name, result, parameters, hold, value)                                                             \
    KPT_DEVICE result name##_rn parameters { return value; }                                                           \
    KPT_IN_MODE(name##_rz, 1, result, parameters, hold, value)                                                         \
    KPT_IN_MODE(name##_ru, 2, result, parameters, hold, value)                                                         \
    KPT_IN_MODE(name##_rd, 3, result, parameters, hold, value)
#define KPT_A KPT_HOLD(a)
#define KPT_AB KPT_HOLD(a) KPT_HOLD(b)
#define KPT_ABC KPT_HOLD(a) KPT_HOLD(b) KPT_HOLD(c)
KPT_ROUNDED(__fadd, float, (float a, float b), KPT_AB, a + b)
KPT_ROUNDED(__fsub, float, (float a, float b), KPT_AB, a - b)
KPT_ROUNDED(__fmul, float, (float a, float b), KPT_AB, a *b)
KPT_ROUNDED(__fdiv, float, (float a, float b), KPT_AB, a / b)
KPT_ROUNDED(__fmaf, float, (float a, float b, float c), KPT_ABC, fmaf(a, b, c))
KPT_ROUNDED(__frcp, float, (float a), KPT_A, 1.0f / a)
KPT_ROUNDED(__fsqrt, float, (float a), KPT_A, sqrtf(a))
KPT_ROUNDED(__dadd, double, (double a, double b), KPT_AB, a + b)
KPT_ROUNDED(__dsub, double, (double a, double b), KPT_AB, a - b)
KPT_ROUNDED(__dmul, double, (double a, double b), KPT_AB, a *b)
KPT_ROUNDED(__ddiv, double, (double a, double b), KPT_AB, a / b)
KPT_ROUNDED(__fma, double, (double a, double b, double c), KPT_ABC, ::fma(a, b, c))
KPT_ROUNDED(__drcp, double, (double a), KPT_A, 1.0 / a)
KPT_ROUNDED(__dsqrt, double, (double a), KPT_A, ::sqrt(a))
KPT_ROUNDED(__int2float, float, (int a), KPT_A, (float)a)
KPT_ROUNDED(__uint2float, float, (unsigned a), KPT_A, (float)a)
KPT_ROUNDED(__ll2float, float, (long long a), KPT_A, (float)a)
KPT_ROUNDED(__ull2float, float, (unsigned long long a), KPT_A, (float)a)
KPT_ROUNDED(__ll2double, double, (long long a), KPT_A, (double)a)
KPT_ROUNDED(__ull2double, double, (unsigned long long a), KPT_A, (double)a)
KPT_ROUNDED(__double2float, float, (double a), KPT_A, (float)a)
#undef KPT_ROUNDED
#undef KPT_IN_MODE
#undef KPT_HOLD
#undef KPT_A
#undef KPT_AB
#undef KPT_ABC
KPT_DEVICE double __int2double_rn(int a) { return a; }
KPT_DEVICE double __uint2double_rn(unsigned a) { return a; }
namespace kpt {
template <class I, class F> inline I converted(F value, F rounded) {
    const F low = sizeof(I) == 8 ? (F)LLONG_MIN : (F)INT_MIN;
    if (value != value) return 0;
    if ((I)-1 < 0)
        return rounded <= low    ? (I)((I)1 << (sizeof(I) * 8 - 1))
               : rounded >= -low ? (I) ~((I)1 << (sizeof(I) * 8 - 1))
                                 : (I)rounded;
    return rounded <= 0 ? 0 : rounded >= -2 * low ? (I)-1 : (I)rounded;
}
} // namespace kpt
#define KPT_TO_INTEGER(name, I, F)                                                                                     \
    KPT_DEVICE I name##_rn(F x) { return kpt::converted<I, F>(x, std::nearbyint(x)); }                                 \
    KPT_DEVICE I name##_rz(F x) { return kpt::converted<I, F>(x, std::trunc(x)); }                                     \
    KPT_DEVICE I name##_ru(F x) { return kpt::converted<I, F>(x, std::ceil(x)); }                                      \
    KPT_DEVICE I name##_rd(F x) { return kpt::converted<I, F>(x, std::floor(x)); }
KPT_TO_INTEGER(__float2int, int, float)
KPT_TO_INTEGER(__float2uint, unsigned, float)
KPT_TO_INTEGER(__float2ll, long long, float)
KPT_TO_INTEGER(__float2ull, unsigned long long, float)
KPT_TO_INTEGER(__double2int, int, double)
KPT_TO_INTEGER(__double2uint, unsigned, double)
KPT_TO_INTEGER(__double2ll, long long, double)
KPT_TO_INTEGER(__double2ull, unsigned long long, double)
#undef KPT_TO_INTEGER

#define KPT_AS(name, To, From)                                                                                         \
    KPT_DEVICE To name(From x) { return kpt::from_bits<To>(kpt::to_bits(x)); }
KPT_AS(__int_as_float, float, int)
KPT_AS(__uint_as_float, float, unsigned)
KPT_AS(__float_as_int, int, float)
KPT_AS(__float_as_uint, unsigned, float)
KPT_AS(__longlong_as_double, double, long long)
KPT_AS(__double_as_longlong, long long, double)
#undef KPT_AS
KPT_DEVICE int __double2hiint(double x) { return (int)(kpt::to_bits(x) >> 32); }
KPT_DEVICE int __double2loint(double x) { return (int)kpt::to_bits(x); }
KPT_DEVICE double __hiloint2double(int high, int low) {
    return kpt::from_bits<double>((uint64_t)(unsigned)high << 32 | (unsigned)low);
}

/* min and max by value for every pair of types that CUDA takes. */
#define KPT_MINMAX(T, A, B)                                                                                            \
    KPT_DEVICE T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }                                                   \
    KPT_DEVICE T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
KPT_MINMAX(int, int, int)
KPT_MINMAX(unsigned, unsigned, unsigned)
KPT_MINMAX(unsigned, int, unsigned)
KPT_MINMAX(unsigned, unsigned, int)
KPT_MINMAX(long, long, long)
KPT_MINMAX(unsigned long, unsigned long, unsigned long)
KPT_MINMAX(unsigned long, long, unsigned long)
KPT_MINMAX(unsigned long, unsigned long, long)
KPT_MINMAX(long long, long long, long long)
KPT_MINMAX(unsigned long long, unsigned long long, unsigned long long)
KPT_MINMAX(unsigned long long, long long, unsigned long long)
KPT_MINMAX(unsigned long long, unsigned long long, long long)
#undef KPT_MINMAX
KPT_DEVICE float min(float a, float b) { return fminf(a, b); }
KPT_DEVICE float max(float a, float b) { return fmaxf(a, b); }
KPT_DEVICE double min(double a, double b) { return ::fmin(a, b); }
KPT_DEVICE double max(double a, double b) { return ::fmax(a, b); }
KPT_DEVICE double min(float a, double b) { return ::fmin((double)a, b); }
KPT_DEVICE double max(float a, double b) { return ::fmax((double)a, b); }
KPT_DEVICE double min(double a, float b) { return ::fmin(a, (double)b); }
KPT_DEVICE double max(double a, float b) { return ::fmax(a, (double)b); }
KPT_DEVICE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
KPT_DEVICE unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
#define KPT_FLOAT1(name) using std::name;
KPT_FLOAT1(acos)
KPT_FLOAT1(asin)
KPT_FLOAT1(atan)
KPT_FLOAT1(ceil)
KPT_FLOAT1(cos)
KPT_FLOAT1(cosh)
KPT_FLOAT1(exp)
KPT_FLOAT1(fabs)
KPT_FLOAT1(floor)
KPT_FLOAT1(log)
KPT_FLOAT1(log10)
KPT_FLOAT1(sin)
KPT_FLOAT1(sinh)
KPT_FLOAT1(sqrt)
KPT_FLOAT1(tan)
KPT_FLOAT1(tanh)
KPT_FLOAT1(pow)
KPT_FLOAT1(atan2)
KPT_FLOAT1(fmod)
KPT_FLOAT1(cbrt)
KPT_FLOAT1(erf)
KPT_FLOAT1(erfc)
KPT_FLOAT1(exp2)
KPT_FLOAT1(expm1)
KPT_FLOAT1(fma)
KPT_FLOAT1(fmax)
KPT_FLOAT1(fmin)
KPT_FLOAT1(hypot)
KPT_FLOAT1(log1p)
KPT_FLOAT1(log2)
KPT_FLOAT1(round)
KPT_FLOAT1(rint)
KPT_FLOAT1(trunc)
KPT_FLOAT1(tgamma)
KPT_FLOAT1(lgamma)
KPT_FLOAT1(copysign)
#undef KPT_FLOAT1
