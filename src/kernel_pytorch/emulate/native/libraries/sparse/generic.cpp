// hipSPARSE's generic interface: products, solves, conversions and vector operations on descriptors.
#include "run.h"

using namespace kpt;

namespace {

constexpr size_t buffer_bytes = 4; // enough to be told from "no buffer"; nothing is kept in the caller's memory

const SparseMatrix *sparse(const void *d) { return static_cast<const SparseMatrix *>(d); }
const DenseMatrix *dense(const void *d) { return static_cast<const DenseMatrix *>(d); }
const DenseVector *vector(const void *d) { return static_cast<const DenseVector *>(d); }
const SparseVector *sparse_vector(const void *d) { return static_cast<const SparseVector *>(d); }

int size_query(void *handle, size_t *bytes, std::initializer_list<const void *> needed) {
    if (!handle) return NotInitialized;
    for (const void *pointer : needed)
        if (!pointer) return InvalidSparseValue;
    if (!bytes) return InvalidSparseValue;
    *bytes = buffer_bytes;
    return SparseOk;
}

template <class W> W dense_at(const DenseMatrix &m, const void *values, int op, Int i, Int j) {
    const Int row = op == Plain ? i : j, column = op == Plain ? j : i;
    const W value = load<W>(m.type, values, row * m.row_step() + column * m.column_step());
    return op == ConjugateFlipped ? conjugate(value) : value;
}

int multiply_vector(int op, const void *alpha, const SparseMatrix &A, const DenseVector &x, const void *beta,
                    const DenseVector &y, int compute) {
    return with_width(compute, [&](auto zero) -> int {
        using W = decltype(zero);
        const Rows<W> rows = read_rows<W>(A).applied(op);
        if (x.size != rows.columns || y.size != rows.rows) return InvalidSparseValue;
        const W a = load<W>(compute, alpha, 0), b = load<W>(compute, beta, 0);
        const auto input = load_matrix<W>(x.type, x.values, x.size, 1, 1, 0);
        for (Int r = 0; r < rows.rows; ++r) {
            W sum(0);
            for (Int at = rows.start[r]; at < rows.start[r + 1]; ++at) sum += rows.value[at] * input[rows.column[at]];
            store(y.type, y.values, r, a * sum + (b == W(0) ? W(0) : b * load<W>(y.type, y.values, r)));
        }
        return SparseOk;
    });
}

int multiply_matrix(int op_a, int op_b, const void *alpha, const SparseMatrix &A, const DenseMatrix &B,
                    const void *beta, const DenseMatrix &C, int compute) {
    return with_width(compute, [&](auto zero) -> int {
        using W = decltype(zero);
        const W a = load<W>(compute, alpha, 0), b = load<W>(compute, beta, 0);
        for (Int batch = 0; batch < C.batches; ++batch) {
            const Rows<W> rows = read_rows<W>(A, A.batches > 1 ? batch : 0).applied(op_a);
            const void *from = B.batch(B.batches > 1 ? batch : 0);
            void *to = C.batch(batch);
            const Int inner = op_b == Plain ? B.rows : B.columns, width = op_b == Plain ? B.columns : B.rows;
            if (rows.columns != inner || C.rows != rows.rows || C.columns != width) return InvalidSparseValue;
            // op(B) with its rows contiguous: one row of A then adds up whole rows.
            auto right = op_b == Plain ? load_matrix<W>(B.type, from, width, inner, B.column_step(), B.row_step())
                                       : load_matrix<W>(B.type, from, width, inner, B.row_step(), B.column_step());
            if (op_b == ConjugateFlipped)
                for (W &value : right) value = conjugate(value);
            std::vector<W> sum(static_cast<size_t>(width));
            for (Int r = 0; r < rows.rows; ++r) {
                std::fill(sum.begin(), sum.end(), W(0));
                for (Int at = rows.start[r]; at < rows.start[r + 1]; ++at)
                    for (Int c = 0; c < width; ++c) sum[c] += rows.value[at] * right[rows.column[at] * width + c];
                for (Int c = 0; c < width; ++c) {
                    const Int place = r * C.row_step() + c * C.column_step();
                    store(C.type, to, place, a * sum[c] + (b == W(0) ? W(0) : b * load<W>(C.type, to, place)));
                }
            }
        }
        return SparseOk;
    });
}

int sampled_product(int op_a, int op_b, const void *alpha, const DenseMatrix &A, const DenseMatrix &B, const void *beta,
                    const SparseMatrix &C, int compute) {
    return with_width(compute, [&](auto zero) -> int {
        using W = decltype(zero);
        const W a = load<W>(compute, alpha, 0), b = load<W>(compute, beta, 0);
        const Int inner = op_a == Plain ? A.columns : A.rows;
        if (inner != (op_b == Plain ? B.rows : B.columns)) return InvalidSparseValue;
        for (Int batch = 0; batch < C.batches; ++batch) {
            const Rows<W> pattern = read_rows<W>(C, batch);
            const void *left = A.batch(A.batches > 1 ? batch : 0), *right = B.batch(B.batches > 1 ? batch : 0);
            void *values = offset(C.values, C.type, batch * C.values_stride);
            for (Int r = 0; r < pattern.rows; ++r)
                for (Int at = pattern.start[r]; at < pattern.start[r + 1]; ++at) {
                    W sum(0);
                    for (Int l = 0; l < inner; ++l)
                        sum += dense_at<W>(A, left, op_a, r, l) * dense_at<W>(B, right, op_b, l, pattern.column[at]);
                    const W old = b == W(0) ? W(0) : b * pattern.value[at];
                    store(C.type, values, pattern.place[at], a * sum + old);
                }
        }
        return SparseOk;
    });
}

// The triangle that is left after op, and whether it is the lower one.
template <class W> Rows<W> triangle_of(const SparseMatrix &A, int op, bool *lower) {
    *lower = (A.fill == 0) == (op == Plain);
    return read_rows<W>(A).applied(op);
}

// `sparse_to_dense` and back walk the same places.
int to_dense(const SparseMatrix &A, const DenseMatrix &B) {
    return with_width(A.type, [&](auto zero) -> int {
        using W = decltype(zero);
        if (A.rows != B.rows || A.columns != B.columns) return InvalidSparseValue;
        const Rows<W> rows = read_rows<W>(A);
        for (Int r = 0; r < B.rows; ++r) {
            for (Int c = 0; c < B.columns; ++c) store(B.type, B.values, r * B.row_step() + c * B.column_step(), W(0));
            for (Int at = rows.start[r]; at < rows.start[r + 1]; ++at)
                store(B.type, B.values, r * B.row_step() + rows.column[at] * B.column_step(), rows.value[at]);
        }
        return SparseOk;
    });
}

// Counts the entries (write = false) or fills the caller's arrays; lines are rows, or columns for CSC.
int from_dense(const DenseMatrix &A, SparseMatrix &B, bool write) {
    return with_width(A.type, [&](auto zero) -> int {
        using W = decltype(zero);
        const bool by_column = B.format == Csc;
        const Int lines = by_column ? A.columns : A.rows, others = by_column ? A.rows : A.columns;
        Int at = 0;
        for (Int line = 0; line < lines; ++line) {
            if (B.format != Coo && B.offsets) store_index(B.offset_type, B.offsets, line, at + B.base);
            for (Int other = 0; other < others; ++other) {
                const Int r = by_column ? other : line, c = by_column ? line : other;
                const W value = load<W>(A.type, A.values, r * A.row_step() + c * A.column_step());
                if (value == W(0)) continue;
                if (write) {
                    if (B.format == Coo) store_index(B.index_type, B.offsets, at, line + B.base);
                    store_index(B.index_type, B.indices, at, other + B.base);
                    store(B.type, B.values, at, value);
                }
                ++at;
            }
        }
        if (B.format != Coo && B.offsets) store_index(B.offset_type, B.offsets, lines, at + B.base);
        B.count = at;
        return SparseOk;
    });
}

} // namespace

