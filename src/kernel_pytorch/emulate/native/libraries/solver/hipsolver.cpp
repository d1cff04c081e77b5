// hipSOLVER: the hipsolver* and hipsolverDn* names, which differ in a few parameters only.
#include <initializer_list>

#include "../common/missing.h"
#include "../common/stream.h"
#include "decompositions.h"

using namespace kpt;

namespace {

enum : int { Success = 0, NotInitialized = 1, InvalidArgument = 3, Internal = 6, Unsupported = 7, HandleIsNull = 9 };

struct Handle {
    void *stream = nullptr;
    int deterministic = 1;
};
struct JacobiInfo {
    double tolerance = 0;
    int sweeps = 100, sort = 1;
};

// Runs `work`, which returns LAPACK's info, and stores that where the caller's device info is.
template <class Work>
int run(void *handle, std::initializer_list<const void *> needed, int *device_info, Work work, Int index = 0) {
    if (!handle) return NotInitialized;
    for (const void *pointer : needed)
        if (!pointer) return InvalidArgument;
    if (wait_for(static_cast<Handle *>(handle)->stream)) return Internal;
    const Int info = work();
    if (info == NoLapack) return unsupported("hipSOLVER", "LAPACK (install scipy-openblas64 or numpy)", Unsupported);
    if (device_info) device_info[index] = static_cast<int>(info);
    return Success;
}

// Workspace comes from the C++ heap; a size of one keeps callers that allocate it happy.
template <class Size> int small(void *handle, Size *size) {
    if (!handle) return NotInitialized;
    if (!size) return InvalidArgument;
    *size = 1;
    return Success;
}

template <class T> int create(void **out) {
    if (!out) return InvalidArgument;
    *out = new T;
    return Success;
}
template <class T> int destroy(void *object) {
    delete static_cast<T *>(object);
    return object ? Success : InvalidArgument;
}

} // namespace

#define KPT_HANDLES(P)                                                                                                 \
    int hipsolver##P##Create(void **handle) { return handle ? create<Handle>(handle) : int(HandleIsNull); }            \
    int hipsolver##P##Destroy(void *handle) { return handle ? destroy<Handle>(handle) : int(NotInitialized); }         \
    int hipsolver##P##SetStream(void *handle, void *stream) {                                                          \
        if (!handle) return NotInitialized;                                                                            \
        static_cast<Handle *>(handle)->stream = stream;                                                                \
        return Success;                                                                                                \
    }                                                                                                                  \
    int hipsolver##P##GetStream(void *handle, void **stream) {                                                         \
        if (!handle || !stream) return handle ? InvalidArgument : NotInitialized;                                      \
        *stream = static_cast<Handle *>(handle)->stream;                                                               \
        return Success;                                                                                                \
    }                                                                                                                  \
    int hipsolver##P##SetDeterministicMode(void *handle, int mode) {                                                   \
        if (!handle) return NotInitialized;                                                                            \
        static_cast<Handle *>(handle)->deterministic = mode;                                                           \
        return Success;                                                                                                \
    }                                                                                                                  \
    int hipsolver##P##GetDeterministicMode(void *handle, int *mode) {                                                  \
        if (!handle || !mode) return handle ? InvalidArgument : NotInitialized;                                        \
        *mode = static_cast<Handle *>(handle)->deterministic;                                                          \
        return Success;                                                                                                \
    }                                                                                                                  \
    KPT_JACOBI(P, Gesvdj, gesvdj)                                                                                      \
    KPT_JACOBI(P, Syevj, syevj)
