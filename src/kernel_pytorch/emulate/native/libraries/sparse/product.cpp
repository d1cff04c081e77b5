// hipSPARSE: product and sum of two sparse matrices.
#include <map>

#include "run.h"

using namespace kpt;

namespace {

// What SpGEMM_compute found, until SpGEMM_copy hands it over.
struct Product {
    std::vector<Int> start, column;
    std::vector<DoubleComplex> value;
};

template <class W> Rows<W> multiply(const Rows<W> &a, const Rows<W> &b, W factor) {
    Rows<W> out;
    out.rows = a.rows, out.columns = b.columns;
    out.start.push_back(0);
    std::vector<W> sum(static_cast<size_t>(b.columns), W(0));
    std::vector<char> touched(static_cast<size_t>(b.columns), 0);
    std::vector<Int> columns;
    for (Int r = 0; r < a.rows; ++r) {
        columns.clear();
        for (Int i = a.start[r]; i < a.start[r + 1]; ++i)
            for (Int j = b.start[a.column[i]]; j < b.start[a.column[i] + 1]; ++j) {
                const Int c = b.column[j];
                if (!touched[c]) touched[c] = 1, columns.push_back(c), sum[c] = W(0);
                sum[c] += a.value[i] * b.value[j];
            }
        std::sort(columns.begin(), columns.end());
        for (const Int c : columns) out.column.push_back(c), out.value.push_back(factor * sum[c]), touched[c] = 0;
        out.start.push_back(static_cast<Int>(out.column.size()));
    }
    return out;
}

// factor_a A + factor_b B over the union of their places.
template <class W> Rows<W> add(const Rows<W> &a, W factor_a, const Rows<W> &b, W factor_b) {
    Rows<W> out;
    out.rows = a.rows, out.columns = a.columns;
    out.start.push_back(0);
    for (Int r = 0; r < a.rows; ++r) {
        std::map<Int, W> line;
        for (Int i = a.start[r]; i < a.start[r + 1]; ++i) line[a.column[i]] += factor_a * a.value[i];
        for (Int i = b.start[r]; i < b.start[r + 1]; ++i) line[b.column[i]] += factor_b * b.value[i];
        for (const auto &[c, value] : line) out.column.push_back(c), out.value.push_back(value);
        out.start.push_back(static_cast<Int>(out.column.size()));
    }
    return out;
}

int compute(int op_a, int op_b, const void *alpha, const SparseMatrix &A, const SparseMatrix &B, const void *beta,
            SparseMatrix &C, int type, Product *product) {
    return with_width(type, [&](auto zero) -> int {
        using W = decltype(zero);
        const Rows<W> a = read_rows<W>(A).applied(op_a), b = read_rows<W>(B).applied(op_b);
        if (a.columns != b.rows) return InvalidSparseValue;
        Rows<W> c = multiply(a, b, alpha ? load<W>(type, alpha, 0) : W(1));
        const W factor = beta ? load<W>(type, beta, 0) : W(0);
        if (factor != W(0) && C.count > 0 && C.offsets) c = add(c, W(1), read_rows<W>(C), factor);
        product->start = c.start, product->column = c.column;
        product->value.assign(c.value.begin(), c.value.end());
        C.count = static_cast<Int>(c.column.size());
        return SparseOk;
    });
}

int hand_over(const Product &product, SparseMatrix &C) {
    if (product.start.empty() || !C.offsets || (C.count && (!C.indices || !C.values))) return InvalidSparseValue;
    for (size_t r = 0; r < product.start.size(); ++r)
        store_index(C.offset_type, C.offsets, static_cast<Int>(r), product.start[r] + C.base);
    for (size_t i = 0; i < product.column.size(); ++i) {
        store_index(C.index_type, C.indices, static_cast<Int>(i), product.column[i] + C.base);
        store(C.type, C.values, static_cast<Int>(i), product.value[i]);
    }
    return SparseOk;
}

SparseMatrix *matrix(const void *d) { return static_cast<SparseMatrix *>(const_cast<void *>(d)); }

int ask(void *handle, size_t *bytes, void *buffer) {
    if (!handle) return NotInitialized;
    if (!bytes) return InvalidSparseValue;
    if (!buffer) *bytes = 4;
    return SparseOk;
}

const MatrixDescription &described(const void *d) { return *static_cast<const MatrixDescription *>(d); }

template <class T>
SparseMatrix csr(Int m, Int n, Int count, const void *description, const T *values, const int *offsets,
                 const int *columns, int type) {
    return {Csr,
            m,
            n,
            count,
            const_cast<int *>(offsets),
            const_cast<int *>(columns),
            const_cast<void *>(static_cast<const void *>(values)),
            Index32,
            Index32,
            described(description).base,
            type};
}

// The result goes to arrays of the caller; with `values` null only the structure does.
template <class W>
void write_csr(const Rows<W> &rows, int base, int type, void *values, int *offsets, int *columns) {
    for (Int r = 0; offsets && r <= rows.rows; ++r) offsets[r] = static_cast<int>(rows.start[r] + base);
    for (size_t i = 0; columns && i < rows.column.size(); ++i) {
        columns[i] = static_cast<int>(rows.column[i] + base);
        if (values) store(type, values, static_cast<Int>(i), rows.value[i]);
    }
}

} // namespace

