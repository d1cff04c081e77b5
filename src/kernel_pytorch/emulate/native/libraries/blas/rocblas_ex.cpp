// rocBLAS: gemm with types chosen by the caller; the result may go to another matrix than C.
#include "gemm_ex.h"
#include "run.h"

namespace {

using namespace kpt;

Status multiply(int oa, int ob, Int m, Int n, Int k, const void *alpha, const void *A, int ta, Int lda, const void *B,
                int tb, Int ldb, const void *beta, const void *C, int tc, Int ldc, void *D, int td, Int ldd,
                int compute) {
    const int scale = from_rocm_type(compute);
    const int sum = scale == R16F ? int(R32F) : scale;
    return gemm_ex({oa,
                    ob,
                    m,
                    n,
                    k,
                    alpha,
                    A,
                    from_rocm_type(ta),
                    lda,
                    B,
                    from_rocm_type(tb),
                    ldb,
                    beta,
                    C,
                    from_rocm_type(tc),
                    ldc,
                    D,
                    from_rocm_type(td),
                    ldd,
                    sum,
                    scale});
}

} // namespace

#define KPT_GEMM(SUFFIX, SIZE)                                                                                         \
    int rocblas_gemm_ex##SUFFIX(void *h, int oa, int ob, SIZE m, SIZE n, SIZE k, const void *alpha, const void *A,     \
                                int ta, SIZE lda, const void *B, int tb, SIZE ldb, const void *beta, const void *C,    \
                                int tc, SIZE ldc, void *D, int td, SIZE ldd, int compute, int, int32_t, uint32_t) {    \
        return run(h, 1, [&](Int) {                                                                                    \
            return multiply(oa, ob, m, n, k, alpha, A, ta, lda, B, tb, ldb, beta, C, tc, ldc, D, td, ldd, compute);    \
        });                                                                                                            \
    }                                                                                                                  \
    int rocblas_gemm_batched_ex##SUFFIX(void *h, int oa, int ob, SIZE m, SIZE n, SIZE k, const void *alpha,            \
                                        const void *A, int ta, SIZE lda, const void *B, int tb, SIZE ldb,              \
                                        const void *beta, const void *C, int tc, SIZE ldc, void *D, int td, SIZE ldd,  \
                                        SIZE count, int compute, int, int32_t, uint32_t) {                             \
        const auto at = [](const void *list, Int b) { return item(static_cast<const void *const *>(list), b); };       \
        return run(h, count, [&](Int b) {                                                                              \
            return multiply(oa, ob, m, n, k, alpha, at(A, b), ta, lda, at(B, b), tb, ldb, beta, at(C, b), tc, ldc,     \
                            item(static_cast<void *const *>(D), b), td, ldd, compute);                                 \
        });                                                                                                            \
    }                                                                                                                  \
    int rocblas_gemm_strided_batched_ex##SUFFIX(                                                                       \
        void *h, int oa, int ob, SIZE m, SIZE n, SIZE k, const void *alpha, const void *A, int ta, SIZE lda, Int sa,   \
        const void *B, int tb, SIZE ldb, Int sb, const void *beta, const void *C, int tc, SIZE ldc, Int sc, void *D,   \
        int td, SIZE ldd, Int sd, SIZE count, int compute, int, int32_t, uint32_t) {                                   \
        return run(h, count, [&](Int b) {                                                                              \
            return multiply(oa, ob, m, n, k, alpha, offset(A, from_rocm_type(ta), b * sa), ta, lda,                    \
                            offset(B, from_rocm_type(tb), b * sb), tb, ldb, beta,                                      \
                            offset(C, from_rocm_type(tc), b * sc), tc, ldc, offset(D, from_rocm_type(td), b * sd), td, \
                            ldd, compute);                                                                             \
        });                                                                                                            \
    }

extern "C" {
KPT_GEMM(, int)
KPT_GEMM(_64, int64_t)
}
