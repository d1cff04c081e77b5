// rocSPARSE: its most used names, put on top of hipSPARSE's (the other way round than in ROCm, but one engine).
#include "matrix.h"

using namespace kpt;

extern "C" {
int hipsparseCreate(void **);
int hipsparseDestroy(void *);
int hipsparseSetStream(void *, void *);
int hipsparseGetStream(void *, void **);
int hipsparseSetPointerMode(void *, int);
int hipsparseGetPointerMode(void *, int *);
int hipsparseCreateMatDescr(void **);
int hipsparseDestroyMatDescr(void *);
int hipsparseCreateCsr(void **, Int, Int, Int, void *, void *, void *, int, int, int, int);
int hipsparseCreateCsc(void **, Int, Int, Int, void *, void *, void *, int, int, int, int);
int hipsparseCreateCoo(void **, Int, Int, Int, void *, void *, void *, int, int, int);
int hipsparseCreateDnVec(void **, Int, void *, int);
int hipsparseCreateDnMat(void **, Int, Int, Int, void *, int, int);
int hipsparseCreateSpVec(void **, Int, Int, void *, void *, int, int, int);
int hipsparseDestroySpMat(const void *);
int hipsparseDestroyDnMat(const void *);
int hipsparseDestroyDnVec(const void *);
int hipsparseDestroySpVec(const void *);
int hipsparseSpMV(void *, int, const void *, const void *, const void *, const void *, const void *, int, int, void *);
int hipsparseSpMM(void *, int, int, const void *, const void *, const void *, const void *, const void *, int, int,
                  void *);
int hipsparseSDDMM(void *, int, int, const void *, const void *, const void *, const void *, void *, int, int, void *);
int hipsparseSpSV_solve(void *, int, const void *, const void *, const void *, const void *, int, int, void *);
int hipsparseSparseToDense(void *, const void *, void *, int, void *);
int hipsparseDenseToSparse_analysis(void *, const void *, void *, int, void *);
int hipsparseDenseToSparse_convert(void *, const void *, void *, int, void *);
int hipsparseAxpby(void *, const void *, const void *, const void *, void *);
int hipsparseGather(void *, const void *, void *);
int hipsparseScatter(void *, const void *, void *);
int hipsparseSetMatType(void *, int);
int hipsparseSetMatFillMode(void *, int);
int hipsparseSetMatDiagType(void *, int);
int hipsparseSetMatIndexBase(void *, int);
int hipsparseXcsr2coo(void *, const int *, int, int, int *, int);
int hipsparseXcoo2csr(void *, const int *, int, int, int *, int);
int hipsparseCreateIdentityPermutation(void *, int, int *);
int hipsparseXcsrsort(void *, int, int, int, const void *, const int *, int *, int *, void *);
}

namespace {

int status(int hip) {
    switch (hip) {
    case NotInitialized: return 1;
    case AllocFailed: return 5;
    case InvalidSparseValue: return 7;
    case SparseInternal: return 6;
    case ZeroPivot: return 9;
    case SparseNotSupported: return 2;
    default: return hip;
    }
}

int op_of(int op) { return op - 111; }

int order_of(int order) { return order == 0 ? RowMajor : ColumnMajor; }

// Generic calls come in stages: 1 asks for the buffer, 2 prepares, 3 computes.
template <class Compute> int staged(void *handle, int stage, size_t *bytes, Compute compute) {
    if (!handle) return 1;
    if (stage == 1) {
        if (!bytes) return 3;
        *bytes = 4;
        return 0;
    }
    return stage == 2 ? 0 : status(compute());
}

} // namespace