#define KPT_JACOBI(P, NAME, LOWER)                                                                                     \
    int hipsolver##P##Create##NAME##Info(void **info) { return create<JacobiInfo>(info); }                             \
    int hipsolver##P##Destroy##NAME##Info(void *info) { return destroy<JacobiInfo>(info); }                            \
    int hipsolver##P##X##LOWER##SetTolerance(void *info, double tolerance) {                                           \
        if (!info) return InvalidArgument;                                                                             \
        static_cast<JacobiInfo *>(info)->tolerance = tolerance;                                                        \
        return Success;                                                                                                \
    }                                                                                                                  \
    int hipsolver##P##X##LOWER##SetMaxSweeps(void *info, int sweeps) {                                                 \
        if (!info) return InvalidArgument;                                                                             \
        static_cast<JacobiInfo *>(info)->sweeps = sweeps;                                                              \
        return Success;                                                                                                \
    }                                                                                                                  \
    int hipsolver##P##X##LOWER##SetSortEig(void *info, int sort) {                                                     \
        if (!info) return InvalidArgument;                                                                             \
        static_cast<JacobiInfo *>(info)->sort = sort;                                                                  \
        return Success;                                                                                                \
    }                                                                                                                  \
    int hipsolver##P##X##LOWER##GetResidual(void *, void *info, double *residual) {                                    \
        if (!info || !residual) return InvalidArgument;                                                                \
        *residual = 0;                                                                                                 \
        return Success;                                                                                                \
    }                                                                                                                  \
    int hipsolver##P##X##LOWER##GetSweeps(void *, void *info, int *sweeps) {                                           \
        if (!info || !sweeps) return InvalidArgument;                                                                  \
        *sweeps = 1;                                                                                                   \
        return Success;                                                                                                \
    }

