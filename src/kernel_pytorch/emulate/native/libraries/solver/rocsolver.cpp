// rocSOLVER: LAPACK by rocBLAS handles, with the batched and strided forms of the factorisations.
#include <initializer_list>

#include "../blas/run.h"
#include "../common/missing.h"
#include "decompositions.h"

using namespace kpt;

namespace {

enum : int { VectorsAll = 191, VectorsSingular = 192, VectorsOverwrite = 193, EigenvectorsOriginal = 211 };

// Runs `work(b)`, which returns LAPACK's info, for each batch.
template <class Work>
int solve(void *handle, Int count, std::initializer_list<const void *> needed, int *info, Work work) {
    for (const void *pointer : needed)
        if (!pointer) return handle ? InvalidPointer : InvalidHandle;
    return run(handle, count, [&](Int b) {
        const Int found = work(b);
        if (found == NoLapack) {
            unsupported("rocSOLVER", "LAPACK (install scipy-openblas64 or numpy)", NotImplemented);
            return NotImplemented;
        }
        if (info) info[b] = static_cast<int>(found);
        return Ok;
    });
}

char vectors_letter(int how) {
    return how == VectorsAll ? 'A' : how == VectorsSingular ? 'S' : how == VectorsOverwrite ? 'O' : 'N';
}

} // namespace