extern "C" {

int rocsparse_create_handle(void **handle) { return handle ? status(hipsparseCreate(handle)) : 1; }
int rocsparse_destroy_handle(void *handle) { return status(hipsparseDestroy(handle)); }
int rocsparse_set_stream(void *handle, void *stream) { return status(hipsparseSetStream(handle, stream)); }
int rocsparse_get_stream(void *handle, void **stream) { return status(hipsparseGetStream(handle, stream)); }
int rocsparse_set_pointer_mode(void *handle, int mode) { return status(hipsparseSetPointerMode(handle, mode)); }
int rocsparse_get_pointer_mode(void *handle, int *mode) { return status(hipsparseGetPointerMode(handle, mode)); }
int rocsparse_get_version(void *handle, int *version) {
    if (!handle || !version) return handle ? 3 : 1;
    *version = 400200;
    return 0;
}
const char *rocsparse_get_status_name(int code) {
    static const char *const names[] = {"rocsparse_status_success",
                                        "rocsparse_status_invalid_handle",
                                        "rocsparse_status_not_implemented",
                                        "rocsparse_status_invalid_pointer",
                                        "rocsparse_status_invalid_size",
                                        "rocsparse_status_memory_error",
                                        "rocsparse_status_internal_error",
                                        "rocsparse_status_invalid_value",
                                        "rocsparse_status_arch_mismatch",
                                        "rocsparse_status_zero_pivot",
                                        "rocsparse_status_not_initialized",
                                        "rocsparse_status_type_mismatch",
                                        "rocsparse_status_requires_sorted_storage",
                                        "rocsparse_status_thrown_exception",
                                        "rocsparse_status_continue"};
    return code >= 0 && code < 15 ? names[code] : "Unrecognized status code";
}
const char *rocsparse_get_status_description(int code) { return rocsparse_get_status_name(code); }

int rocsparse_create_mat_descr(void **d) { return status(hipsparseCreateMatDescr(d)); }
int rocsparse_destroy_mat_descr(void *d) { return status(hipsparseDestroyMatDescr(d)); }
int rocsparse_set_mat_type(void *d, int value) { return status(hipsparseSetMatType(d, value)); }
int rocsparse_set_mat_fill_mode(void *d, int value) { return status(hipsparseSetMatFillMode(d, value)); }
int rocsparse_set_mat_diag_type(void *d, int value) { return status(hipsparseSetMatDiagType(d, value)); }
int rocsparse_set_mat_index_base(void *d, int value) { return status(hipsparseSetMatIndexBase(d, value)); }

#define KPT_CREATE(CONST)                                                                                              \
    int rocsparse_create_##CONST##csr_descr(void **out, Int m, Int n, Int count, void *ro, void *co, void *v, int rt,  \
                                            int ct, int base, int type) {                                              \
        return status(hipsparseCreateCsr(out, m, n, count, ro, co, v, rt, ct, base, from_rocm_type(type)));            \
    }                                                                                                                  \
    int rocsparse_create_##CONST##csc_descr(void **out, Int m, Int n, Int count, void *co, void *ro, void *v, int ct,  \
                                            int rt, int base, int type) {                                              \
        return status(hipsparseCreateCsc(out, m, n, count, co, ro, v, ct, rt, base, from_rocm_type(type)));            \
    }                                                                                                                  \
    int rocsparse_create_##CONST##coo_descr(void **out, Int m, Int n, Int count, void *ro, void *co, void *v, int it,  \
                                            int base, int type) {                                                      \
        return status(hipsparseCreateCoo(out, m, n, count, ro, co, v, it, base, from_rocm_type(type)));                \
    }                                                                                                                  \
    int rocsparse_create_##CONST##dnvec_descr(void **out, Int n, void *v, int type) {                                  \
        return status(hipsparseCreateDnVec(out, n, v, from_rocm_type(type)));                                          \
    }                                                                                                                  \
    int rocsparse_create_##CONST##dnmat_descr(void **out, Int m, Int n, Int ld, void *v, int type, int order) {        \
        return status(hipsparseCreateDnMat(out, m, n, ld, v, from_rocm_type(type), order_of(order)));                  \
    }                                                                                                                  \
    int rocsparse_create_##CONST##spvec_descr(void **out, Int n, Int count, void *i, void *v, int it, int base,        \
                                              int type) {                                                              \
        return status(hipsparseCreateSpVec(out, n, count, i, v, it, base, from_rocm_type(type)));                      \
    }
