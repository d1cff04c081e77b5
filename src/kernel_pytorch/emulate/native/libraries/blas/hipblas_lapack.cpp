// hipBLAS's batched LAPACK routines. Statuses as hipBLAS gives them: `info` of a batch tells of singular matrices.
#include "../common/missing.h"
#include "../solver/lapack.h"
#include "run.h"

namespace {

using namespace kpt;

// Stores a LAPACK result; a routine that is not there at all is the call's status, not an `info`.
Status keep(const char *function, Int info, int *where, Int index) {
    if (info == NoLapack) {
        unsupported(function, "LAPACK (install scipy-openblas64 or numpy)", library_status(NotImplemented));
        return NotImplemented;
    }
    if (where) where[index] = static_cast<int>(info);
    return Ok;
}

Status check(bool sizes, bool pointers, int *info, int bad_argument) {
    if (sizes && pointers) return Ok;
    if (info) *info = -bad_argument; // hipBLAS's host-side info names the argument
    return sizes ? InvalidPointer : InvalidSize;
}

// The forms of a routine differ in where matrix b of a batch starts: `at(b)` does the work of one batch.
template <class At> int getrs(void *h, int n, int nrhs, int lda, int ldb, bool pointers, int *info, int count, At at) {
    if (!info) return library_status(InvalidPointer);
    *info = 0;
    return run(h, count, [&](Int b) {
        const bool sizes = n >= 0 && nrhs >= 0 && lda >= std::max(1, n) && ldb >= std::max(1, n);
        const int argument = n < 0 ? 2 : nrhs < 0 ? 3 : 5;
        if (const Status bad = check(sizes, n == 0 || nrhs == 0 || pointers, info, argument)) return bad;
        at(b);
        return Ok;
    });
}

template <class At> int geqrf(void *h, int m, int n, int lda, bool pointers, int *info, int count, At at) {
    if (!info) return library_status(InvalidPointer);
    *info = 0;
    return run(h, count, [&](Int b) {
        const bool sizes = m >= 0 && n >= 0 && lda >= std::max(1, m);
        const int argument = m < 0 ? 1 : n < 0 ? 2 : 4;
        if (const Status bad = check(sizes, m == 0 || n == 0 || pointers, info, argument)) return bad;
        return keep("geqrf", at(b), info, 0);
    });
}

template <class At>
int gels(void *h, int m, int n, int nrhs, int lda, int ldb, bool pointers, int *info, int *device_info, int count,
         At at) {
    if (!info) return library_status(InvalidPointer);
    *info = 0;
    return run(h, count, [&](Int b) {
        const bool sizes = m >= 0 && n >= 0 && nrhs >= 0 && lda >= std::max(1, m) && ldb >= std::max({1, m, n});
        const int argument = m < 0 ? 3 : n < 0 ? 4 : 6;
        if (const Status bad = check(sizes, pointers && device_info, info, argument)) return bad;
        return keep("gels", at(b), device_info, b);
    });
}

template <class At> int getrf(void *h, int n, int lda, bool pointers, int *info, int count, At at) {
    return run(h, count, [&](Int b) {
        const bool sizes = n >= 0 && lda >= std::max(1, n);
        if (const Status bad = check(sizes, n == 0 || (pointers && info), nullptr, 0)) return bad;
        return keep("getrf", at(b), info, b);
    });
}

} // namespace