extern "C" {

int hipsparseSpMV_bufferSize(void *h, int, const void *alpha, const void *A, const void *x, const void *beta,
                             const void *y, int, int, size_t *bytes) {
    return size_query(h, bytes, {alpha, A, x, beta, y});
}
int hipsparseSpMV_preprocess(void *h, int, const void *alpha, const void *A, const void *x, const void *beta,
                             const void *y, int, int, void *) {
    size_t unused;
    return size_query(h, &unused, {alpha, A, x, beta, y});
}
int hipsparseSpMV(void *h, int op, const void *alpha, const void *A, const void *x, const void *beta, const void *y,
                  int compute, int, void *) {
    return run_sparse(h, {alpha, A, x, beta, y},
                      [&] { return multiply_vector(op, alpha, *sparse(A), *vector(x), beta, *vector(y), compute); });
}

int hipsparseSpMM_bufferSize(void *h, int, int, const void *alpha, const void *A, const void *B, const void *beta,
                             const void *C, int, int, size_t *bytes) {
    return size_query(h, bytes, {alpha, A, B, beta, C});
}
int hipsparseSpMM_preprocess(void *h, int, int, const void *alpha, const void *A, const void *B, const void *beta,
                             const void *C, int, int, void *) {
    size_t unused;
    return size_query(h, &unused, {alpha, A, B, beta, C});
}
int hipsparseSpMM(void *h, int op_a, int op_b, const void *alpha, const void *A, const void *B, const void *beta,
                  const void *C, int compute, int, void *) {
    return run_sparse(h, {alpha, A, B, beta, C}, [&] {
        return multiply_matrix(op_a, op_b, alpha, *sparse(A), *dense(B), beta, *dense(C), compute);
    });
}

int hipsparseSDDMM_bufferSize(void *h, int, int, const void *alpha, const void *A, const void *B, const void *beta,
                              const void *C, int, int, size_t *bytes) {
    return size_query(h, bytes, {alpha, A, B, beta, C});
}
int hipsparseSDDMM_preprocess(void *h, int, int, const void *alpha, const void *A, const void *B, const void *beta,
                              const void *C, int, int, void *) {
    size_t unused;
    return size_query(h, &unused, {alpha, A, B, beta, C});
}
int hipsparseSDDMM(void *h, int op_a, int op_b, const void *alpha, const void *A, const void *B, const void *beta,
                   void *C, int compute, int, void *) {
    return run_sparse(h, {alpha, A, B, beta, C}, [&] {
        return sampled_product(op_a, op_b, alpha, *dense(A), *dense(B), beta, *sparse(C), compute);
    });
}

// The analysis of a solve finds levels of parallelism on a GPU; here it has nothing to find.
#define KPT_EMPTY_DESCRIPTION(NAME)                                                                                    \
    int hipsparse##NAME##_createDescr(void **description) {                                                            \
        if (!description) return InvalidSparseValue;                                                                   \
        *description = new char;                                                                                       \
        return SparseOk;                                                                                               \
    }                                                                                                                  \
    int hipsparse##NAME##_destroyDescr(void *description) {                                                            \
        delete static_cast<char *>(description);                                                                       \
        return SparseOk;                                                                                               \
    }
