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
#define KPT_COMPLEX_API(__C, __T, __S, SQRT, FABS, FMA)                                                                \
    KPT_HD_COMPLEX __C make_hip##__S##Complex(__T re, __T im) {                                                        \
        __C z;                                                                                                         \
        z.x = re;                                                                                                      \
        z.y = im;                                                                                                      \
        return z;                                                                                                      \
    }

KPT_COMPLEX_API(hipFloatComplex, float, Float, sqrtf, fabsf, fmaf)
KPT_COMPLEX_API(hipDoubleComplex, double, Double, sqrt, fabs, fma)
#undef KPT_COMPLEX_API
KPT_HD_COMPLEX hipComplex make_hipComplex(float re, float im) { return make_hipFloatComplex(re, im); }

#define KPT_COMPLEX_API(__C, __T, MAKE, REAL, IMAG, CONJ, SQUARED, ABS, ADD, SUB, MUL, DIV, FMA, SQRT, FABS)           \
    KPT_HD_COMPLEX __T REAL(__C z) { return z.x; }                                                                     \
    KPT_HD_COMPLEX __T IMAG(__C z) { return z.y; }                                                                     \
    KPT_HD_COMPLEX __C CONJ(__C z) { return MAKE(z.x, -z.y); }                                                         \
    KPT_HD_COMPLEX __T SQUARED(__C z) { return z.x * z.x + z.y * z.y; }                                                \
    KPT_HD_COMPLEX __C ADD(__C p, __C q) { return MAKE(p.x + q.x, p.y + q.y); }                                        \
    KPT_HD_COMPLEX __C SUB(__C p, __C q) { return MAKE(p.x - q.x, p.y - q.y); }                                        \
    KPT_HD_COMPLEX __C MUL(__C p, __C q) { return MAKE(p.x * q.x - p.y * q.y, p.y * q.x + p.x * q.y); }                \
    KPT_HD_COMPLEX __C DIV(__C p, __C q) {                                                                             \
        const __T scale = __T(1) / (FABS(q.x) + FABS(q.y));                                                            \
        const __T ax = p.x * scale, ay = p.y * scale, bx = q.x * scale, by = q.y * scale;                              \
        const __T inverse = __T(1) / (bx * bx + by * by);                                                              \
        return MAKE((ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse);                                     \
    }                                                                                                                  \
    KPT_HD_COMPLEX __T ABS(__C z) {                                                                                    \
        const __T a = FABS(z.x), b = FABS(z.y);                                                                        \
        const __T large = a > b ? a : b, small = a > b ? b : a;                                                        \
        if (large == __T(0) || large - large != __T(0)) return large + small;                                          \
        const __T ratio = small / large;                                                                               \
        return large * SQRT(__T(1) + ratio * ratio);                                                                   \
    }                                                                                                                  \
    KPT_HD_COMPLEX __C FMA(__C p, __C q, __C r) {                                                                      \
        return MAKE(p.x * q.x + r.x - p.y * q.y, q.x * p.y + r.y + p.x * q.y);                                         \
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

#endif // HIP_INCLUDE_HIP_HIP_COMPLEX_H
