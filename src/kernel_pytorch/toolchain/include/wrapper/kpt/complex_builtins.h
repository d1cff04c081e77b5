// What the compiler calls for _Complex multiplication and division, and so for std::complex.
#ifndef KPT_COMPLEX_BUILTINS_H
#define KPT_COMPLEX_BUILTINS_H

// Infinite operands first become +-1 or +-0 so that inf * finite stays infinite (C11 annex G).
#define KPT_COMPLEX(__T, MUL, DIV, FABS, COPYSIGN, LOGB, SCALBN, FMAX)                                                 \
    extern "C" inline __device__ __T _Complex MUL(__T __a, __T __b, __T __c, __T __d) {                                \
        __T ac = __a * __c, bd = __b * __d, ad = __a * __d, bc = __b * __c;                                            \
        __T re = ac - bd, im = ad + bc;                                                                                \
        if (__builtin_isnan(re) && __builtin_isnan(im)) {                                                              \
            bool again = false;                                                                                        \
            if (__builtin_isinf(__a) || __builtin_isinf(__b)) {                                                        \
                __a = COPYSIGN(__builtin_isinf(__a) ? (__T)1 : (__T)0, __a);                                           \
                __b = COPYSIGN(__builtin_isinf(__b) ? (__T)1 : (__T)0, __b);                                           \
                if (__builtin_isnan(__c)) __c = COPYSIGN((__T)0, __c);                                                 \
                if (__builtin_isnan(__d)) __d = COPYSIGN((__T)0, __d);                                                 \
                again = true;                                                                                          \
            }                                                                                                          \
            if (__builtin_isinf(__c) || __builtin_isinf(__d)) {                                                        \
                __c = COPYSIGN(__builtin_isinf(__c) ? (__T)1 : (__T)0, __c);                                           \
                __d = COPYSIGN(__builtin_isinf(__d) ? (__T)1 : (__T)0, __d);                                           \
                if (__builtin_isnan(__a)) __a = COPYSIGN((__T)0, __a);                                                 \
                if (__builtin_isnan(__b)) __b = COPYSIGN((__T)0, __b);                                                 \
                again = true;                                                                                          \
            }                                                                                                          \
            if (!again &&                                                                                              \
                (__builtin_isinf(ac) || __builtin_isinf(bd) || __builtin_isinf(ad) || __builtin_isinf(bc))) {          \
                if (__builtin_isnan(__a)) __a = COPYSIGN((__T)0, __a);                                                 \
                if (__builtin_isnan(__b)) __b = COPYSIGN((__T)0, __b);                                                 \
                if (__builtin_isnan(__c)) __c = COPYSIGN((__T)0, __c);                                                 \
                if (__builtin_isnan(__d)) __d = COPYSIGN((__T)0, __d);                                                 \
                again = true;                                                                                          \
            }                                                                                                          \
            if (again) {                                                                                               \
                re = (__T)__builtin_inf() * (__a * __c - __b * __d);                                                   \
                im = (__T)__builtin_inf() * (__a * __d + __b * __c);                                                   \
            }                                                                                                          \
        }                                                                                                              \
        __T _Complex __z;                                                                                              \
        __real__ __z = re;                                                                                             \
        __imag__ __z = im;                                                                                             \
        return __z;                                                                                                    \
    }                                                                                                                  \
    extern "C" inline __device__ __T _Complex DIV(__T __a, __T __b, __T __c, __T __d) {                                \
        int scale = 0;                                                                                                 \
        __T exponent = LOGB(FMAX(FABS(__c), FABS(__d)));                                                               \
        if (__builtin_isfinite(exponent)) {                                                                            \
            scale = (int)exponent;                                                                                     \
            __c = SCALBN(__c, -scale);                                                                                 \
            __d = SCALBN(__d, -scale);                                                                                 \
        }                                                                                                              \
        __T square = __c * __c + __d * __d;                                                                            \
        __T re = SCALBN((__a * __c + __b * __d) / square, -scale);                                                     \
        __T im = SCALBN((__b * __c - __a * __d) / square, -scale);                                                     \
        if (__builtin_isnan(re) && __builtin_isnan(im)) {                                                              \
            if (square == (__T)0 && (!__builtin_isnan(__a) || !__builtin_isnan(__b))) {                                \
                re = COPYSIGN((__T)__builtin_inf(), __c) * __a;                                                        \
                im = COPYSIGN((__T)__builtin_inf(), __c) * __b;                                                        \
            } else if ((__builtin_isinf(__a) || __builtin_isinf(__b)) && __builtin_isfinite(__c) &&                    \
                       __builtin_isfinite(__d)) {                                                                      \
                __a = COPYSIGN(__builtin_isinf(__a) ? (__T)1 : (__T)0, __a);                                           \
                __b = COPYSIGN(__builtin_isinf(__b) ? (__T)1 : (__T)0, __b);                                           \
                re = (__T)__builtin_inf() * (__a * __c + __b * __d);                                                   \
                im = (__T)__builtin_inf() * (__b * __c - __a * __d);                                                   \
            } else if (__builtin_isinf(exponent) && exponent > (__T)0 && __builtin_isfinite(__a) &&                    \
                       __builtin_isfinite(__b)) {                                                                      \
                __c = COPYSIGN(__builtin_isinf(__c) ? (__T)1 : (__T)0, __c);                                           \
                __d = COPYSIGN(__builtin_isinf(__d) ? (__T)1 : (__T)0, __d);                                           \
                re = (__T)0 * (__a * __c + __b * __d);                                                                 \
                im = (__T)0 * (__b * __c - __a * __d);                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        __T _Complex __z;                                                                                              \
        __real__ __z = re;                                                                                             \
        __imag__ __z = im;                                                                                             \
        return __z;                                                                                                    \
    }

KPT_COMPLEX(float, __mulsc3, __divsc3, fabsf, copysignf, logbf, scalbnf, fmaxf)
KPT_COMPLEX(double, __muldc3, __divdc3, fabs, copysign, logb, scalbn, fmax)
#undef KPT_COMPLEX

#endif // KPT_COMPLEX_BUILTINS_H