KPT_EMPTY_DESCRIPTION(SpSV)
KPT_EMPTY_DESCRIPTION(SpSM)

int hipsparseSpSV_bufferSize(void *h, int, const void *alpha, const void *A, const void *x, const void *y, int, int,
                             void *d, size_t *bytes) {
    return size_query(h, bytes, {alpha, A, x, y, d});
}
int hipsparseSpSV_analysis(void *h, int, const void *alpha, const void *A, const void *x, const void *y, int, int,
                           void *d, void *) {
    size_t unused;
    return size_query(h, &unused, {alpha, A, x, y, d});
}
int hipsparseSpSV_solve(void *h, int op, const void *alpha, const void *A, const void *x, const void *y, int compute,
                        int, void *d) {
    return run_sparse(h, {alpha, A, x, y, d}, [&] {
        return with_width(compute, [&](auto zero) -> int {
            using W = decltype(zero);
            bool lower;
            const Rows<W> rows = triangle_of<W>(*sparse(A), op, &lower);
            const DenseVector &in = *vector(x), &out = *vector(y);
            auto values = load_matrix<W>(in.type, in.values, in.size, 1, 1, 0);
            for (W &value : values) value *= load<W>(compute, alpha, 0);
            solve_sparse(rows, lower, sparse(A)->diagonal == 1, values.data(), Int(1));
            store_matrix(out.type, out.values, out.size, 1, 1, 0, values.data());
            return SparseOk;
        });
    });
}

int hipsparseSpSM_bufferSize(void *h, int, int, const void *alpha, const void *A, const void *B, const void *C, int,
                             int, void *d, size_t *bytes) {
    return size_query(h, bytes, {alpha, A, B, C, d});
}
int hipsparseSpSM_analysis(void *h, int, int, const void *alpha, const void *A, const void *B, const void *C, int, int,
                           void *d, void *) {
    size_t unused;
    return size_query(h, &unused, {alpha, A, B, C, d});
}
int hipsparseSpSM_solve(void *h, int op_a, int op_b, const void *alpha, const void *A, const void *B, const void *C,
                        int compute, int, void *d, void *) {
    return run_sparse(h, {alpha, A, B, C, d}, [&] {
        return with_width(compute, [&](auto zero) -> int {
            using W = decltype(zero);
            bool lower;
            const Rows<W> rows = triangle_of<W>(*sparse(A), op_a, &lower);
            const DenseMatrix &in = *dense(B), &out = *dense(C);
            const Int width = op_b == Plain ? in.columns : in.rows;
            const W factor = load<W>(compute, alpha, 0);
            std::vector<W> column(static_cast<size_t>(rows.rows));
            for (Int c = 0; c < width; ++c) {
                for (Int r = 0; r < rows.rows; ++r) column[r] = factor * dense_at<W>(in, in.values, op_b, r, c);
                solve_sparse(rows, lower, sparse(A)->diagonal == 1, column.data(), Int(1));
                for (Int r = 0; r < rows.rows; ++r)
                    store(out.type, out.values, r * out.row_step() + c * out.column_step(), column[r]);
            }
            return SparseOk;
        });
    });
}

