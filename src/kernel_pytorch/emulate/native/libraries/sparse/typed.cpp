// hipSPARSE's older interface with typed names: products, triangular solves, incomplete factors, tridiagonal solves.
#include "run.h"

using namespace kpt;

namespace {

const MatrixDescription &described(const void *d) { return *static_cast<const MatrixDescription *>(d); }

template <class T>
SparseMatrix csr(Int m, Int n, Int count, const void *description, const T *values, const int *offsets,
                 const int *columns, int type) {
    SparseMatrix matrix{Csr,
                        m,
                        n,
                        count,
                        const_cast<int *>(offsets),
                        const_cast<int *>(columns),
                        const_cast<T *>(values),
                        Index32,
                        Index32,
                        described(description).base,
                        type};
    matrix.fill = described(description).fill, matrix.diagonal = described(description).diagonal;
    return matrix;
}

// A block matrix spelt out entry by entry; direction says whether blocks are stored by rows (0) or columns (1).
template <class T>
Rows<T> read_blocks(int direction, Int mb, Int nb, int base, const T *values, const int *offsets, const int *columns,
                    Int block) {
    std::vector<Int> row, column, place;
    std::vector<T> value;
    for (Int br = 0; br < mb; ++br)
        for (Int at = offsets[br] - base; at < offsets[br + 1] - base; ++at)
            for (Int i = 0; i < block; ++i)
                for (Int j = 0; j < block; ++j) {
                    const Int where = at * block * block + (direction == 0 ? i * block + j : j * block + i);
                    row.push_back(br * block + i), column.push_back((columns[at] - base) * block + j);
                    place.push_back(where), value.push_back(values[where]);
                }
    return Rows<T>::from(mb * block, nb * block, row, column, value, place);
}

template <class T> void times_vector(const Rows<T> &a, T alpha, const T *x, T beta, T *y) {
    for (Int r = 0; r < a.rows; ++r) {
        T sum(0);
        for (Int at = a.start[r]; at < a.start[r + 1]; ++at) sum += a.value[at] * x[a.column[at]];
        y[r] = alpha * sum + (beta == T(0) ? T(0) : beta * y[r]);
    }
}

template <class T>
void times_matrix(const Rows<T> &a, int op_b, Int n, T alpha, const T *B, Int ldb, T beta, T *C, Int ldc) {
    for (Int c = 0; c < n; ++c)
        for (Int r = 0; r < a.rows; ++r) {
            T sum(0);
            for (Int at = a.start[r]; at < a.start[r + 1]; ++at) {
                const T value = op_b == Plain ? B[a.column[at] + c * ldb] : B[c + a.column[at] * ldb];
                sum += a.value[at] * (op_b == ConjugateFlipped ? conjugate(value) : value);
            }
            C[r + c * ldc] = alpha * sum + (beta == T(0) ? T(0) : beta * C[r + c * ldc]);
        }
}

struct FactorInfo {
    int zero_pivot = -1; // as the caller's index base counts
    bool boost = false;
    double tolerance = 0;
    DoubleComplex boost_value = 0;
};

// Incomplete LU on the given places. Columns of a row must be sorted, as the real library asks too.
template <class T> int ilu(Rows<T> a, T *values, FactorInfo *info, int base) {
    std::vector<Int> diagonal(static_cast<size_t>(a.rows), -1), where(static_cast<size_t>(a.columns), -1);
    info->zero_pivot = -1;
    for (Int r = 0; r < a.rows; ++r) {
        for (Int at = a.start[r]; at < a.start[r + 1]; ++at) {
            where[a.column[at]] = at;
            if (a.column[at] == r) diagonal[r] = at;
        }
        for (Int at = a.start[r]; at < a.start[r + 1] && a.column[at] < r; ++at) {
            const Int pivot_row = a.column[at], pivot = diagonal[pivot_row];
            if (pivot < 0 || a.value[pivot] == T(0)) continue;
            const T factor = a.value[at] /= a.value[pivot];
            for (Int i = pivot + 1; i < a.start[pivot_row + 1]; ++i)
                if (where[a.column[i]] >= 0) a.value[where[a.column[i]]] -= factor * a.value[i];
        }
        if (info->boost && diagonal[r] >= 0 && std::abs(a.value[diagonal[r]]) <= info->tolerance)
            a.value[diagonal[r]] = convert<T>(info->boost_value);
        if ((diagonal[r] < 0 || a.value[diagonal[r]] == T(0)) && info->zero_pivot < 0)
            info->zero_pivot = static_cast<int>(r) + base;
        for (Int at = a.start[r]; at < a.start[r + 1]; ++at) where[a.column[at]] = -1;
    }
    for (size_t i = 0; i < a.value.size(); ++i) values[a.place[i]] = a.value[i];
    return SparseOk;
}

// Incomplete Cholesky on the lower places.
template <class T> int icholesky(Rows<T> a, T *values, FactorInfo *info, int base) {
    std::vector<Int> diagonal(static_cast<size_t>(a.rows), -1), where(static_cast<size_t>(a.columns), -1);
    info->zero_pivot = -1;
    for (Int r = 0; r < a.rows; ++r) {
        for (Int at = a.start[r]; at < a.start[r + 1]; ++at) {
            const Int c = a.column[at];
            if (c > r) continue;
            T sum = a.value[at];
            if (c == r) {
                for (Int i = a.start[r]; i < at; ++i) sum -= a.value[i] * conjugate(a.value[i]);
                diagonal[r] = at;
                if (real_part(sum) <= 0) {
                    info->zero_pivot = info->zero_pivot < 0 ? static_cast<int>(r) + base : info->zero_pivot;
                    continue;
                }
                a.value[at] = std::sqrt(sum);
            } else {
                for (Int i = a.start[c]; i < a.start[c + 1] && a.column[i] < c; ++i)
                    if (where[a.column[i]] >= 0) sum -= a.value[where[a.column[i]]] * conjugate(a.value[i]);
                if (diagonal[c] >= 0 && a.value[diagonal[c]] != T(0)) a.value[at] = sum / a.value[diagonal[c]];
            }
            where[c] = at;
        }
        if (diagonal[r] < 0 && info->zero_pivot < 0) info->zero_pivot = static_cast<int>(r) + base;
        for (Int at = a.start[r]; at < a.start[r + 1]; ++at) where[a.column[at]] = -1;
    }
    for (size_t i = 0; i < a.value.size(); ++i) values[a.place[i]] = a.value[i];
    return SparseOk;
}

// Tridiagonal system with partial pivoting (the no-pivot form gives the same where it works at all).
template <class T>
void tridiagonal(Int m, const T *lower, const T *diagonal, const T *upper, Int step, T *x, Int step_x) {
    std::vector<T> d(m), u(m, T(0)), u2(m, T(0)), l(m);
    for (Int i = 0; i < m; ++i)
        d[i] = diagonal[i * step], u[i] = i + 1 < m ? upper[i * step] : T(0), l[i] = i ? lower[i * step] : T(0);
    for (Int i = 0; i + 1 < m; ++i) {
        if (one_norm(l[i + 1]) > one_norm(d[i])) {
            std::swap(d[i], l[i + 1]), std::swap(u[i], d[i + 1]), std::swap(u2[i], u[i + 1]);
            std::swap(x[i * step_x], x[(i + 1) * step_x]);
        }
        const T factor = l[i + 1] / d[i];
        d[i + 1] -= factor * u[i], u[i + 1] -= factor * u2[i];
        x[(i + 1) * step_x] -= factor * x[i * step_x];
    }
    for (Int i = m - 1; i >= 0; --i) {
        T sum = x[i * step_x];
        if (i + 1 < m) sum -= u[i] * x[(i + 1) * step_x];
        if (i + 2 < m) sum -= u2[i] * x[(i + 2) * step_x];
        x[i * step_x] = sum / d[i];
    }
}

int small_buffer(void *handle, int *bytes) {
    if (!handle || !bytes) return handle ? InvalidSparseValue : NotInitialized;
    *bytes = 4;
    return SparseOk;
}
int small_buffer(void *handle, size_t *bytes) {
    if (!handle || !bytes) return handle ? InvalidSparseValue : NotInitialized;
    *bytes = 4;
    return SparseOk;
}

int pivot_status(void *handle, void *info, int *position) {
    return run_sparse(handle, {info, position}, [&] {
        *position = static_cast<FactorInfo *>(info)->zero_pivot;
        return *position < 0 ? int(SparseOk) : int(ZeroPivot);
    });
}

} // namespace

