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

} // namespace

#define KPT_LAPACK(L, T)                                                                                               \
    int hipblas##L##getrf(void *h, int n, T *A, int lda, int *ipiv, int *info) {                                       \
        return run(h, 1, [&](Int b) {                                                                                  \
            if (const Status bad = check(n >= 0 && lda >= std::max(1, n), n == 0 || (A && info), nullptr, 0))          \
                return bad;                                                                                            \
            return keep("getrf", lu<T>(n, n, A, lda, ipiv), info, b);                                                  \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##getrfBatched(void *h, int n, T *const *A, int lda, int *ipiv, int *info, int count) {              \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad = check(n >= 0 && lda >= std::max(1, n), n == 0 || (A && info), nullptr, 0))          \
                return bad;                                                                                            \
            return keep("getrf", lu<T>(n, n, A[b], lda, item(ipiv, b, n)), info, b);                                   \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##getrfStridedBatched(void *h, int n, T *A, int lda, Int sa, int *ipiv, Int sp, int *info,           \
                                        int count) {                                                                   \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad = check(n >= 0 && lda >= std::max(1, n), n == 0 || (A && info), nullptr, 0))          \
                return bad;                                                                                            \
            return keep("getrf", lu<T>(n, n, A + b * sa, lda, item(ipiv, b, sp)), info, b);                            \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##getrs(void *h, int op, int n, int nrhs, T *A, int lda, const int *ipiv, T *B, int ldb,             \
                          int *info) {                                                                                 \
        return hipblas##L##getrsStridedBatched(h, op, n, nrhs, A, lda, 0, ipiv, 0, B, ldb, 0, info, 1);                \
    }                                                                                                                  \
    int hipblas##L##getrsBatched(void *h, int op, int n, int nrhs, T *const *A, int lda, const int *ipiv, T *const *B, \
                                 int ldb, int *info, int count) {                                                      \
        if (!info) return library_status(InvalidPointer);                                                              \
        *info = 0;                                                                                                     \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad = check(n >= 0 && nrhs >= 0 && lda >= std::max(1, n) && ldb >= std::max(1, n),        \
                                         n == 0 || nrhs == 0 || (A && B && ipiv), info,                                \
                                         n < 0      ? 2                                                                \
                                         : nrhs < 0 ? 3                                                                \
                                                    : 5))                                                              \
                return bad;                                                                                            \
            lu_solve<T>(op, n, nrhs, A[b], lda, ipiv + b * n, B[b], ldb);                                              \
            return Ok;                                                                                                 \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##getrsStridedBatched(void *h, int op, int n, int nrhs, T *A, int lda, Int sa, const int *ipiv,      \
                                        Int sp, T *B, int ldb, Int sb, int *info, int count) {                         \
        if (!info) return library_status(InvalidPointer);                                                              \
        *info = 0;                                                                                                     \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad = check(n >= 0 && nrhs >= 0 && lda >= std::max(1, n) && ldb >= std::max(1, n),        \
                                         n == 0 || nrhs == 0 || (A && B && ipiv), info,                                \
                                         n < 0      ? 2                                                                \
                                         : nrhs < 0 ? 3                                                                \
                                                    : 5))                                                              \
                return bad;                                                                                            \
            lu_solve<T>(op, n, nrhs, A + b * sa, lda, ipiv + b * sp, B + b * sb, ldb);                                 \
            return Ok;                                                                                                 \
        });                                                                                                            \
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
        if (!info) return library_status(InvalidPointer);                                                              \
        *info = 0;                                                                                                     \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad =                                                                                     \
                    check(m >= 0 && n >= 0 && lda >= std::max(1, m), m == 0 || n == 0 || (A && tau), info,             \
                          m < 0   ? 1                                                                                  \
                          : n < 0 ? 2                                                                                  \
                                  : 4))                                                                                \
                return bad;                                                                                            \
            return keep("geqrf", qr<T>(m, n, A[b], lda, tau[b]), info, 0);                                             \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##geqrfStridedBatched(void *h, int m, int n, T *A, int lda, Int sa, T *tau, Int sp, int *info,       \
                                        int count) {                                                                   \
        if (!info) return library_status(InvalidPointer);                                                              \
        *info = 0;                                                                                                     \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad =                                                                                     \
                    check(m >= 0 && n >= 0 && lda >= std::max(1, m), m == 0 || n == 0 || (A && tau), info,             \
                          m < 0   ? 1                                                                                  \
                          : n < 0 ? 2                                                                                  \
                                  : 4))                                                                                \
                return bad;                                                                                            \
            return keep("geqrf", qr<T>(m, n, A + b * sa, lda, tau + b * sp), info, 0);                                 \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##gels(void *h, int op, int m, int n, int nrhs, T *A, int lda, T *B, int ldb, int *info,             \
                         int *device_info) {                                                                           \
        return hipblas##L##gelsStridedBatched(h, op, m, n, nrhs, A, lda, 0, B, ldb, 0, info, device_info, 1);          \
    }                                                                                                                  \
    int hipblas##L##gelsBatched(void *h, int op, int m, int n, int nrhs, T *const *A, int lda, T *const *B, int ldb,   \
                                int *info, int *device_info, int count) {                                              \
        if (!info) return library_status(InvalidPointer);                                                              \
        *info = 0;                                                                                                     \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad =                                                                                     \
                    check(m >= 0 && n >= 0 && nrhs >= 0 && lda >= std::max(1, m) && ldb >= std::max({1, m, n}),        \
                          A && B && device_info, info,                                                                 \
                          m < 0   ? 3                                                                                  \
                          : n < 0 ? 4                                                                                  \
                                  : 6))                                                                                \
                return bad;                                                                                            \
            return keep("gels", least_squares<T>(op, m, n, nrhs, A[b], lda, B[b], ldb), device_info, b);               \
        });                                                                                                            \
    }                                                                                                                  \
    int hipblas##L##gelsStridedBatched(void *h, int op, int m, int n, int nrhs, T *A, int lda, Int sa, T *B, int ldb,  \
                                       Int sb, int *info, int *device_info, int count) {                               \
        if (!info) return library_status(InvalidPointer);                                                              \
        *info = 0;                                                                                                     \
        return run(h, count, [&](Int b) {                                                                              \
            if (const Status bad =                                                                                     \
                    check(m >= 0 && n >= 0 && nrhs >= 0 && lda >= std::max(1, m) && ldb >= std::max({1, m, n}),        \
                          A && B && device_info, info,                                                                 \
                          m < 0   ? 3                                                                                  \
                          : n < 0 ? 4                                                                                  \
                                  : 6))                                                                                \
                return bad;                                                                                            \
            return keep("gels", least_squares<T>(op, m, n, nrhs, A + b * sa, lda, B + b * sb, ldb), device_info, b);   \
        });                                                                                                            \
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