// The three forms of a routine: one matrix, an array of pointers, one base and a stride.
#define KPT_FORMS(L, T)                                                                                                \
    int rocsolver_##L##getrf(void *h, int m, int n, T *A, int lda, int *ipiv, int *info) {                             \
        return solve(h, 1, {A, ipiv, info}, info, [&](Int) { return lu<T>(m, n, A, lda, ipiv); });                     \
    }                                                                                                                  \
    int rocsolver_##L##getrf_batched(void *h, int m, int n, T *const *A, int lda, int *ipiv, Int sp, int *info,        \
                                     int count) {                                                                      \
        return solve(h, count, {A, ipiv, info}, info, [&](Int b) { return lu<T>(m, n, A[b], lda, ipiv + b * sp); });   \
    }                                                                                                                  \
    int rocsolver_##L##getrf_strided_batched(void *h, int m, int n, T *A, int lda, Int sa, int *ipiv, Int sp,          \
                                             int *info, int count) {                                                   \
        return solve(h, count, {A, ipiv, info}, info,                                                                  \
                     [&](Int b) { return lu<T>(m, n, A + b * sa, lda, ipiv + b * sp); });                              \
    }                                                                                                                  \
    int rocsolver_##L##getrf_npvt(void *h, int m, int n, T *A, int lda, int *info) {                                   \
        return solve(h, 1, {A, info}, info, [&](Int) { return lu<T>(m, n, A, lda, nullptr); });                        \
    }                                                                                                                  \
    int rocsolver_##L##getrf_npvt_batched(void *h, int m, int n, T *const *A, int lda, int *info, int count) {         \
        return solve(h, count, {A, info}, info, [&](Int b) { return lu<T>(m, n, A[b], lda, nullptr); });               \
    }                                                                                                                  \
    int rocsolver_##L##getrf_npvt_strided_batched(void *h, int m, int n, T *A, int lda, Int sa, int *info,             \
                                                  int count) {                                                         \
        return solve(h, count, {A, info}, info, [&](Int b) { return lu<T>(m, n, A + b * sa, lda, nullptr); });         \
    }                                                                                                                  \
    int rocsolver_##L##getrs(void *h, int op, int n, int nrhs, T *A, int lda, const int *ipiv, T *B, int ldb) {        \
        return solve(h, 1, {A, ipiv, B}, nullptr,                                                                      \
                     [&](Int) { return lu_solve<T>(op, n, nrhs, A, lda, ipiv, B, ldb); });                             \
    }                                                                                                                  \
    int rocsolver_##L##getrs_batched(void *h, int op, int n, int nrhs, T *const *A, int lda, const int *ipiv, Int sp,  \
                                     T *const *B, int ldb, int count) {                                                \
        return solve(h, count, {A, ipiv, B}, nullptr,                                                                  \
                     [&](Int b) { return lu_solve<T>(op, n, nrhs, A[b], lda, ipiv + b * sp, B[b], ldb); });            \
    }                                                                                                                  \
    int rocsolver_##L##getrs_strided_batched(void *h, int op, int n, int nrhs, T *A, int lda, Int sa, const int *ipiv, \
                                             Int sp, T *B, int ldb, Int sb, int count) {                               \
        return solve(h, count, {A, ipiv, B}, nullptr, [&](Int b) {                                                     \
            return lu_solve<T>(op, n, nrhs, A + b * sa, lda, ipiv + b * sp, B + b * sb, ldb);                          \
        });                                                                                                            \
    }                                                                                                                  \
    int rocsolver_##L##getri(void *h, int n, T *A, int lda, int *ipiv, int *info) {                                    \
        return solve(h, 1, {A, ipiv, info}, info, [&](Int) { return lu_inverse<T>(n, A, lda, ipiv, A, lda); });        \
    }                                                                                                                  \
    int rocsolver_##L##getri_batched(void *h, int n, T *const *A, int lda, int *ipiv, Int sp, int *info, int count) {  \
        return solve(h, count, {A, ipiv, info}, info,                                                                  \
                     [&](Int b) { return lu_inverse<T>(n, A[b], lda, ipiv + b * sp, A[b], lda); });                    \
    }                                                                                                                  \
    int rocsolver_##L##getri_strided_batched(void *h, int n, T *A, int lda, Int sa, int *ipiv, Int sp, int *info,      \
                                             int count) {                                                              \
        return solve(h, count, {A, ipiv, info}, info,                                                                  \
                     [&](Int b) { return lu_inverse<T>(n, A + b * sa, lda, ipiv + b * sp, A + b * sa, lda); });        \
    }                                                                                                                  \
    int rocsolver_##L##potrf(void *h, int fill, int n, T *A, int lda, int *info) {                                     \
        return solve(h, 1, {A, info}, info, [&](Int) { return cholesky<T>(fill, n, A, lda); });                        \
    }                                                                                                                  \
    int rocsolver_##L##potrf_batched(void *h, int fill, int n, T *const *A, int lda, int *info, int count) {           \
        return solve(h, count, {A, info}, info, [&](Int b) { return cholesky<T>(fill, n, A[b], lda); });               \
    }                                                                                                                  \
    int rocsolver_##L##potrf_strided_batched(void *h, int fill, int n, T *A, int lda, Int sa, int *info, int count) {  \
        return solve(h, count, {A, info}, info, [&](Int b) { return cholesky<T>(fill, n, A + b * sa, lda); });         \
    }                                                                                                                  \
    int rocsolver_##L##potrs(void *h, int fill, int n, int nrhs, T *A, int lda, T *B, int ldb) {                       \
        return solve(h, 1, {A, B}, nullptr, [&](Int) { return cholesky_solve<T>(fill, n, nrhs, A, lda, B, ldb); });    \
    }                                                                                                                  \
    int rocsolver_##L##potrs_batched(void *h, int fill, int n, int nrhs, T *const *A, int lda, T *const *B, int ldb,   \
                                     int count) {                                                                      \
        return solve(h, count, {A, B}, nullptr,                                                                        \
                     [&](Int b) { return cholesky_solve<T>(fill, n, nrhs, A[b], lda, B[b], ldb); });                   \
    }                                                                                                                  \
    int rocsolver_##L##potrs_strided_batched(void *h, int fill, int n, int nrhs, T *A, int lda, Int sa, T *B, int ldb, \
                                             Int sb, int count) {                                                      \
        return solve(h, count, {A, B}, nullptr,                                                                        \
                     [&](Int b) { return cholesky_solve<T>(fill, n, nrhs, A + b * sa, lda, B + b * sb, ldb); });       \
    }                                                                                                                  \
    int rocsolver_##L##geqrf(void *h, int m, int n, T *A, int lda, T *tau) {                                           \
        return solve(h, 1, {A, tau}, nullptr, [&](Int) { return qr<T>(m, n, A, lda, tau); });                          \
    }                                                                                                                  \
    int rocsolver_##L##geqrf_batched(void *h, int m, int n, T *const *A, int lda, T *tau, Int sp, int count) {         \
        return solve(h, count, {A, tau}, nullptr, [&](Int b) { return qr<T>(m, n, A[b], lda, tau + b * sp); });        \
    }                                                                                                                  \
    int rocsolver_##L##geqrf_strided_batched(void *h, int m, int n, T *A, int lda, Int sa, T *tau, Int sp,             \
                                             int count) {                                                              \
        return solve(h, count, {A, tau}, nullptr, [&](Int b) { return qr<T>(m, n, A + b * sa, lda, tau + b * sp); });  \
    }                                                                                                                  \
    int rocsolver_##L##gels(void *h, int op, int m, int n, int nrhs, T *A, int lda, T *B, int ldb, int *info) {        \
        return solve(h, 1, {A, B, info}, info, [&](Int) { return least_squares<T>(op, m, n, nrhs, A, lda, B, ldb); }); \
    }                                                                                                                  \
    int rocsolver_##L##gels_batched(void *h, int op, int m, int n, int nrhs, T *const *A, int lda, T *const *B,        \
                                    int ldb, int *info, int count) {                                                   \
        return solve(h, count, {A, B, info}, info,                                                                     \
                     [&](Int b) { return least_squares<T>(op, m, n, nrhs, A[b], lda, B[b], ldb); });                   \
    }                                                                                                                  \
    int rocsolver_##L##gesv(void *h, int n, int nrhs, T *A, int lda, int *ipiv, T *B, int ldb, int *info) {            \
        return solve(h, 1, {A, ipiv, B, info}, info, [&](Int) {                                                        \
            const Int bad = lu<T>(n, n, A, lda, ipiv);                                                                 \
            return bad ? bad : lu_solve<T>(None, n, nrhs, A, lda, ipiv, B, ldb);                                       \
        });                                                                                                            \
    }                                                                                                                  \
    int rocsolver_##L##posv(void *h, int fill, int n, int nrhs, T *A, int lda, T *B, int ldb, int *info) {             \
        return solve(h, 1, {A, B, info}, info, [&](Int) {                                                              \
            const Int bad = cholesky<T>(fill, n, A, lda);                                                              \
            return bad ? bad : cholesky_solve<T>(fill, n, nrhs, A, lda, B, ldb);                                       \
        });                                                                                                            \
    }                                                                                                                  \
    int rocsolver_##L##potri(void *h, int fill, int n, T *A, int lda, int *info) {                                     \
        return solve(h, 1, {A, info}, info, [&](Int) { return cholesky_inverse<T>(fill, n, A, lda); });                \
    }                                                                                                                  \
    int rocsolver_##L##gebrd(void *h, int m, int n, T *A, int lda, Real<T> *D, Real<T> *E, T *tauq, T *taup) {         \
        return solve(h, 1, {A, D, E, tauq, taup}, nullptr,                                                             \
                     [&](Int) { return bidiagonal_form<T>(m, n, A, lda, D, E, tauq, taup); });                         \
    }                                                                                                                  \
    int rocsolver_##L##gesvd(void *h, int left, int right, int m, int n, T *A, int lda, Real<T> *S, T *U, int ldu,     \
                             T *V, int ldv, Real<T> *E, int, int *info) {                                              \
        return solve(h, 1, {A, S, E, info}, info, [&](Int) {                                                           \
            return svd<T>(vectors_letter(left), vectors_letter(right), m, n, A, lda, S, U, ldu, V, ldv);               \
        });                                                                                                            \
    }

