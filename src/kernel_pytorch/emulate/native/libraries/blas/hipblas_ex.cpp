// hipBLAS: gemm with types chosen by the caller.
#include "gemm_ex.h"
#include "run.h"

namespace {

using namespace kpt;

// hipBLAS 2, of ROCm 6, has rocBLAS's numbers for types, which are above all of hipDataType's but the 8-bit floats'.
int of_any_version(int type) {
    const int found = type >= 150 && type < 170 ? from_rocm_type(type) : -1;
    return found >= 0 ? found : type;
}

// hipblasComputeType_t (a type in hipBLAS 2) to the type sums are kept in and the type alpha and beta have.
bool compute_types(int compute, int type_a, int *sum, int *scale) {
    const bool complex = complex_type(type_a);
    if (compute >= 150) {
        *scale = of_any_version(compute);
        *sum = *scale == R16F ? R32F : *scale;
        return size_of_type(*scale) > 0;
    }
    switch (compute) {
    case 0:
    case 1: *sum = R32F, *scale = R16F; return !complex;
    case 2:
    case 3:
    case 4:
    case 5:
    case 6: *sum = *scale = complex ? C32F : R32F; return true;
    case 7:
    case 8: *sum = *scale = complex ? C64F : R64F; return true;
    case 9:
    case 10: *sum = *scale = R32I; return !complex;
    default: return false;
    }
}

Status multiply(int op_a, int op_b, Int m, Int n, Int k, const void *alpha, const void *A, int ta, Int lda,
                const void *B, int tb, Int ldb, const void *beta, void *C, int tc, Int ldc, int compute) {
    int sum = 0, scale = 0;
    KPT_CHECK(compute_types(compute, ta, &sum, &scale), InvalidEnum);
    return gemm_ex({op_a, op_b, m, n, k, alpha, A, ta, lda, B, tb, ldb, beta, C, tc, ldc, C, tc, ldc, sum, scale});
}

} // namespace

// FLAGS is empty or ", int flags"; the algorithm and the flags choose between kernels that all give this result.
#define KPT_GEMM(SUFFIX, SIZE, FLAGS)                                                                                  \
    int hipblasGemmEx##SUFFIX(void *h, int oa, int ob, SIZE m, SIZE n, SIZE k, const void *alpha, const void *A,       \
                              int ta, SIZE lda, const void *B, int tb, SIZE ldb, const void *beta, void *C, int tc,    \
                              SIZE ldc, int compute, int FLAGS) {                                                      \
        ta = of_any_version(ta), tb = of_any_version(tb), tc = of_any_version(tc);                                     \
        return run(h, 1, [&](Int) {                                                                                    \
            return multiply(oa, ob, m, n, k, alpha, A, ta, lda, B, tb, ldb, beta, C, tc, ldc, compute);                \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblasGemmBatchedEx##SUFFIX(void *h, int oa, int ob, SIZE m, SIZE n, SIZE k, const void *alpha,               \
                                     const void **A, int ta, SIZE lda, const void **B, int tb, SIZE ldb,               \
                                     const void *beta, void **C, int tc, SIZE ldc, SIZE count, int compute,            \
                                     int FLAGS) {                                                                      \
        ta = of_any_version(ta), tb = of_any_version(tb), tc = of_any_version(tc);                                     \
        return run(h, count, [&](Int b) {                                                                              \
            return multiply(oa, ob, m, n, k, alpha, item(A, b), ta, lda, item(B, b), tb, ldb, beta, item(C, b), tc,    \
                            ldc, compute);                                                                             \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblasGemmStridedBatchedEx##SUFFIX(void *h, int oa, int ob, SIZE m, SIZE n, SIZE k, const void *alpha,        \
                                            const void *A, int ta, SIZE lda, Int sa, const void *B, int tb, SIZE ldb,  \
                                            Int sb, const void *beta, void *C, int tc, SIZE ldc, Int sc, SIZE count,   \
                                            int compute, int FLAGS) {                                                  \
        ta = of_any_version(ta), tb = of_any_version(tb), tc = of_any_version(tc);                                     \
        return run(h, count, [&](Int b) {                                                                              \
            return multiply(oa, ob, m, n, k, alpha, offset(A, ta, b * sa), ta, lda, offset(B, tb, b * sb), tb, ldb,    \
                            beta, offset(C, tc, b * sc), tc, ldc, compute);                                            \
        });                                                                                                            \
    }
#define KPT_WITH_FLAGS , int

extern "C" {
KPT_GEMM(, int, )
KPT_GEMM(_64, int64_t, )
KPT_GEMM(WithFlags, int, KPT_WITH_FLAGS)
KPT_GEMM(WithFlags_64, int64_t, KPT_WITH_FLAGS)
}