KPT_CREATE()
KPT_CREATE(const_)
int rocsparse_destroy_spmat_descr(const void *d) { return status(hipsparseDestroySpMat(d)); }
int rocsparse_destroy_dnmat_descr(const void *d) { return status(hipsparseDestroyDnMat(d)); }
int rocsparse_destroy_dnvec_descr(const void *d) { return status(hipsparseDestroyDnVec(d)); }
int rocsparse_destroy_spvec_descr(const void *d) { return status(hipsparseDestroySpVec(d)); }

int rocsparse_spmv(void *h, int op, const void *alpha, const void *A, const void *x, const void *beta, const void *y,
                   int compute, int, int stage, size_t *bytes, void *buffer) {
    return staged(h, stage, bytes, [&] {
        return hipsparseSpMV(h, op_of(op), alpha, A, x, beta, y, from_rocm_type(compute), 0, buffer);
    });
}
int rocsparse_spmm(void *h, int op_a, int op_b, const void *alpha, const void *A, const void *B, const void *beta,
                   const void *C, int compute, int, int stage, size_t *bytes, void *buffer) {
    return staged(h, stage, bytes, [&] {
        return hipsparseSpMM(h, op_of(op_a), op_of(op_b), alpha, A, B, beta, C, from_rocm_type(compute), 0, buffer);
    });
}
int rocsparse_spsv(void *h, int op, const void *alpha, const void *A, const void *x, const void *y, int compute, int,
                   int stage, size_t *bytes, void *) {
    return staged(h, stage, bytes,
                  [&] { return hipsparseSpSV_solve(h, op_of(op), alpha, A, x, y, from_rocm_type(compute), 0, h); });
}
int rocsparse_sddmm_buffer_size(void *h, int, int, const void *, const void *, const void *, const void *, const void *,
                                int, int, size_t *bytes) {
    return staged(h, 1, bytes, [] { return 0; });
}
int rocsparse_sddmm_preprocess(void *h, int, int, const void *, const void *, const void *, const void *, const void *,
                               int, int, void *) {
    return h ? 0 : 1;
}
int rocsparse_sddmm(void *h, int op_a, int op_b, const void *alpha, const void *A, const void *B, const void *beta,
                    void *C, int compute, int, void *buffer) {
    return status(
        hipsparseSDDMM(h, op_of(op_a), op_of(op_b), alpha, A, B, beta, C, from_rocm_type(compute), 0, buffer));
}
int rocsparse_sparse_to_dense(void *h, const void *A, void *B, int, size_t *bytes, void *buffer) {
    return staged(h, buffer ? 3 : 1, bytes, [&] { return hipsparseSparseToDense(h, A, B, 0, buffer); });
}
int rocsparse_dense_to_sparse(void *h, const void *A, void *B, int, size_t *bytes, void *buffer) {
    // Without a buffer it is the size query; with one the first call counts, the second, with arrays set, fills.
    if (!buffer && bytes) return staged(h, 1, bytes, [] { return 0; });
    const bool ready = B && static_cast<SparseMatrix *>(B)->values;
    return status(ready ? hipsparseDenseToSparse_convert(h, A, B, 0, buffer)
                        : hipsparseDenseToSparse_analysis(h, A, B, 0, buffer));
}
int rocsparse_axpby(void *h, const void *alpha, const void *x, const void *beta, void *y) {
    return status(hipsparseAxpby(h, alpha, x, beta, y));
}
int rocsparse_gather(void *h, const void *y, void *x) { return status(hipsparseGather(h, y, x)); }
int rocsparse_scatter(void *h, const void *x, void *y) { return status(hipsparseScatter(h, x, y)); }
int rocsparse_csr2coo(void *h, const int *offsets, int count, int m, int *rows, int base) {
    return status(hipsparseXcsr2coo(h, offsets, count, m, rows, base));
}
int rocsparse_coo2csr(void *h, const int *rows, int count, int m, int *offsets, int base) {
    return status(hipsparseXcoo2csr(h, rows, count, m, offsets, base));
}
int rocsparse_create_identity_permutation(void *h, int n, int *p) {
    return status(hipsparseCreateIdentityPermutation(h, n, p));
}
int rocsparse_csrsort_buffer_size(void *h, int, int, int, const int *, const int *, size_t *bytes) {
    return staged(h, 1, bytes, [] { return 0; });
}
int rocsparse_csrsort(void *h, int m, int n, int count, const void *d, const int *offsets, int *columns, int *p,
                      void *buffer) {
    return status(hipsparseXcsrsort(h, m, n, count, d, offsets, columns, p, buffer));
}
int rocsparse_csr2csc_buffer_size(void *h, int, int, int, const int *, const int *, int, size_t *bytes) {
    return staged(h, 1, bytes, [] { return 0; });
}

