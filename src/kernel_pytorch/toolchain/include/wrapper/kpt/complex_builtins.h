// What the compiler calls for _Complex multiplication and division, and so for std::complex.
#ifndef KPT_COMPLEX_BUILTINS_H
#define KPT_COMPLEX_BUILTINS_H

// Infinite operands first become +-1 or +-0 so that inf * finite stays infinite (C11 annex G).
#define KPT_COMPLEX(T, MUL, DIV, FABS, COPYSIGN, LOGB, SCALBN, FMAX)                                        \
  extern "C" inline __device__ T _Complex MUL(T a, T b, T c, T d) {                                         \
    T ac = a * c, bd = b * d, ad = a * d, bc = b * c;                                                       \
    T re = ac - bd, im = ad + bc;                                                                           \
    if (__builtin_isnan(re) && __builtin_isnan(im)) {                                                       \
      bool again = false;                                                                                   \
      if (__builtin_isinf(a) || __builtin_isinf(b)) {                                                       \
        a = COPYSIGN(__builtin_isinf(a) ? (T)1 : (T)0, a);                                                  \
        b = COPYSIGN(__builtin_isinf(b) ? (T)1 : (T)0, b);                                                  \
        if (__builtin_isnan(c)) c = COPYSIGN((T)0, c);                                                      \
        if (__builtin_isnan(d)) d = COPYSIGN((T)0, d);                                                      \
        again = true;                                                                                       \
      }                                                                                                     \
      if (__builtin_isinf(c) || __builtin_isinf(d)) {                                                       \
        c = COPYSIGN(__builtin_isinf(c) ? (T)1 : (T)0, c);                                                  \
        d = COPYSIGN(__builtin_isinf(d) ? (T)1 : (T)0, d);                                                  \
        if (__builtin_isnan(a)) a = COPYSIGN((T)0, a);                                                      \
        if (__builtin_isnan(b)) b = COPYSIGN((T)0, b);                                                      \
        again = true;                                                                                       \
      }                                                                                                     \
      if (!again && (__builtin_isinf(ac) || __builtin_isinf(bd) || __builtin_isinf(ad) ||                   \
                     __builtin_isinf(bc))) {                                                                \
        if (__builtin_isnan(a)) a = COPYSIGN((T)0, a);                                                      \
        if (__builtin_isnan(b)) b = COPYSIGN((T)0, b);                                                      \
        if (__builtin_isnan(c)) c = COPYSIGN((T)0, c);                                                      \
        if (__builtin_isnan(d)) d = COPYSIGN((T)0, d);                                                      \
        again = true;                                                                                       \
      }                                                                                                     \
      if (again) {                                                                                          \
        re = (T)__builtin_inf() * (a * c - b * d);                                                          \
        im = (T)__builtin_inf() * (a * d + b * c);                                                          \
      }                                                                                                     \
    }                                                                                                       \
    T _Complex z;                                                                                           \
    __real__ z = re;                                                                                        \
    __imag__ z = im;                                                                                        \
    return z;                                                                                               \
  }                                                                                                         \
  extern "C" inline __device__ T _Complex DIV(T a, T b, T c, T d) {                                         \
    int scale = 0;                                                                                          \
    T exponent = LOGB(FMAX(FABS(c), FABS(d)));                                                              \
    if (__builtin_isfinite(exponent)) {                                                                     \
      scale = (int)exponent;                                                                                \
      c = SCALBN(c, -scale);                                                                                \
      d = SCALBN(d, -scale);                                                                                \
    }                                                                                                       \
    T square = c * c + d * d;                                                                               \
    T re = SCALBN((a * c + b * d) / square, -scale);                                                        \
    T im = SCALBN((b * c - a * d) / square, -scale);                                                        \
    if (__builtin_isnan(re) && __builtin_isnan(im)) {                                                       \
      if (square == (T)0 && (!__builtin_isnan(a) || !__builtin_isnan(b))) {                                 \
        re = COPYSIGN((T)__builtin_inf(), c) * a;                                                           \
        im = COPYSIGN((T)__builtin_inf(), c) * b;                                                           \
      } else if ((__builtin_isinf(a) || __builtin_isinf(b)) && __builtin_isfinite(c) &&                     \
                 __builtin_isfinite(d)) {                                                                   \
        a = COPYSIGN(__builtin_isinf(a) ? (T)1 : (T)0, a);                                                  \
        b = COPYSIGN(__builtin_isinf(b) ? (T)1 : (T)0, b);                                                  \
        re = (T)__builtin_inf() * (a * c + b * d);                                                          \
        im = (T)__builtin_inf() * (b * c - a * d);                                                          \
      } else if (__builtin_isinf(exponent) && exponent > (T)0 && __builtin_isfinite(a) &&                   \
                 __builtin_isfinite(b)) {                                                                   \
        c = COPYSIGN(__builtin_isinf(c) ? (T)1 : (T)0, c);                                                  \
        d = COPYSIGN(__builtin_isinf(d) ? (T)1 : (T)0, d);                                                  \
        re = (T)0 * (a * c + b * d);                                                                        \
        im = (T)0 * (b * c - a * d);                                                                        \
      }                                                                                                     \
    }                                                                                                       \
    T _Complex z;                                                                                           \
    __real__ z = re;                                                                                        \
    __imag__ z = im;                                                                                        \
    return z;                                                                                               \
  }

KPT_COMPLEX(float, __mulsc3, __divsc3, fabsf, copysignf, logbf, scalbnf, fmaxf)
KPT_COMPLEX(double, __muldc3, __divdc3, fabs, copysign, logb, scalbn, fmax)
#undef KPT_COMPLEX

#endif  // KPT_COMPLEX_BUILTINS_H
