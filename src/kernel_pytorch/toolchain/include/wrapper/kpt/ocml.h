// Declarations of the device math library (OCML) for float and double.
#ifndef KPT_OCML_H
#define KPT_OCML_H

// "const" reads no memory at all, "pure" may read tables; both let the optimiser share results.
#define KPT_CONST __device__ __attribute__((const))
#define KPT_PURE __device__ __attribute__((pure))
#define KPT_PRIVATE __attribute__((address_space(5)))

#define KPT_DECLARE(__S, __T)                                                                                          \
    KPT_CONST __T __ocml_acos_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_acosh_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_asin_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_asinh_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_atan_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_atan2_##__S(__T, __T);                                                                        \
    KPT_PURE __T __ocml_atanh_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_cbrt_##__S(__T);                                                                               \
    KPT_CONST __T __ocml_ceil_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_copysign_##__S(__T, __T);                                                                     \
    __device__ __T __ocml_cos_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_cosh_##__S(__T);                                                                               \
    __device__ __T __ocml_cospi_##__S(__T);                                                                            \
    KPT_PURE __T __ocml_erf_##__S(__T);                                                                                \
    KPT_PURE __T __ocml_erfc_##__S(__T);                                                                               \
    KPT_PURE __T __ocml_erfcinv_##__S(__T);                                                                            \
    KPT_PURE __T __ocml_erfcx_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_erfinv_##__S(__T);                                                                             \
    KPT_PURE __T __ocml_exp_##__S(__T);                                                                                \
    KPT_PURE __T __ocml_exp10_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_exp2_##__S(__T);                                                                               \
    KPT_PURE __T __ocml_expm1_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_fdim_##__S(__T, __T);                                                                         \
    KPT_CONST __T __ocml_fmod_##__S(__T, __T);                                                                         \
    __device__ __T __ocml_frexp_##__S(__T, KPT_PRIVATE int *);                                                         \
    KPT_CONST __T __ocml_hypot_##__S(__T, __T);                                                                        \
    __device__ __T __ocml_i0_##__S(__T);                                                                               \
    __device__ __T __ocml_i1_##__S(__T);                                                                               \
    KPT_CONST int __ocml_ilogb_##__S(__T);                                                                             \
    __device__ __T __ocml_j0_##__S(__T);                                                                               \
    __device__ __T __ocml_j1_##__S(__T);                                                                               \
    KPT_CONST __T __ocml_ldexp_##__S(__T, int);                                                                        \
    KPT_CONST __T __ocml_len3_##__S(__T, __T, __T);                                                                    \
    KPT_CONST __T __ocml_len4_##__S(__T, __T, __T, __T);                                                               \
    __device__ __T __ocml_lgamma_##__S(__T);                                                                           \
    KPT_PURE __T __ocml_log_##__S(__T);                                                                                \
    KPT_PURE __T __ocml_log10_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_log1p_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_log2_##__S(__T);                                                                               \
    KPT_CONST __T __ocml_logb_##__S(__T);                                                                              \
    __device__ __T __ocml_modf_##__S(__T, KPT_PRIVATE __T *);                                                          \
    KPT_PURE __T __ocml_ncdf_##__S(__T);                                                                               \
    KPT_PURE __T __ocml_ncdfinv_##__S(__T);                                                                            \
    KPT_CONST __T __ocml_nextafter_##__S(__T, __T);                                                                    \
    KPT_PURE __T __ocml_pow_##__S(__T, __T);                                                                           \
    KPT_PURE __T __ocml_pown_##__S(__T, int);                                                                          \
    KPT_PURE __T __ocml_rcbrt_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_remainder_##__S(__T, __T);                                                                    \
    __device__ __T __ocml_remquo_##__S(__T, __T, KPT_PRIVATE int *);                                                   \
    KPT_CONST __T __ocml_rhypot_##__S(__T, __T);                                                                       \
    KPT_CONST __T __ocml_rlen3_##__S(__T, __T, __T);                                                                   \
    KPT_CONST __T __ocml_rlen4_##__S(__T, __T, __T, __T);                                                              \
    KPT_PURE __T __ocml_rsqrt_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_scalb_##__S(__T, __T);                                                                        \
    KPT_CONST __T __ocml_scalbn_##__S(__T, int);                                                                       \
    __device__ __T __ocml_sin_##__S(__T);                                                                              \
    __device__ __T __ocml_sincos_##__S(__T, KPT_PRIVATE __T *);                                                        \
    __device__ __T __ocml_sincospi_##__S(__T, KPT_PRIVATE __T *);                                                      \
    KPT_PURE __T __ocml_sinh_##__S(__T);                                                                               \
    __device__ __T __ocml_sinpi_##__S(__T);                                                                            \
    __device__ __T __ocml_tan_##__S(__T);                                                                              \
    KPT_PURE __T __ocml_tanh_##__S(__T);                                                                               \
    __device__ __T __ocml_tgamma_##__S(__T);                                                                           \
    KPT_CONST __T __ocml_fabs_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_floor_##__S(__T);                                                                             \
    KPT_CONST __T __ocml_fma_##__S(__T, __T, __T);                                                                     \
    KPT_CONST __T __ocml_fmax_##__S(__T, __T);                                                                         \
    KPT_CONST __T __ocml_fmin_##__S(__T, __T);                                                                         \
    KPT_CONST __T __ocml_nearbyint_##__S(__T);                                                                         \
    KPT_CONST __T __ocml_rint_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_round_##__S(__T);                                                                             \
    KPT_CONST __T __ocml_sqrt_##__S(__T);                                                                              \
    KPT_CONST __T __ocml_trunc_##__S(__T);                                                                             \
    KPT_CONST int __ocml_isfinite_##__S(__T);                                                                          \
    KPT_CONST int __ocml_isinf_##__S(__T);                                                                             \
    KPT_CONST int __ocml_isnan_##__S(__T);                                                                             \
    KPT_CONST int __ocml_signbit_##__S(__T);                                                                           \
    __device__ __T __ocml_y0_##__S(__T);                                                                               \
    __device__ __T __ocml_y1_##__S(__T);