#define KPT_TYPED(LOWER, UPPER, T)                                                                                     \
    int hipsparse##UPPER##csrmv(void *, int, int, int, int, const T *, const void *, const T *, const int *,           \
                                const int *, const T *, const T *, T *);                                               \
    int hipsparse##UPPER##csrmm2(void *, int, int, int, int, int, int, const T *, const void *, const T *,             \
                                 const int *, const int *, const T *, int, const T *, T *, int);                       \
    int hipsparse##UPPER##csr2csc(void *, int, int, int, const T *, const int *, const int *, T *, int *, int *, int,  \
                                  int);                                                                                \
    int hipsparse##UPPER##csr2dense(void *, int, int, const void *, const T *, const int *, const int *, T *, int);    \
    int hipsparse##UPPER##dense2csr(void *, int, int, const void *, const T *, int, const int *, T *, int *, int *);   \
    int rocsparse_##LOWER##csrmv_analysis(void *h, int, int, int, int, const void *, const T *, const int *,           \
                                          const int *, void *) {                                                       \
        return h ? 0 : 1;                                                                                              \
    }                                                                                                                  \
    int rocsparse_##LOWER##csrmv(void *h, int op, int m, int n, int count, const T *alpha, const void *d, const T *v,  \
                                 const int *ro, const int *co, void *, const T *x, const T *beta, T *y) {              \
        return status(hipsparse##UPPER##csrmv(h, op_of(op), m, n, count, alpha, d, v, ro, co, x, beta, y));            \
    }                                                                                                                  \
    int rocsparse_##LOWER##csrmm(void *h, int op_a, int op_b, int m, int n, int k, int count, const T *alpha,          \
                                 const void *d, const T *v, const int *ro, const int *co, const T *B, int ldb,         \
                                 const T *beta, T *C, int ldc) {                                                       \
        return status(hipsparse##UPPER##csrmm2(h, op_of(op_a), op_of(op_b), m, n, k, count, alpha, d, v, ro, co, B,    \
                                               ldb, beta, C, ldc));                                                    \
    }                                                                                                                  \
    int rocsparse_##LOWER##csr2csc(void *h, int m, int n, int count, const T *v, const int *ro, const int *co, T *vo,  \
                                   int *rows, int *offsets, int action, int base, void *) {                            \
        return status(hipsparse##UPPER##csr2csc(h, m, n, count, v, ro, co, vo, rows, offsets, action, base));          \
    }                                                                                                                  \
    int rocsparse_##LOWER##csr2dense(void *h, int m, int n, const void *d, const T *v, const int *ro, const int *co,   \
                                     T *A, int ld) {                                                                   \
        return status(hipsparse##UPPER##csr2dense(h, m, n, d, v, ro, co, A, ld));                                      \
    }                                                                                                                  \
    int rocsparse_##LOWER##dense2csr(void *h, int m, int n, const void *d, const T *A, int ld, const int *per_row,     \
                                     T *v, int *ro, int *co) {                                                         \
        return status(hipsparse##UPPER##dense2csr(h, m, n, d, A, ld, per_row, v, ro, co));                             \
    }
KPT_TYPED(s, S, float)
KPT_TYPED(d, D, double)
KPT_TYPED(c, C, Complex)
KPT_TYPED(z, Z, DoubleComplex)
}