int hipsparseSparseToDense_bufferSize(void *h, const void *A, const void *B, int, size_t *bytes) {
    return size_query(h, bytes, {A, B});
}
int hipsparseSparseToDense(void *h, const void *A, void *B, int, void *) {
    return run_sparse(h, {A, B}, [&] { return to_dense(*sparse(A), *dense(B)); });
}
int hipsparseDenseToSparse_bufferSize(void *h, const void *A, void *B, int, size_t *bytes) {
    return size_query(h, bytes, {A, B});
}
int hipsparseDenseToSparse_analysis(void *h, const void *A, void *B, int, void *) {
    return run_sparse(h, {A, B}, [&] { return from_dense(*dense(A), *static_cast<SparseMatrix *>(B), false); });
}
int hipsparseDenseToSparse_convert(void *h, const void *A, void *B, int, void *) {
    return run_sparse(h, {A, B}, [&] { return from_dense(*dense(A), *static_cast<SparseMatrix *>(B), true); });
}

int hipsparseAxpby(void *h, const void *alpha, const void *x, const void *beta, void *y) {
    return run_sparse(h, {alpha, x, beta, y}, [&] {
        const SparseVector &in = *sparse_vector(x);
        const DenseVector &out = *vector(y);
        return with_width(out.type, [&](auto zero) -> int {
            using W = decltype(zero);
            const W a = load<W>(out.type, alpha, 0), b = load<W>(out.type, beta, 0);
            for (Int i = 0; i < out.size; ++i) store(out.type, out.values, i, b * load<W>(out.type, out.values, i));
            for (Int i = 0; i < in.count; ++i) {
                const Int at = load_index(in.index_type, in.indices, i) - in.base;
                store(out.type, out.values, at, a * load<W>(in.type, in.values, i) + load<W>(out.type, out.values, at));
            }
            return SparseOk;
        });
    });
}

int hipsparseGather(void *h, const void *y, void *x) {
    return run_sparse(h, {x, y}, [&] {
        const SparseVector &to = *sparse_vector(x);
        const DenseVector &from = *vector(y);
        for (Int i = 0; i < to.count; ++i)
            store(to.type, to.values, i,
                  load<DoubleComplex>(from.type, from.values, load_index(to.index_type, to.indices, i) - to.base));
        return int(SparseOk);
    });
}

int hipsparseScatter(void *h, const void *x, void *y) {
    return run_sparse(h, {x, y}, [&] {
        const SparseVector &from = *sparse_vector(x);
        const DenseVector &to = *vector(y);
        for (Int i = 0; i < from.count; ++i)
            store(to.type, to.values, load_index(from.index_type, from.indices, i) - from.base,
                  load<DoubleComplex>(from.type, from.values, i));
        return int(SparseOk);
    });
}

int hipsparseRot(void *h, const void *c, const void *s, void *x, void *y) {
    return run_sparse(h, {c, s, x, y}, [&] {
        const SparseVector &left = *sparse_vector(x);
        const DenseVector &right = *vector(y);
        return with_width(right.type, [&](auto zero) -> int {
            using W = decltype(zero);
            const W cosine = load<W>(right.type, c, 0), sine = load<W>(right.type, s, 0);
            for (Int i = 0; i < left.count; ++i) {
                const Int at = load_index(left.index_type, left.indices, i) - left.base;
                const W a = load<W>(left.type, left.values, i), b = load<W>(right.type, right.values, at);
                store(left.type, left.values, i, cosine * a + sine * b);
                store(right.type, right.values, at, cosine * b - sine * a);
            }
            return SparseOk;
        });
    });
}

int hipsparseSpVV_bufferSize(void *h, int, const void *x, const void *y, void *result, int, size_t *bytes) {
    return size_query(h, bytes, {x, y, result});
}
int hipsparseSpVV(void *h, int op, const void *x, const void *y, void *result, int compute, void *) {
    return run_sparse(h, {x, y, result}, [&] {
        const SparseVector &left = *sparse_vector(x);
        const DenseVector &right = *vector(y);
        DoubleComplex sum(0);
        for (Int i = 0; i < left.count; ++i) {
            const auto value = load<DoubleComplex>(left.type, left.values, i);
            sum +=
                (op == ConjugateFlipped ? std::conj(value) : value) *
                load<DoubleComplex>(right.type, right.values, load_index(left.index_type, left.indices, i) - left.base);
        }
        store(compute, result, 0, sum);
        return int(SparseOk);
    });
}
}
