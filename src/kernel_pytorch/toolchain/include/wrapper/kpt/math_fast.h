// CUDA's fast and explicitly rounded intrinsics.
#ifndef KPT_MATH_FAST_H
#define KPT_MATH_FAST_H

#define KPT_LOG2_E 1.44269504088896340736f
#define KPT_1_OVER_2PI 0.15915494309189533577f
#define KPT_LOG2_10 3.32192809488736234787f

// The hardware's sine takes revolutions, its exponential and logarithm are base 2. The natural and decimal logarithms
// are the accurate ones, as in ROCm.
KPT_FN float __sinf(float x) { return __builtin_amdgcn_sinf(x * KPT_1_OVER_2PI); }
KPT_FN float __cosf(float x) { return __builtin_amdgcn_cosf(x * KPT_1_OVER_2PI); }
KPT_FN float __tanf(float x) { return __sinf(x) * __builtin_amdgcn_rcpf(__cosf(x)); }
KPT_FN void __sincosf(float x, float* s, float* c) {
  *s = __sinf(x);
  *c = __cosf(x);
}
KPT_FN float __expf(float x) { return __builtin_amdgcn_exp2f(KPT_LOG2_E * x); }
KPT_FN float __exp10f(float x) { return __builtin_amdgcn_exp2f(KPT_LOG2_10 * x); }
KPT_FN float __exp2f(float x) { return __builtin_amdgcn_exp2f(x); }
KPT_FN float __log2f(float x) { return __builtin_amdgcn_logf(x); }
KPT_FN float __logf(float x) { return __builtin_logf(x); }
KPT_FN float __log10f(float x) { return __builtin_log10f(x); }
KPT_FN float __powf(float x, float y) { return __ocml_pow_f32(x, y); }
KPT_FN float __fdividef(float x, float y) { return x / y; }
KPT_FN float __saturatef(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x == x ? x : 0.0f; }
KPT_FN float __tanhf(float x) { return tanhf(x); }
KPT_FN float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }

// HIP has no directed rounding (__fadd_rz and so on): a source that names it must fail here as it does on ROCm.
// Round to nearest is the mode the hardware runs in; no contraction into an fma may change the result.
#define KPT_NEAREST(T, PRE, FMA, SQRT, BFMA)                                                                \
  KPT_FN T __##PRE##add_rn(T x, T y) {                                                                      \
    _Pragma("clang fp contract(off)") return x + y;                                                         \
  }                                                                                                         \
  KPT_FN T __##PRE##sub_rn(T x, T y) {                                                                      \
    _Pragma("clang fp contract(off)") return x - y;                                                         \
  }                                                                                                         \
  KPT_FN T __##PRE##mul_rn(T x, T y) {                                                                      \
    _Pragma("clang fp contract(off)") return x * y;                                                         \
  }                                                                                                         \
  KPT_FN T __##PRE##div_rn(T x, T y) { return x / y; }                                                      \
  KPT_FN T __##PRE##rcp_rn(T x) { return (T)1 / x; }                                                        \
  KPT_FN T __##PRE##sqrt_rn(T x) { return SQRT(x); }                                                        \
  KPT_FN T FMA##_rn(T x, T y, T z) { return BFMA(x, y, z); }
KPT_NEAREST(float, f, __fmaf, __builtin_sqrtf, __builtin_fmaf)
KPT_NEAREST(double, d, __fma, __builtin_sqrt, __builtin_fma)
#undef KPT_NEAREST

#endif  // KPT_MATH_FAST_H