// Names that differ between real and complex types.
#define KPT_UNITARY(L, T, OR, SY)                                                                                      \
    int rocsolver_##L##OR##gqr(void *h, int m, int n, int k, T *A, int lda, T *tau) {                                  \
        return solve(h, 1, {A, tau}, nullptr, [&](Int) { return form_q<T>(m, n, k, A, lda, tau); });                   \
    }                                                                                                                  \
    int rocsolver_##L##OR##mqr(void *h, int side, int op, int m, int n, int k, T *A, int lda, T *tau, T *C, int ldc) { \
        return solve(h, 1, {A, tau, C}, nullptr,                                                                       \
                     [&](Int) { return apply_q<T>(side, op, m, n, k, A, lda, tau, C, ldc); });                         \
    }                                                                                                                  \
    int rocsolver_##L##SY##ev(void *h, int vectors, int fill, int n, T *A, int lda, Real<T> *D, Real<T> *E,            \
                              int *info) {                                                                             \
        return solve(h, 1, {A, D, E, info}, info,                                                                      \
                     [&](Int) { return eigen<T>(vectors == EigenvectorsOriginal, fill, n, A, lda, D); });              \
    }                                                                                                                  \
    int rocsolver_##L##SY##evd(void *h, int vectors, int fill, int n, T *A, int lda, Real<T> *D, Real<T> *E,           \
                               int *info) {                                                                            \
        return solve(h, 1, {A, D, E, info}, info,                                                                      \
                     [&](Int) { return eigen<T>(vectors == EigenvectorsOriginal, fill, n, A, lda, D); });              \
    }                                                                                                                  \
    int rocsolver_##L##SY##evd_strided_batched(void *h, int vectors, int fill, int n, T *A, int lda, Int sa,           \
                                               Real<T> *D, Int sd, Real<T> *E, Int, int *info, int count) {            \
        return solve(h, count, {A, D, E, info}, info, [&](Int b) {                                                     \
            return eigen<T>(vectors == EigenvectorsOriginal, fill, n, A + b * sa, lda, D + b * sd);                    \
        });                                                                                                            \
    }                                                                                                                  \
    int rocsolver_##L##SY##gvd(void *h, int form, int vectors, int fill, int n, T *A, int lda, T *B, int ldb,          \
                               Real<T> *D, Real<T> *E, int *info) {                                                    \
        return solve(h, 1, {A, B, D, E, info}, info, [&](Int) {                                                        \
            return generalized_eigen<T>(form - 220, vectors == EigenvectorsOriginal, fill, n, A, lda, B, ldb, D);      \
        });                                                                                                            \
    }                                                                                                                  \
    int rocsolver_##L##SY##trd(void *h, int fill, int n, T *A, int lda, Real<T> *D, Real<T> *E, T *tau) {              \
        return solve(h, 1, {A, D, E, tau}, nullptr,                                                                    \
                     [&](Int) { return tridiagonal_form<T>(fill, n, A, lda, D, E, tau); });                            \
    }

extern "C" {
KPT_FORMS(s, float)
KPT_FORMS(d, double)
KPT_FORMS(c, Complex)
KPT_FORMS(z, DoubleComplex)
KPT_UNITARY(s, float, or, sy)
KPT_UNITARY(d, double, or, sy)
KPT_UNITARY(c, Complex, un, he)
KPT_UNITARY(z, DoubleComplex, un, he)
}
