// hipSPARSE: conversions between storage forms, sorting, counting, and the older sparse-vector routines.
#include "run.h"

using namespace kpt;

namespace {

const MatrixDescription &described(const void *d) { return *static_cast<const MatrixDescription *>(d); }

int small_buffer(void *handle, size_t *bytes) {
    if (!handle || !bytes) return handle ? InvalidSparseValue : NotInitialized;
    *bytes = 4;
    return SparseOk;
}

// Turns lines of one kind into lines of the other: CSR to CSC, or back with the sizes exchanged.
void transpose(int m, int n, const void *values, const int *offsets, const int *indices, void *values_out,
               int *indices_out, int *offsets_out, Int bytes, int base) {
    std::fill(offsets_out, offsets_out + n + 1, 0);
    const Int count = offsets[m] - base;
    for (Int at = 0; at < count; ++at) ++offsets_out[indices[at] - base + 1];
    for (int c = 0; c < n; ++c) offsets_out[c + 1] += offsets_out[c];
    std::vector<int> next(offsets_out, offsets_out + n);
    for (int r = 0; r < m; ++r)
        for (Int at = offsets[r] - base; at < offsets[r + 1] - base; ++at) {
            const Int to = next[indices[at] - base]++;
            indices_out[to] = r + base;
            if (bytes)
                std::memcpy(static_cast<char *>(values_out) + to * bytes,
                            static_cast<const char *>(values) + at * bytes, static_cast<size_t>(bytes));
        }
    for (int c = 0; c <= n; ++c) offsets_out[c] += base;
}

// Sorts keys with a permutation that is itself permuted, as the real routines do: P starts as the identity.
template <class Less> void sort_range(Int from, Int to, int *const *arrays, int count, Less less) {
    std::vector<Int> order(static_cast<size_t>(to - from));
    std::iota(order.begin(), order.end(), from);
    std::stable_sort(order.begin(), order.end(), less);
    for (int a = 0; a < count; ++a) {
        if (!arrays[a]) continue;
        std::vector<int> sorted(order.size());
        for (size_t i = 0; i < order.size(); ++i) sorted[i] = arrays[a][order[i]];
        std::copy(sorted.begin(), sorted.end(), arrays[a] + from);
    }
}

int sort_lines(void *h, int lines, const void *d, const int *offsets, int *indices, int *permutation) {
    return run_sparse(h, {d, offsets, indices}, [&] {
        const int base = described(d).base;
        int *arrays[] = {permutation, indices};
        for (int line = 0; line < lines; ++line)
            sort_range(offsets[line] - base, offsets[line + 1] - base, arrays, 2,
                       [&](Int a, Int b) { return indices[a] < indices[b]; });
        return int(SparseOk);
    });
}

int sort_coordinates(void *h, int count, int *major, int *minor, int *permutation) {
    return run_sparse(h, {major, minor}, [&] {
        const std::vector<int> first(major, major + count), second(minor, minor + count);
        int *arrays[] = {permutation, major, minor};
        sort_range(0, count, arrays, 3,
                   [&](Int a, Int b) { return first[a] != first[b] ? first[a] < first[b] : second[a] < second[b]; });
        return int(SparseOk);
    });
}

} // namespace