extern "C" {

#define KPT_INFO(NAME, ROUTINE)                                                                                        \
    int hipsparseCreate##NAME##Info(void **info) {                                                                     \
        if (!info) return InvalidSparseValue;                                                                          \
        *info = new FactorInfo;                                                                                        \
        return SparseOk;                                                                                               \
    }                                                                                                                  \
    int hipsparseDestroy##NAME##Info(void *info) {                                                                     \
        delete static_cast<FactorInfo *>(info);                                                                        \
        return SparseOk;                                                                                               \
    }                                                                                                                  \
    int hipsparseX##ROUTINE##_zeroPivot(void *h, void *info, int *position) { return pivot_status(h, info, position); }
KPT_INFO(Csrilu02, csrilu02)
KPT_INFO(Csric02, csric02)
KPT_INFO(Csrsv2, csrsv2)
KPT_INFO(Csrsm2, csrsm2)

#define KPT_BUFFERS(L, T, NAME)                                                                                        \
    int hipsparse##L##NAME##_bufferSize(void *h, int, int, const void *, T *, const int *, const int *, void *,        \
                                        int *bytes) {                                                                  \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##NAME##_bufferSizeExt(void *h, int, int, const void *, T *, const int *, const int *, void *,     \
                                           size_t *bytes) {                                                            \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##NAME##_analysis(void *h, int, int, const void *d, const T *v, const int *ro, const int *co,      \
                                      void *info, int, void *) {                                                       \
        return run_sparse(h, {d, v, ro, co, info}, [] { return int(SparseOk); });                                      \
    }