#define KPT_LAPACK(L, T)                                                                                               \
    int hipblas##L##getrf(void *h, int n, T *A, int lda, int *ipiv, int *info) {                                       \
        return getrf(h, n, lda, A, info, 1, [&](Int) { return lu<T>(n, n, A, lda, ipiv); });                           \
    }                                                                                                                  \
    int hipblas##L##getrfBatched(void *h, int n, T *const *A, int lda, int *ipiv, int *info, int count) {              \
        return getrf(h, n, lda, A, info, count, [&](Int b) { return lu<T>(n, n, A[b], lda, item(ipiv, b, n)); });      \
    }                                                                                                                  \
    int hipblas##L##getrfStridedBatched(void *h, int n, T *A, int lda, Int sa, int *ipiv, Int sp, int *info,           \
                                        int count) {                                                                   \
        return getrf(h, n, lda, A, info, count,                                                                        \
                     [&](Int b) { return lu<T>(n, n, A + b * sa, lda, item(ipiv, b, sp)); });                          \
    }                                                                                                                  \
    int hipblas##L##getrs(void *h, int op, int n, int nrhs, T *A, int lda, const int *ipiv, T *B, int ldb,             \
                          int *info) {                                                                                 \
        return hipblas##L##getrsStridedBatched(h, op, n, nrhs, A, lda, 0, ipiv, 0, B, ldb, 0, info, 1);                \
    }                                                                                                                  \
    int hipblas##L##getrsBatched(void *h, int op, int n, int nrhs, T *const *A, int lda, const int *ipiv, T *const *B, \
                                 int ldb, int *info, int count) {                                                      \
        return getrs(h, n, nrhs, lda, ldb, A && B && ipiv, info, count,                                                \
                     [&](Int b) { lu_solve<T>(op, n, nrhs, A[b], lda, ipiv + b * n, B[b], ldb); });                    \
    }                                                                                                                  \
    int hipblas##L##getrsStridedBatched(void *h, int op, int n, int nrhs, T *A, int lda, Int sa, const int *ipiv,      \
                                        Int sp, T *B, int ldb, Int sb, int *info, int count) {                         \
        return getrs(h, n, nrhs, lda, ldb, A && B && ipiv, info, count,                                                \
                     [&](Int b) { lu_solve<T>(op, n, nrhs, A + b * sa, lda, ipiv + b * sp, B + b * sb, ldb); });       \
    }                                                                                                                  \
    int hipblas##L##getriBatched(void *h, int n, T *const *A, int lda, int *ipiv, T *const *C, int ldc, int *info,     \
                                 int count) {                                                                          \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad = check(n >= 0 && lda >= std::max(1, n) && ldc >= std::max(1, n),                     \
                                         n == 0 || (A && C && info), nullptr, 0))                                      \
                return bad;                                                                                            \
            return keep("getri", lu_inverse<T>(n, A[b], lda, item(ipiv, b, n), C[b], ldc), info, b);                   \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##geqrf(void *h, int m, int n, T *A, int lda, T *tau, int *info) {                                   \
        return hipblas##L##geqrfStridedBatched(h, m, n, A, lda, 0, tau, 0, info, 1);                                   \
    }                                                                                                                  \
    int hipblas##L##geqrfBatched(void *h, int m, int n, T *const *A, int lda, T *const *tau, int *info, int count) {   \
        return geqrf(h, m, n, lda, A && tau, info, count, [&](Int b) { return qr<T>(m, n, A[b], lda, tau[b]); });      \
    }                                                                                                                  \
    int hipblas##L##geqrfStridedBatched(void *h, int m, int n, T *A, int lda, Int sa, T *tau, Int sp, int *info,       \
                                        int count) {                                                                   \
        return geqrf(h, m, n, lda, A && tau, info, count,                                                              \
                     [&](Int b) { return qr<T>(m, n, A + b * sa, lda, tau + b * sp); });                               \
    }                                                                                                                  \
    int hipblas##L##gels(void *h, int op, int m, int n, int nrhs, T *A, int lda, T *B, int ldb, int *info,             \
                         int *device_info) {                                                                           \
        return hipblas##L##gelsStridedBatched(h, op, m, n, nrhs, A, lda, 0, B, ldb, 0, info, device_info, 1);          \
    }                                                                                                                  \
    int hipblas##L##gelsBatched(void *h, int op, int m, int n, int nrhs, T *const *A, int lda, T *const *B, int ldb,   \
                                int *info, int *device_info, int count) {                                              \
        return gels(h, m, n, nrhs, lda, ldb, A && B, info, device_info, count,                                         \
                    [&](Int b) { return least_squares<T>(op, m, n, nrhs, A[b], lda, B[b], ldb); });                    \
    }                                                                                                                  \
    int hipblas##L##gelsStridedBatched(void *h, int op, int m, int n, int nrhs, T *A, int lda, Int sa, T *B, int ldb,  \
                                       Int sb, int *info, int *device_info, int count) {                               \
        return gels(h, m, n, nrhs, lda, ldb, A && B, info, device_info, count,                                         \
                    [&](Int b) { return least_squares<T>(op, m, n, nrhs, A + b * sa, lda, B + b * sb, ldb); });        \
    }

#define KPT_DECLARE(L, T)                                                                                              \
    int hipblas##L##getrsStridedBatched(void *, int, int, int, T *, int, Int, const int *, Int, T *, int, Int, int *,  \
                                        int);                                                                          \
    int hipblas##L##geqrfStridedBatched(void *, int, int, T *, int, Int, T *, Int, int *, int);                        \
    int hipblas##L##gelsStridedBatched(void *, int, int, int, int, T *, int, Int, T *, int, Int, int *, int *, int);   \
    KPT_LAPACK(L, T)

extern "C" {
KPT_DECLARE(S, float)
KPT_DECLARE(D, double)
KPT_DECLARE(C, kpt::Complex)
KPT_DECLARE(Z, kpt::DoubleComplex)
}
