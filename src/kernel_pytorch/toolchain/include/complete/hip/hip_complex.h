// hipFloatComplex and hipDoubleComplex.
#ifndef HIP_INCLUDE_HIP_HIP_COMPLEX_H
#define HIP_INCLUDE_HIP_HIP_COMPLEX_H

#include <hip/hip_vector_types.h>
#include <hip/hip_runtime.h>

#define KPT_HD_COMPLEX __host__ __device__ static inline

typedef float2 hipFloatComplex;
typedef double2 hipDoubleComplex;
typedef hipFloatComplex hipComplex;

// Dividing by the larger part first keeps the squares of the denominator in range.
#define KPT_COMPLEX_API(C, T, S, SQRT, FABS, FMA)                                                           \
  KPT_HD_COMPLEX C make_hip##S##Complex(T re, T im) {                                                       \
    C z;                                                                                                    \
    z.x = re;                                                                                               \
    z.y = im;                                                                                               \
    return z;                                                                                               \
  }

KPT_COMPLEX_API(hipFloatComplex, float, Float, sqrtf, fabsf, fmaf)
KPT_COMPLEX_API(hipDoubleComplex, double, Double, sqrt, fabs, fma)
#undef KPT_COMPLEX_API
KPT_HD_COMPLEX hipComplex make_hipComplex(float re, float im) { return make_hipFloatComplex(re, im); }

#define KPT_COMPLEX_API(C, T, MAKE, REAL, IMAG, CONJ, SQUARED, ABS, ADD, SUB, MUL, DIV, FMA, SQRT, FABS)    \
  KPT_HD_COMPLEX T REAL(C z) { return z.x; }                                                                \
  KPT_HD_COMPLEX T IMAG(C z) { return z.y; }                                                                \
  KPT_HD_COMPLEX C CONJ(C z) { return MAKE(z.x, -z.y); }                                                    \
  KPT_HD_COMPLEX T SQUARED(C z) { return z.x * z.x + z.y * z.y; }                                           \
  KPT_HD_COMPLEX C ADD(C p, C q) { return MAKE(p.x + q.x, p.y + q.y); }                                     \
  KPT_HD_COMPLEX C SUB(C p, C q) { return MAKE(p.x - q.x, p.y - q.y); }                                     \
  KPT_HD_COMPLEX C MUL(C p, C q) { return MAKE(p.x * q.x - p.y * q.y, p.y * q.x + p.x * q.y); }             \
  KPT_HD_COMPLEX C DIV(C p, C q) {                                                                          \
    const T scale = T(1) / (FABS(q.x) + FABS(q.y));                                                         \
    const T ax = p.x * scale, ay = p.y * scale, bx = q.x * scale, by = q.y * scale;                         \
    const T inverse = T(1) / (bx * bx + by * by);                                                           \
    return MAKE((ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse);                              \
  }                                                                                                         \
  KPT_HD_COMPLEX T ABS(C z) {                                                                               \
    const T a = FABS(z.x), b = FABS(z.y);                                                                   \
    const T large = a > b ? a : b, small = a > b ? b : a;                                                   \
    if (large == T(0) || large - large != T(0)) return large + small;                                       \
    const T ratio = small / large;                                                                          \
    return large * SQRT(T(1) + ratio * ratio);                                                              \
  }                                                                                                         \
  KPT_HD_COMPLEX C FMA(C p, C q, C r) {                                                                     \
    return MAKE(p.x * q.x + r.x - p.y * q.y, q.x * p.y + r.y + p.x * q.y);                                  \
  }

KPT_COMPLEX_API(hipFloatComplex, float, make_hipFloatComplex, hipCrealf, hipCimagf, hipConjf, hipCsqabsf, hipCabsf,
                hipCaddf, hipCsubf, hipCmulf, hipCdivf, hipCfmaf, sqrtf, fabsf)
KPT_COMPLEX_API(hipDoubleComplex, double, make_hipDoubleComplex, hipCreal, hipCimag, hipConj, hipCsqabs, hipCabs,
                hipCadd, hipCsub, hipCmul, hipCdiv, hipCfma, sqrt, fabs)
#undef KPT_COMPLEX_API

KPT_HD_COMPLEX hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) {
  return make_hipDoubleComplex(double(z.x), double(z.y));
}
KPT_HD_COMPLEX hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
  return make_hipFloatComplex(float(z.x), float(z.y));
}

#endif  // HIP_INCLUDE_HIP_HIP_COMPLEX_H