extern "C" {
KPT_DECLARE(f32, float)
KPT_DECLARE(f64, double)

#define KPT_DECLARE_NATIVE(NAME) KPT_PURE float __ocml_native_##NAME##_f32(float);
KPT_DECLARE_NATIVE(cos)
KPT_DECLARE_NATIVE(exp)
KPT_DECLARE_NATIVE(exp10)
KPT_DECLARE_NATIVE(exp2)
KPT_DECLARE_NATIVE(log)
KPT_DECLARE_NATIVE(log10)
KPT_DECLARE_NATIVE(log2)
KPT_DECLARE_NATIVE(rcp)
KPT_DECLARE_NATIVE(rsqrt)
KPT_DECLARE_NATIVE(sin)
KPT_DECLARE_NATIVE(sqrt)
#undef KPT_DECLARE_NATIVE

typedef _Float16 __2f16 __attribute__((ext_vector_type(2)));
typedef short __2i16 __attribute__((ext_vector_type(2)));
#define KPT_DECLARE_HALF1(NAME)                                                                                        \
    KPT_PURE _Float16 __ocml_##NAME##_f16(_Float16);                                                                   \
    KPT_PURE __2f16 __ocml_##NAME##_2f16(__2f16);
KPT_DECLARE_HALF1(ceil)
KPT_DECLARE_HALF1(cos)
KPT_DECLARE_HALF1(exp)
KPT_DECLARE_HALF1(exp10)
KPT_DECLARE_HALF1(exp2)
KPT_DECLARE_HALF1(fabs)
KPT_DECLARE_HALF1(floor)
KPT_DECLARE_HALF1(log)
KPT_DECLARE_HALF1(log10)
KPT_DECLARE_HALF1(log2)
KPT_DECLARE_HALF1(rint)
KPT_DECLARE_HALF1(rsqrt)
KPT_DECLARE_HALF1(sin)
KPT_DECLARE_HALF1(sqrt)
KPT_DECLARE_HALF1(trunc)
KPT_CONST _Float16 __ocml_fma_f16(_Float16, _Float16, _Float16);
KPT_CONST __2f16 __ocml_fma_2f16(__2f16, __2f16, __2f16);
KPT_PURE _Float16 __ocml_pown_f16(_Float16, int);
KPT_PURE _Float16 __ocml_tanh_f16(_Float16);
KPT_CONST int __ocml_isinf_f16(_Float16);
KPT_CONST int __ocml_isnan_f16(_Float16);
KPT_CONST __2i16 __ocml_isinf_2f16(__2f16);
KPT_CONST __2i16 __ocml_isnan_2f16(__2f16);
KPT_CONST _Float16 __ocml_cvtrtn_f16_f32(float);
KPT_CONST _Float16 __ocml_cvtrtp_f16_f32(float);
KPT_CONST _Float16 __ocml_cvtrtz_f16_f32(float);
#undef KPT_DECLARE_HALF1
__device__ __attribute__((const)) float __ockl_fdot2(__2f16, __2f16, float, bool);
}

#undef KPT_DECLARE

#endif // KPT_OCML_H