extern "C" {

int hipsparseXcsr2coo(void *h, const int *offsets, int count, int m, int *rows, int base) {
    return run_sparse(h, {offsets, rows}, [&] {
        for (int r = 0; r < m; ++r) std::fill(rows + offsets[r] - base, rows + offsets[r + 1] - base, r + base);
        return int(SparseOk);
    });
}
int hipsparseXcoo2csr(void *h, const int *rows, int count, int m, int *offsets, int base) {
    return run_sparse(h, {rows, offsets}, [&] {
        std::fill(offsets, offsets + m + 1, 0);
        for (int i = 0; i < count; ++i) ++offsets[rows[i] - base + 1];
        for (int r = 0; r < m; ++r) offsets[r + 1] += offsets[r];
        for (int r = 0; r <= m; ++r) offsets[r] += base;
        return int(SparseOk);
    });
}
int hipsparseCreateIdentityPermutation(void *h, int n, int *p) {
    return run_sparse(h, {p}, [&] {
        std::iota(p, p + n, 0);
        return int(SparseOk);
    });
}
int hipsparseXcsrsort_bufferSizeExt(void *h, int, int, int, const int *, const int *, size_t *bytes) {
    return small_buffer(h, bytes);
}
int hipsparseXcsrsort(void *h, int m, int, int, const void *d, const int *offsets, int *columns, int *p, void *) {
    return sort_lines(h, m, d, offsets, columns, p);
}
int hipsparseXcscsort_bufferSizeExt(void *h, int, int, int, const int *, const int *, size_t *bytes) {
    return small_buffer(h, bytes);
}
int hipsparseXcscsort(void *h, int, int n, int, const void *d, const int *offsets, int *rows, int *p, void *) {
    return sort_lines(h, n, d, offsets, rows, p);
}
int hipsparseXcoosort_bufferSizeExt(void *h, int, int, int, const int *, const int *, size_t *bytes) {
    return small_buffer(h, bytes);
}
int hipsparseXcoosortByRow(void *h, int, int, int count, int *rows, int *columns, int *p, void *) {
    return sort_coordinates(h, count, rows, columns, p);
}
int hipsparseXcoosortByColumn(void *h, int, int, int count, int *rows, int *columns, int *p, void *) {
    return sort_coordinates(h, count, columns, rows, p);
}

int hipsparseCsr2cscEx2_bufferSize(void *h, int, int, int, const void *, const int *, const int *, void *, int *, int *,
                                   int, int, int, int, size_t *bytes) {
    return small_buffer(h, bytes);
}
int hipsparseCsr2cscEx2(void *h, int m, int n, int, const void *values, const int *offsets, const int *columns,
                        void *values_out, int *offsets_out, int *rows_out, int type, int action, int base, int,
                        void *) {
    return run_sparse(h, {offsets, columns, offsets_out, rows_out}, [&] {
        transpose(m, n, values, offsets, columns, values_out, rows_out, offsets_out, action ? size_of_type(type) : 0,
                  base);
        return int(SparseOk);
    });
}

int hipsparseXcsr2bsrNnz(void *h, int, int m, int n, const void *da, const int *offsets, const int *columns, int block,
                         const void *dc, int *offsets_out, int *total) {
    return run_sparse(h, {da, offsets, columns, dc, offsets_out, total}, [&] {
        const int base = described(da).base, base_out = described(dc).base, mb = (m + block - 1) / block;
        int count = 0;
        offsets_out[0] = base_out;
        for (int br = 0; br < mb; ++br) {
            std::vector<int> blocks;
            for (int r = br * block; r < std::min(m, (br + 1) * block); ++r)
                for (int at = offsets[r] - base; at < offsets[r + 1] - base; ++at)
                    blocks.push_back((columns[at] - base) / block);
            std::sort(blocks.begin(), blocks.end());
            count += static_cast<int>(std::unique(blocks.begin(), blocks.end()) - blocks.begin());
            offsets_out[br + 1] = count + base_out;
        }
        *total = count;
        return int(SparseOk);
    });
}

#define KPT_TYPED(L, T)                                                                                                \
    int hipsparse##L##csr2csc(void *h, int m, int n, int, const T *v, const int *ro, const int *co, T *vo, int *rows,  \
                              int *offsets, int action, int base) {                                                    \
        return run_sparse(h, {ro, co, rows, offsets}, [&] {                                                            \
            transpose(m, n, v, ro, co, vo, rows, offsets, action ? Int(sizeof(T)) : 0, base);                          \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csr2dense(void *h, int m, int n, const void *d, const T *v, const int *ro, const int *co, T *A,  \
                                int ld) {                                                                              \
        return run_sparse(h, {d, v, ro, co, A}, [&] {                                                                  \
            for (Int c = 0; c < n; ++c) std::fill(A + c * ld, A + c * ld + m, T(0));                                   \
            for (Int r = 0; r < m; ++r)                                                                                \
                for (Int at = ro[r] - described(d).base; at < ro[r + 1] - described(d).base; ++at)                     \
                    A[r + (co[at] - described(d).base) * Int(ld)] = v[at];                                             \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csc2dense(void *h, int m, int n, const void *d, const T *v, const int *rows, const int *offsets, \
                                T *A, int ld) {                                                                        \
        return run_sparse(h, {d, v, rows, offsets, A}, [&] {                                                           \
            for (Int c = 0; c < n; ++c) {                                                                              \
                std::fill(A + c * ld, A + c * ld + m, T(0));                                                           \
                for (Int at = offsets[c] - described(d).base; at < offsets[c + 1] - described(d).base; ++at)           \
                    A[rows[at] - described(d).base + c * ld] = v[at];                                                  \
            }                                                                                                          \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##nnz(void *h, int direction, int m, int n, const void *d, const T *A, int ld, int *per_line,      \
                          int *total) {                                                                                \
        return run_sparse(h, {d, A, per_line, total}, [&] {                                                            \
            std::fill(per_line, per_line + (direction == 0 ? m : n), 0);                                               \
            *total = 0;                                                                                                \
            for (Int c = 0; c < n; ++c)                                                                                \
                for (Int r = 0; r < m; ++r)                                                                            \
                    if (A[r + c * ld] != T(0)) ++per_line[direction == 0 ? r : c], ++*total;                           \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##dense2csr(void *h, int m, int n, const void *d, const T *A, int ld, const int *per_row, T *v,    \
                                int *ro, int *co) {                                                                    \
        return run_sparse(h, {d, A, per_row, v, ro, co}, [&] {                                                         \
            const int base = described(d).base;                                                                        \
            Int at = 0;                                                                                                \
            for (Int r = 0; r < m; ++r) {                                                                              \
                ro[r] = static_cast<int>(at) + base;                                                                   \
                for (Int c = 0; c < n; ++c)                                                                            \
                    if (A[r + c * ld] != T(0)) v[at] = A[r + c * ld], co[at++] = static_cast<int>(c) + base;           \
            }                                                                                                          \
            ro[m] = static_cast<int>(at) + base;                                                                       \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##dense2csc(void *h, int m, int n, const void *d, const T *A, int ld, const int *per_column, T *v, \
                                int *rows, int *offsets) {                                                             \
        return run_sparse(h, {d, A, per_column, v, rows, offsets}, [&] {                                               \
            const int base = described(d).base;                                                                        \
            Int at = 0;                                                                                                \
            for (Int c = 0; c < n; ++c) {                                                                              \
                offsets[c] = static_cast<int>(at) + base;                                                              \
                for (Int r = 0; r < m; ++r)                                                                            \
                    if (A[r + c * ld] != T(0)) v[at] = A[r + c * ld], rows[at++] = static_cast<int>(r) + base;         \
            }                                                                                                          \
            offsets[n] = static_cast<int>(at) + base;                                                                  \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##csr2bsr(void *h, int direction, int m, int n, const void *da, const T *v, const int *ro,         \
                              const int *co, int block, const void *dc, T *vo, int *roo, int *coo) {                   \
        return run_sparse(h, {da, v, ro, co, dc, vo, roo, coo}, [&] {                                                  \
            const int base = described(da).base, base_out = described(dc).base, mb = (m + block - 1) / block;          \
            Int at_out = 0;                                                                                            \
            roo[0] = base_out;                                                                                         \
            for (int br = 0; br < mb; ++br) {                                                                          \
                std::vector<int> blocks;                                                                               \
                for (int r = br * block; r < std::min(m, (br + 1) * block); ++r)                                       \
                    for (int at = ro[r] - base; at < ro[r + 1] - base; ++at)                                           \
                        blocks.push_back((co[at] - base) / block);                                                     \
                std::sort(blocks.begin(), blocks.end());                                                               \
                blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());                                 \
                std::fill(vo + at_out * block * block, vo + (at_out + Int(blocks.size())) * block * block, T(0));      \
                for (int r = br * block; r < std::min(m, (br + 1) * block); ++r)                                       \
                    for (int at = ro[r] - base; at < ro[r + 1] - base; ++at) {                                         \
                        const int c = co[at] - base, i = r % block, j = c % block;                                     \
                        const Int which = std::lower_bound(blocks.begin(), blocks.end(), c / block) - blocks.begin();  \
                        vo[(at_out + which) * block * block + (direction == 0 ? i * block + j : j * block + i)] =      \
                            v[at];                                                                                     \
                    }                                                                                                  \
                for (const int b : blocks) coo[at_out++] = b + base_out;                                               \
                roo[br + 1] = static_cast<int>(at_out) + base_out;                                                     \
            }                                                                                                          \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##bsr2csr(void *h, int direction, int mb, int nb, const void *da, const T *v, const int *ro,       \
                              const int *co, int block, const void *dc, T *vo, int *roo, int *coo) {                   \
        return run_sparse(h, {da, v, ro, co, dc, vo, roo, coo}, [&] {                                                  \
            const int base = described(da).base, base_out = described(dc).base;                                        \
            Int at_out = 0;                                                                                            \
            for (int r = 0; r < mb * block; ++r) {                                                                     \
                roo[r] = static_cast<int>(at_out) + base_out;                                                          \
                for (Int at = ro[r / block] - base; at < ro[r / block + 1] - base; ++at)                               \
                    for (int j = 0; j < block; ++j) {                                                                  \
                        const int i = r % block;                                                                       \
                        vo[at_out] = v[at * block * block + (direction == 0 ? i * block + j : j * block + i)];         \
                        coo[at_out++] = (co[at] - base) * block + j + base_out;                                        \
                    }                                                                                                  \
            }                                                                                                          \
            roo[mb * block] = static_cast<int>(at_out) + base_out;                                                     \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##axpyi(void *h, int count, const T *alpha, const T *x, const int *index, T *y, int base) {        \
        return run_sparse(h, {alpha, x, index, y}, [&] {                                                               \
            for (Int i = 0; i < count; ++i) y[index[i] - base] += *alpha * x[i];                                       \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##doti(void *h, int count, const T *x, const int *index, const T *y, T *result, int base) {        \
        return run_sparse(h, {x, index, y, result}, [&] {                                                              \
            T sum(0);                                                                                                  \
            for (Int i = 0; i < count; ++i) sum += x[i] * y[index[i] - base];                                          \
            *result = sum;                                                                                             \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##gthr(void *h, int count, const T *y, T *x, const int *index, int base) {                         \
        return run_sparse(h, {x, index, y}, [&] {                                                                      \
            for (Int i = 0; i < count; ++i) x[i] = y[index[i] - base];                                                 \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##gthrz(void *h, int count, T *y, T *x, const int *index, int base) {                              \
        return run_sparse(h, {x, index, y}, [&] {                                                                      \
            for (Int i = 0; i < count; ++i) x[i] = y[index[i] - base], y[index[i] - base] = T(0);                      \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }                                                                                                                  \
    int hipsparse##L##sctr(void *h, int count, const T *x, const int *index, T *y, int base) {                         \
        return run_sparse(h, {x, index, y}, [&] {                                                                      \
            for (Int i = 0; i < count; ++i) y[index[i] - base] = x[i];                                                 \
            return int(SparseOk);                                                                                      \
        });                                                                                                            \
    }
KPT_TYPED(S, float)
KPT_TYPED(D, double)
KPT_TYPED(C, Complex)
KPT_TYPED(Z, DoubleComplex)
}