#define KPT_TYPED(L, T, TYPE)                                                                                          \
    int hipsparse##L##csrmv(void *h, int op, int m, int n, int count, const T *alpha, const void *d, const T *v,       \
                            const int *ro, const int *co, const T *x, const T *beta, T *y) {                           \
        return run_sparse(h, {alpha, d, v, ro, co, x, beta, y}, [&] {                                                  \
            times_vector(read_rows<T>(csr(m, n, count, d, v, ro, co, TYPE)).applied(op), *alpha, x, *beta, y);         \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csrmm2(void *h, int op_a, int op_b, int m, int n, int k, int count, const T *alpha,              \
                             const void *d, const T *v, const int *ro, const int *co, const T *B, int ldb,             \
                             const T *beta, T *C, int ldc) {                                                           \
        return run_sparse(h, {alpha, d, v, ro, co, B, beta, C}, [&] {                                                  \
            times_matrix(read_rows<T>(csr(m, k, count, d, v, ro, co, TYPE)).applied(op_a), op_b, n, *alpha, B, ldb,    \
                         *beta, C, ldc);                                                                               \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csrmm(void *h, int op, int m, int n, int k, int count, const T *alpha, const void *d,            \
                            const T *v, const int *ro, const int *co, const T *B, int ldb, const T *beta, T *C,        \
                            int ldc) {                                                                                 \
        return hipsparse##L##csrmm2(h, op, 0, m, n, k, count, alpha, d, v, ro, co, B, ldb, beta, C, ldc);              \
    }                                                                                                                  \
    int hipsparse##L##bsrmv(void *h, int direction, int op, int mb, int nb, int, const T *alpha, const void *d,        \
                            const T *v, const int *ro, const int *co, int block, const T *x, const T *beta, T *y) {    \
        return run_sparse(h, {alpha, d, v, ro, co, x, beta, y}, [&] {                                                  \
            times_vector(read_blocks(direction, mb, nb, described(d).base, v, ro, co, block).applied(op), *alpha, x,   \
                         *beta, y);                                                                                    \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##bsrmm(void *h, int direction, int op_a, int op_b, int mb, int n, int kb, int, const T *alpha,    \
                            const void *d, const T *v, const int *ro, const int *co, int block, const T *B, int ldb,   \
                            const T *beta, T *C, int ldc) {                                                            \
        return run_sparse(h, {alpha, d, v, ro, co, B, beta, C}, [&] {                                                  \
            times_matrix(read_blocks(direction, mb, kb, described(d).base, v, ro, co, block).applied(op_a), op_b, n,   \
                         *alpha, B, ldb, *beta, C, ldc);                                                               \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csrsv2_bufferSize(void *h, int, int, int, const void *, T *, const int *, const int *, void *,   \
                                        int *bytes) {                                                                  \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##csrsv2_bufferSizeExt(void *h, int, int, int, const void *, T *, const int *, const int *,        \
                                           void *, size_t *bytes) {                                                    \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##csrsv2_analysis(void *h, int, int, int, const void *d, const T *v, const int *ro, const int *co, \
                                      void *info, int, void *) {                                                       \
        return run_sparse(h, {d, v, ro, co, info}, [] { return int(SparseOk); });                                      \
    }                                                                                                                  \
    int hipsparse##L##csrsv2_solve(void *h, int op, int m, int count, const T *alpha, const void *d, const T *v,       \
                                   const int *ro, const int *co, void *info, const T *f, T *x, int, void *) {          \
        return run_sparse(h, {alpha, d, v, ro, co, info, f, x}, [&] {                                                  \
            for (Int i = 0; i < m; ++i) x[i] = *alpha * f[i];                                                          \
            const Int bad =                                                                                            \
                solve_sparse(read_rows<T>(csr(m, m, count, d, v, ro, co, TYPE)).applied(op),                           \
                             (described(d).fill == 0) == (op == Plain), described(d).diagonal == 1, x, Int(1));        \
            static_cast<FactorInfo *>(info)->zero_pivot = bad < 0 ? -1 : static_cast<int>(bad) + described(d).base;    \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csrsm2_bufferSizeExt(void *h, int, int, int, int, int, int, const T *, const void *, const T *,  \
                                           const int *, const int *, const T *, int, void *, int, size_t *bytes) {     \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##csrsm2_analysis(void *h, int, int, int, int, int, int, const T *, const void *, const T *,       \
                                      const int *, const int *, const T *, int, void *, int, void *) {                 \
        return h ? SparseOk : NotInitialized;                                                                          \
    }                                                                                                                  \
    int hipsparse##L##csrsm2_solve(void *h, int, int op_a, int op_b, int m, int n, int count, const T *alpha,          \
                                   const void *d, const T *v, const int *ro, const int *co, T *B, int ldb, void *info, \
                                   int, void *) {                                                                      \
        return run_sparse(h, {alpha, d, v, ro, co, B, info}, [&] {                                                     \
            const Rows<T> rows = read_rows<T>(csr(m, m, count, d, v, ro, co, TYPE)).applied(op_a);                     \
            Int bad = -1;                                                                                              \
            for (Int c = 0; c < n; ++c) {                                                                              \
                T *x = op_b == Plain ? B + c * ldb : B + c;                                                            \
                const Int step = op_b == Plain ? 1 : ldb;                                                              \
                for (Int i = 0; i < m; ++i) x[i * step] *= *alpha;                                                     \
                const Int at = solve_sparse(rows, (described(d).fill == 0) == (op_a == Plain),                         \
                                            described(d).diagonal == 1, x, step);                                      \
                bad = bad < 0 ? at : bad;                                                                              \
            }                                                                                                          \
            static_cast<FactorInfo *>(info)->zero_pivot = bad < 0 ? -1 : static_cast<int>(bad) + described(d).base;    \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    KPT_BUFFERS(L, T, csrilu02)                                                                                        \
    KPT_BUFFERS(L, T, csric02)                                                                                         \
    int hipsparse##L##csrilu02_numericBoost(void *h, void *info, int enable, double *tolerance, T *value) {            \
        return run_sparse(h, {info}, [&] {                                                                             \
            auto &factor = *static_cast<FactorInfo *>(info);                                                           \
            factor.boost = enable != 0;                                                                                \
            if (enable) factor.tolerance = *tolerance, factor.boost_value = convert<DoubleComplex>(*value);            \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csrilu02(void *h, int m, int count, const void *d, T *v, const int *ro, const int *co,           \
                               void *info, int, void *) {                                                              \
        return run_sparse(h, {d, v, ro, co, info}, [&] {                                                               \
            return ilu(read_rows<T>(csr(m, m, count, d, v, ro, co, TYPE)), v, static_cast<FactorInfo *>(info),         \
                       described(d).base);                                                                             \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csric02(void *h, int m, int count, const void *d, T *v, const int *ro, const int *co,            \
                              void *info, int, void *) {                                                               \
        return run_sparse(h, {d, v, ro, co, info}, [&] {                                                               \
            return icholesky(read_rows<T>(csr(m, m, count, d, v, ro, co, TYPE)), v, static_cast<FactorInfo *>(info),   \
                             described(d).base);                                                                       \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##gtsv2_bufferSizeExt(void *h, int, int, const T *, const T *, const T *, const T *, int,          \
                                          size_t *bytes) {                                                             \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##gtsv2_nopivot_bufferSizeExt(void *h, int, int, const T *, const T *, const T *, const T *, int,  \
                                                  size_t *bytes) {                                                     \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##gtsv2(void *h, int m, int n, const T *dl, const T *d, const T *du, T *B, int ldb, void *) {      \
        return run_sparse(h, {dl, d, du, B}, [&] {                                                                     \
            for (Int c = 0; c < n; ++c) tridiagonal(Int(m), dl, d, du, Int(1), B + c * ldb, Int(1));                   \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##gtsv2_nopivot(void *h, int m, int n, const T *dl, const T *d, const T *du, T *B, int ldb,        \
                                    void *buffer) {                                                                    \
        return hipsparse##L##gtsv2(h, m, n, dl, d, du, B, ldb, buffer);                                                \
    }                                                                                                                  \
    int hipsparse##L##gtsv2StridedBatch_bufferSizeExt(void *h, int, const T *, const T *, const T *, const T *, int,   \
                                                      int, size_t *bytes) {                                            \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##gtsv2StridedBatch(void *h, int m, const T *dl, const T *d, const T *du, T *x, int count,         \
                                        int stride, void *) {                                                          \
        return run_sparse(h, {dl, d, du, x}, [&] {                                                                     \
            for (Int b = 0; b < count; ++b)                                                                            \
                tridiagonal(Int(m), dl + b * stride, d + b * stride, du + b * stride, Int(1), x + b * stride, Int(1)); \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##gtsvInterleavedBatch_bufferSizeExt(void *h, int, int, const T *, const T *, const T *,           \
                                                         const T *, int, size_t *bytes) {                              \
        return small_buffer(h, bytes);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##gtsvInterleavedBatch(void *h, int, int m, T *dl, T *d, T *du, T *x, int count, void *) {         \
        return run_sparse(h, {dl, d, du, x}, [&] {                                                                     \
            for (Int b = 0; b < count; ++b) tridiagonal(Int(m), dl + b, d + b, du + b, Int(count), x + b, Int(count)); \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }
KPT_TYPED(S, float, R32F)
KPT_TYPED(D, double, R64F)
KPT_TYPED(C, Complex, C32F)
KPT_TYPED(Z, DoubleComplex, C64F)
}