// Names that hipsolver and hipsolverDn have with the same parameters. OR is or/un, SY is sy/he.
#define KPT_COMMON(P, L, T, OR, SY)                                                                                    \
    int hipsolver##P##L##getrf_bufferSize(void *h, int, int, T *, int, int *size) { return small(h, size); }           \
    int hipsolver##P##L##geqrf_bufferSize(void *h, int, int, T *, int, int *size) { return small(h, size); }           \
    int hipsolver##P##L##geqrf(void *h, int m, int n, T *A, int lda, T *tau, T *, int, int *info) {                    \
        return run(h, {A, tau, info}, info, [&] { return qr<T>(m, n, A, lda, tau); });                                 \
    }                                                                                                                  \
    int hipsolver##P##L##OR##gqr_bufferSize(void *h, int, int, int, T *, int, T *, int *size) {                        \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##OR##gqr(void *h, int m, int n, int k, T *A, int lda, T *tau, T *, int, int *info) {           \
        return run(h, {A, tau, info}, info, [&] { return form_q<T>(m, n, k, A, lda, tau); });                          \
    }                                                                                                                  \
    int hipsolver##P##L##OR##mqr_bufferSize(void *h, int, int, int, int, int, T *, int, T *, T *, int, int *size) {    \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##OR##mqr(void *h, int side, int op, int m, int n, int k, T *A, int lda, T *tau, T *C, int ldc, \
                                 T *, int, int *info) {                                                                \
        return run(h, {A, tau, C, info}, info, [&] { return apply_q<T>(side, op, m, n, k, A, lda, tau, C, ldc); });    \
    }                                                                                                                  \
    int hipsolver##P##L##potrf_bufferSize(void *h, int, int, T *, int, int *size) { return small(h, size); }           \
    int hipsolver##P##L##potrf(void *h, int fill, int n, T *A, int lda, T *, int, int *info) {                         \
        return run(h, {A, info}, info, [&] { return cholesky<T>(fill, n, A, lda); });                                  \
    }                                                                                                                  \
    int hipsolver##P##L##potri_bufferSize(void *h, int, int, T *, int, int *size) { return small(h, size); }           \
    int hipsolver##P##L##potri(void *h, int fill, int n, T *A, int lda, T *, int, int *info) {                         \
        return run(h, {A, info}, info, [&] { return cholesky_inverse<T>(fill, n, A, lda); });                          \
    }                                                                                                                  \
    int hipsolver##P##L##gesvd(void *h, signed char ju, signed char jv, int m, int n, T *A, int lda, Real<T> *S, T *U, \
                               int ldu, T *V, int ldv, T *, int, Real<T> *, int *info) {                               \
        return run(h, {A, S, info}, info, [&] { return svd<T>(ju, jv, m, n, A, lda, S, U, ldu, V, ldv); });            \
    }                                                                                                                  \
    int hipsolver##P##L##gesvdj_bufferSize(void *h, int, int, int, int, const T *, int, const Real<T> *, const T *,    \
                                           int, const T *, int, int *size, void *) {                                   \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##gesvdj(void *h, int job, int econ, int m, int n, T *A, int lda, Real<T> *S, T *U, int ldu,    \
                                T *V, int ldv, T *, int, int *info, void *) {                                          \
        return run(h, {A, S, info}, info,                                                                              \
                   [&] { return svd_plain<T>(job == 202, econ, m, n, A, lda, S, U, ldu, V, ldv); });                   \
    }                                                                                                                  \
    int hipsolver##P##L##gesvdjBatched_bufferSize(void *h, int, int, int, const T *, int, const Real<T> *, const T *,  \
                                                  int, const T *, int, int *size, void *, int) {                       \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##gesvdjBatched(void *h, int job, int m, int n, T *A, int lda, Real<T> *S, T *U, int ldu, T *V, \
                                       int ldv, T *, int, int *info, void *, int count) {                              \
        int status = Success;                                                                                          \
        for (Int b = 0; b < count && !status; ++b)                                                                     \
            status = run(                                                                                              \
                h, {A, S, info}, info,                                                                                 \
                [&] {                                                                                                  \
                    return svd_plain<T>(job == 202, false, m, n, A + b * lda * n, lda, S + b * std::min(m, n),         \
                                        U + b * ldu * m, ldu, V + b * ldv * n, ldv);                                   \
                },                                                                                                     \
                b);                                                                                                    \
        return status;                                                                                                 \
    }                                                                                                                  \
    int hipsolver##P##L##SY##evd_bufferSize(void *h, int, int, int, const T *, int, const Real<T> *, int *size) {      \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##SY##evd(void *h, int job, int fill, int n, T *A, int lda, Real<T> *W, T *, int, int *info) {  \
        return run(h, {A, W, info}, info, [&] { return eigen<T>(job == 202, fill, n, A, lda, W); });                   \
    }                                                                                                                  \
    int hipsolver##P##L##SY##evj_bufferSize(void *h, int, int, int, const T *, int, const Real<T> *, int *size,        \
                                            void *) {                                                                  \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##SY##evj(void *h, int job, int fill, int n, T *A, int lda, Real<T> *W, T *, int, int *info,    \
                                 void *) {                                                                             \
        return run(h, {A, W, info}, info, [&] { return eigen<T>(job == 202, fill, n, A, lda, W); });                   \
    }                                                                                                                  \
    int hipsolver##P##L##SY##evjBatched_bufferSize(void *h, int, int, int, const T *, int, const Real<T> *, int *size, \
                                                   void *, int) {                                                      \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##SY##evjBatched(void *h, int job, int fill, int n, T *A, int lda, Real<T> *W, T *, int,        \
                                        int *info, void *, int count) {                                                \
        int status = Success;                                                                                          \
        for (Int b = 0; b < count && !status; ++b)                                                                     \
            status = run(                                                                                              \
                h, {A, W, info}, info, [&] { return eigen<T>(job == 202, fill, n, A + b * lda * n, lda, W + b * n); }, \
                b);                                                                                                    \
        return status;                                                                                                 \
    }                                                                                                                  \
    int hipsolver##P##L##SY##gvd_bufferSize(void *h, int, int, int, int, const T *, int, const T *, int,               \
                                            const Real<T> *, int *size) {                                              \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##SY##gvd(void *h, int type, int job, int fill, int n, T *A, int lda, T *B, int ldb,            \
                                 Real<T> *W, T *, int, int *info) {                                                    \
        return run(h, {A, B, W, info}, info,                                                                           \
                   [&] { return generalized_eigen<T>(type - 210, job == 202, fill, n, A, lda, B, ldb, W); });          \
    }                                                                                                                  \
    int hipsolver##P##L##SY##gvj_bufferSize(void *h, int, int, int, int, const T *, int, const T *, int,               \
                                            const Real<T> *, int *size, void *) {                                      \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##SY##gvj(void *h, int type, int job, int fill, int n, T *A, int lda, T *B, int ldb,            \
                                 Real<T> *W, T *, int, int *info, void *) {                                            \
        return run(h, {A, B, W, info}, info,                                                                           \
                   [&] { return generalized_eigen<T>(type - 210, job == 202, fill, n, A, lda, B, ldb, W); });          \
    }                                                                                                                  \
    int hipsolver##P##L##SY##trd_bufferSize(void *h, int, int, const T *, int, const Real<T> *, const Real<T> *,       \
                                            const T *, int *size) {                                                    \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##P##L##SY##trd(void *h, int fill, int n, T *A, int lda, Real<T> *D, Real<T> *E, T *tau, T *, int,    \
                                 int *info) {                                                                          \
        return run(h, {A, D, E, tau, info}, info, [&] { return tridiagonal_form<T>(fill, n, A, lda, D, E, tau); });    \
    }                                                                                                                  \
    int hipsolver##P##L##gebrd_bufferSize(void *h, int, int, int *size) { return small(h, size); }                     \
    int hipsolver##P##L##gebrd(void *h, int m, int n, T *A, int lda, Real<T> *D, Real<T> *E, T *tauq, T *taup, T *,    \
                               int, int *info) {                                                                       \
        return run(h, {A, D, E, tauq, taup, info}, info,                                                               \
                   [&] { return bidiagonal_form<T>(m, n, A, lda, D, E, tauq, taup); });                                \
    }                                                                                                                  \
    int hipsolver##P##L##sytrf_bufferSize(void *h, int, T *, int, int *size) { return small(h, size); }                \
    int hipsolver##P##L##sytrf(void *h, int fill, int n, T *A, int lda, int *ipiv, T *, int, int *info) {              \
        return run(h, {A, ipiv, info}, info, [&] { return symmetric_factor<T>(fill, n, A, lda, ipiv); });              \
    }                                                                                                                  \
    int hipsolver##P##L##L##gesv(void *h, int n, int nrhs, T *A, int lda, int *ipiv, T *B, int ldb, T *X, int ldx,     \
                                 void *, size_t, int *iterations, int *info) {                                         \
        return run(h, {A, ipiv, B, X, info}, info, [&] {                                                               \
            const Int bad = lu<T>(n, n, A, lda, ipiv);                                                                 \
            for (Int c = 0; c < nrhs; ++c) std::copy(B + c * ldb, B + c * ldb + n, X + c * ldx);                       \
            if (!bad) lu_solve<T>(None, n, nrhs, A, lda, ipiv, X, ldx);                                                \
            if (iterations) *iterations = 0;                                                                           \
            return bad;                                                                                                \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsolver##P##L##L##gels(void *h, int m, int n, int nrhs, T *A, int lda, T *B, int ldb, T *X, int ldx, void *, \
                                 size_t, int *iterations, int *info) {                                                 \
        return run(h, {A, B, X, info}, info, [&] {                                                                     \
            const Int bad = least_squares<T>(None, m, n, nrhs, A, lda, B, ldb);                                        \
            for (Int c = 0; c < nrhs; ++c) std::copy(B + c * ldb, B + c * ldb + n, X + c * ldx);                       \
            if (iterations) *iterations = 0;                                                                           \
            return bad;                                                                                                \
        });                                                                                                            \
    }

// Names whose parameters differ.
#define KPT_OWN(L, T)                                                                                                  \
    int hipsolver##L##getrf(void *h, int m, int n, T *A, int lda, T *, int, int *ipiv, int *info) {                    \
        return run(h, {A, info}, info, [&] { return lu<T>(m, n, A, lda, ipiv); });                                     \
    }                                                                                                                  \
    int hipsolverDn##L##getrf(void *h, int m, int n, T *A, int lda, T *, int *ipiv, int *info) {                       \
        return run(h, {A, info}, info, [&] { return lu<T>(m, n, A, lda, ipiv); });                                     \
    }                                                                                                                  \
    int hipsolver##L##getrs_bufferSize(void *h, int, int, int, T *, int, int *, T *, int, int *size) {                 \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##L##getrs(void *h, int op, int n, int nrhs, T *A, int lda, int *ipiv, T *B, int ldb, T *, int,       \
                            int *info) {                                                                               \
        return run(h, {A, B, info}, info, [&] { return lu_solve<T>(op, n, nrhs, A, lda, ipiv, B, ldb); });             \
    }                                                                                                                  \
    int hipsolverDn##L##getrs(void *h, int op, int n, int nrhs, const T *A, int lda, const int *ipiv, T *B, int ldb,   \
                              int *info) {                                                                             \
        return run(h, {A, B, info}, info, [&] { return lu_solve<T>(op, n, nrhs, A, lda, ipiv, B, ldb); });             \
    }                                                                                                                  \
    int hipsolver##L##potrs_bufferSize(void *h, int, int, int, T *, int, T *, int, int *size) {                        \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##L##potrs(void *h, int fill, int n, int nrhs, T *A, int lda, T *B, int ldb, T *, int, int *info) {   \
        return run(h, {A, B, info}, info, [&] { return cholesky_solve<T>(fill, n, nrhs, A, lda, B, ldb); });           \
    }                                                                                                                  \
    int hipsolverDn##L##potrs(void *h, int fill, int n, int nrhs, const T *A, int lda, T *B, int ldb, int *info) {     \
        return run(h, {A, B, info}, info, [&] { return cholesky_solve<T>(fill, n, nrhs, A, lda, B, ldb); });           \
    }                                                                                                                  \
    int hipsolverDn##L##potrfBatched(void *h, int fill, int n, T **A, int lda, int *info, int count) {                 \
        int status = Success;                                                                                          \
        for (Int b = 0; b < count && !status; ++b)                                                                     \
            status = run(h, {A, info}, info, [&] { return cholesky<T>(fill, n, A[b], lda); }, b);                      \
        return status;                                                                                                 \
    }                                                                                                                  \
    int hipsolver##L##potrfBatched_bufferSize(void *h, int, int, T **, int, int *size, int) { return small(h, size); } \
    int hipsolver##L##potrfBatched(void *h, int fill, int n, T **A, int lda, T *, int, int *info, int count) {         \
        return hipsolverDn##L##potrfBatched(h, fill, n, A, lda, info, count);                                          \
    }                                                                                                                  \
    int hipsolverDn##L##potrsBatched(void *h, int fill, int n, int nrhs, T **A, int lda, T **B, int ldb, int *info,    \
                                     int count) {                                                                      \
        int status = Success;                                                                                          \
        for (Int b = 0; b < count && !status; ++b)                                                                     \
            status =                                                                                                   \
                run(h, {A, B, info}, info, [&] { return cholesky_solve<T>(fill, n, nrhs, A[b], lda, B[b], ldb); }, 0); \
        return status;                                                                                                 \
    }                                                                                                                  \
    int hipsolver##L##potrsBatched_bufferSize(void *h, int, int, int, T **, int, T **, int, int *size, int) {          \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##L##potrsBatched(void *h, int fill, int n, int nrhs, T **A, int lda, T **B, int ldb, T *, int,       \
                                   int *info, int count) {                                                             \
        return hipsolverDn##L##potrsBatched(h, fill, n, nrhs, A, lda, B, ldb, info, count);                            \
    }                                                                                                                  \
    int hipsolver##L##gesvd_bufferSize(void *h, signed char, signed char, int, int, int *size) {                       \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolverDn##L##gesvd_bufferSize(void *h, int, int, int *size) { return small(h, size); }                      \
    int hipsolver##L##L##gesv_bufferSize(void *h, int, int, T *, int, int *, T *, int, T *, int, size_t *size) {       \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolverDn##L##L##gesv_bufferSize(void *h, int, int, T *, int, int *, T *, int, T *, int, void *,             \
                                           size_t *size) {                                                             \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolver##L##L##gels_bufferSize(void *h, int, int, int, T *, int, T *, int, T *, int, size_t *size) {         \
        return small(h, size);                                                                                         \
    }                                                                                                                  \
    int hipsolverDn##L##L##gels_bufferSize(void *h, int, int, int, T *, int, T *, int, T *, int, void *,               \
                                           size_t *size) {                                                             \
        return small(h, size);                                                                                         \
    }

extern "C" {
KPT_HANDLES()
KPT_HANDLES(Dn)
KPT_COMMON(, S, float, or, sy)
KPT_COMMON(, D, double, or, sy)
KPT_COMMON(, C, Complex, un, he)
KPT_COMMON(, Z, DoubleComplex, un, he)
KPT_COMMON(Dn, S, float, or, sy)
KPT_COMMON(Dn, D, double, or, sy)
KPT_COMMON(Dn, C, Complex, un, he)
KPT_COMMON(Dn, Z, DoubleComplex, un, he)
KPT_OWN(S, float)
KPT_OWN(D, double)
KPT_OWN(C, Complex)
KPT_OWN(Z, DoubleComplex)
}
