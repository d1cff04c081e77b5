// CUDA's fast and explicitly rounded intrinsics.
#ifndef KPT_MATH_FAST_H
#define KPT_MATH_FAST_H

#define KPT_LOG2_E 1.44269504088896340736f
#define KPT_1_OVER_2PI 0.15915494309189533577f
#define KPT_LOG2_10 3.32192809488736234787f

// The hardware's sine takes revolutions, its exponential and logarithm are base 2. The natural and decimal logarithms
// are the accurate ones, as in ROCm.
KPT_FN float __sinf(float __x) { return __builtin_amdgcn_sinf(__x * KPT_1_OVER_2PI); }
KPT_FN float __cosf(float __x) { return __builtin_amdgcn_cosf(__x * KPT_1_OVER_2PI); }
KPT_FN float __tanf(float __x) { return __sinf(__x) * __builtin_amdgcn_rcpf(__cosf(__x)); }
KPT_FN void __sincosf(float __x, float *__s, float *__c) {
    *__s = __sinf(__x);
    *__c = __cosf(__x);
}
KPT_FN float __expf(float __x) { return __builtin_amdgcn_exp2f(KPT_LOG2_E * __x); }
KPT_FN float __exp10f(float __x) { return __builtin_amdgcn_exp2f(KPT_LOG2_10 * __x); }
KPT_FN float __exp2f(float __x) { return __builtin_amdgcn_exp2f(__x); }
KPT_FN float __log2f(float __x) { return __builtin_amdgcn_logf(__x); }
KPT_FN float __logf(float __x) { return __builtin_logf(__x); }
KPT_FN float __log10f(float __x) { return __builtin_log10f(__x); }
KPT_FN float __powf(float __x, float __y) { return __ocml_pow_f32(__x, __y); }
KPT_FN float __fdividef(float __x, float __y) { return __x / __y; }
KPT_FN float __saturatef(float __x) { return __x < 0.0f ? 0.0f : __x > 1.0f ? 1.0f : __x == __x ? __x : 0.0f; }
KPT_FN float __tanhf(float __x) { return tanhf(__x); }
KPT_FN float __frsqrt_rn(float __x) { return __builtin_amdgcn_rsqf(__x); }

// HIP has no directed rounding (__fadd_rz and so on): a source that names it must fail here as it does on ROCm.
// Round to nearest is the mode the hardware runs in; no contraction into an fma may change the result.
#define KPT_NEAREST(__T, PRE, FMA, SQRT, BFMA)                                                                         \
    KPT_FN __T __##PRE##add_rn(__T __x, __T __y) { _Pragma("clang fp contract(off)") return __x + __y; }               \
    KPT_FN __T __##PRE##sub_rn(__T __x, __T __y) { _Pragma("clang fp contract(off)") return __x - __y; }               \
    KPT_FN __T __##PRE##mul_rn(__T __x, __T __y) { _Pragma("clang fp contract(off)") return __x * __y; }               \
    KPT_FN __T __##PRE##div_rn(__T __x, __T __y) { return __x / __y; }                                                 \
    KPT_FN __T __##PRE##rcp_rn(__T __x) { return (__T)1 / __x; }                                                       \
    KPT_FN __T __##PRE##sqrt_rn(__T __x) { return SQRT(__x); }                                                         \
    KPT_FN __T FMA##_rn(__T __x, __T __y, __T __z) { return BFMA(__x, __y, __z); }
KPT_NEAREST(float, f, __fmaf, __builtin_sqrtf, __builtin_fmaf)
KPT_NEAREST(double, d, __fma, __builtin_sqrt, __builtin_fma)
#undef KPT_NEAREST

#endif // KPT_MATH_FAST_H