extern "C" {

int hipsparseSpGEMM_createDescr(void **description) {
    if (!description) return InvalidSparseValue;
    *description = new Product;
    return SparseOk;
}
int hipsparseSpGEMM_destroyDescr(void *description) {
    delete static_cast<Product *>(description);
    return SparseOk;
}
int hipsparseSpGEMM_workEstimation(void *h, int, int, const void *, const void *, const void *, const void *, void *,
                                   int, int, void *, size_t *bytes, void *buffer) {
    return ask(h, bytes, buffer);
}
int hipsparseSpGEMM_compute(void *h, int op_a, int op_b, const void *alpha, const void *A, const void *B,
                            const void *beta, void *C, int type, int, void *d, size_t *bytes, void *buffer) {
    if (!buffer) return ask(h, bytes, buffer);
    return run_sparse(h, {alpha, A, B, beta, C, d}, [&] {
        return compute(op_a, op_b, alpha, *matrix(A), *matrix(B), beta, *matrix(C), type, static_cast<Product *>(d));
    });
}
int hipsparseSpGEMM_copy(void *h, int, int, const void *alpha, const void *A, const void *B, const void *beta, void *C,
                         int, int, void *d) {
    return run_sparse(h, {alpha, A, B, beta, C, d}, [&] { return hand_over(*static_cast<Product *>(d), *matrix(C)); });
}

int hipsparseSpGEMMreuse_workEstimation(void *h, int, int, const void *, const void *, void *, int, void *,
                                        size_t *bytes, void *buffer) {
    return ask(h, bytes, buffer);
}
int hipsparseSpGEMMreuse_nnz(void *h, int op_a, int op_b, const void *A, const void *B, void *C, int, void *d,
                             size_t *bytes2, void *buffer2, size_t *bytes3, void *buffer3, size_t *bytes4,
                             void *buffer4) {
    for (const auto &[bytes, buffer] : {std::pair{bytes2, buffer2}, {bytes3, buffer3}, {bytes4, buffer4}})
        if (const int bad = ask(h, bytes, buffer)) return bad;
    return run_sparse(h, {A, B, C, d}, [&] {
        return compute(op_a, op_b, nullptr, *matrix(A), *matrix(B), nullptr, *matrix(C), matrix(C)->type,
                       static_cast<Product *>(d));
    });
}
int hipsparseSpGEMMreuse_copy(void *h, int, int, const void *, const void *, void *C, int, void *d, size_t *bytes,
                              void *buffer) {
    if (!buffer) return ask(h, bytes, buffer);
    return run_sparse(h, {C, d}, [&] { return hand_over(*static_cast<Product *>(d), *matrix(C)); });
}
int hipsparseSpGEMMreuse_compute(void *h, int op_a, int op_b, const void *alpha, const void *A, const void *B,
                                 const void *beta, void *C, int type, int, void *d) {
    return run_sparse(h, {alpha, A, B, beta, C, d}, [&] {
        const int bad =
            compute(op_a, op_b, alpha, *matrix(A), *matrix(B), beta, *matrix(C), type, static_cast<Product *>(d));
        return bad ? bad : hand_over(*static_cast<Product *>(d), *matrix(C));
    });
}

static int geam_count(void *h, int m, int n, const void *da, int na, const int *ra, const int *ca, const void *db,
                      int nb, const int *rb, const int *cb, const void *dc, int *rc, int *total) {
    return run_sparse(h, {da, db, dc, ra, ca, rb, cb, rc, total}, [&] {
        const float *none = nullptr;
        const auto sum = add(read_rows<double>(csr(m, n, na, da, none, ra, ca, R32F)), 1.0,
                             read_rows<double>(csr(m, n, nb, db, none, rb, cb, R32F)), 1.0);
        write_csr(sum, described(dc).base, R32F, nullptr, rc, nullptr);
        *total = static_cast<int>(sum.column.size());
        return int(SparseOk);
    });
}
int hipsparseXcsrgeamNnz(void *h, int m, int n, const void *da, int na, const int *ra, const int *ca, const void *db,
                         int nb, const int *rb, const int *cb, const void *dc, int *rc, int *total) {
    return geam_count(h, m, n, da, na, ra, ca, db, nb, rb, cb, dc, rc, total);
}
int hipsparseXcsrgeam2Nnz(void *h, int m, int n, const void *da, int na, const int *ra, const int *ca, const void *db,
                          int nb, const int *rb, const int *cb, const void *dc, int *rc, int *total, void *) {
    return geam_count(h, m, n, da, na, ra, ca, db, nb, rb, cb, dc, rc, total);
}
int hipsparseXcsrgemmNnz(void *h, int op_a, int op_b, int m, int n, int k, const void *da, int na, const int *ra,
                         const int *ca, const void *db, int nb, const int *rb, const int *cb, const void *dc, int *rc,
                         int *total) {
    return run_sparse(h, {da, db, dc, ra, ca, rb, cb, rc, total}, [&] {
        const float *none = nullptr;
        const auto a = read_rows<double>(csr(op_a ? k : m, op_a ? m : k, na, da, none, ra, ca, R32F)).applied(op_a);
        const auto b = read_rows<double>(csr(op_b ? n : k, op_b ? k : n, nb, db, none, rb, cb, R32F)).applied(op_b);
        const auto product = multiply(a, b, 1.0);
        write_csr(product, described(dc).base, R32F, nullptr, rc, nullptr);
        *total = static_cast<int>(product.column.size());
        return int(SparseOk);
    });
}

#define KPT_TYPED(L, T, TYPE)                                                                                          \
    int hipsparse##L##csrgeam(void *h, int m, int n, const T *alpha, const void *da, int na, const T *va,              \
                              const int *ra, const int *ca, const T *beta, const void *db, int nb, const T *vb,        \
                              const int *rb, const int *cb, const void *dc, T *vc, int *rc, int *cc) {                 \
        return run_sparse(h, {alpha, da, ra, ca, beta, db, rb, cb, dc, vc, rc, cc}, [&] {                              \
            using W = T;                                                                                               \
            const auto sum = add(read_rows<W>(csr(m, n, na, da, va, ra, ca, TYPE)), W(*alpha),                         \
                                 read_rows<W>(csr(m, n, nb, db, vb, rb, cb, TYPE)), W(*beta));                         \
            write_csr(sum, described(dc).base, TYPE, vc, rc, cc);                                                      \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csrgeam2(void *h, int m, int n, const T *alpha, const void *da, int na, const T *va,             \
                               const int *ra, const int *ca, const T *beta, const void *db, int nb, const T *vb,       \
                               const int *rb, const int *cb, const void *dc, T *vc, int *rc, int *cc, void *) {        \
        return hipsparse##L##csrgeam(h, m, n, alpha, da, na, va, ra, ca, beta, db, nb, vb, rb, cb, dc, vc, rc, cc);    \
    }                                                                                                                  \
    int hipsparse##L##csrgeam2_bufferSizeExt(                                                                          \
        void *h, int, int, const T *, const void *, int, const T *, const int *, const int *, const T *, const void *, \
        int, const T *, const int *, const int *, const void *, const T *, const int *, const int *, size_t *bytes) {  \
        return ask(h, bytes, nullptr);                                                                                 \
    }                                                                                                                  \
    int hipsparse##L##csrgemm(void *h, int op_a, int op_b, int m, int n, int k, const void *da, int na, const T *va,   \
                              const int *ra, const int *ca, const void *db, int nb, const T *vb, const int *rb,        \
                              const int *cb, const void *dc, T *vc, const int *rc, int *cc) {                          \
        return run_sparse(h, {da, ra, ca, db, rb, cb, dc, vc, rc, cc}, [&] {                                           \
            using W = T;                                                                                               \
            const auto a = read_rows<W>(csr(op_a ? k : m, op_a ? m : k, na, da, va, ra, ca, TYPE)).applied(op_a);      \
            const auto b = read_rows<W>(csr(op_b ? n : k, op_b ? k : n, nb, db, vb, rb, cb, TYPE)).applied(op_b);      \
            write_csr(multiply(a, b, W(1)), described(dc).base, TYPE, vc, nullptr, cc);                                \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }
KPT_TYPED(S, float, R32F)
KPT_TYPED(D, double, R64F)
KPT_TYPED(C, Complex, C32F)
KPT_TYPED(Z, DoubleComplex, C64F)
}
