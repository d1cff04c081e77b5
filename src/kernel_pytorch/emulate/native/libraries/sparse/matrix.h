// Sparse and dense operands as the generic interface describes them, and one plain form to compute with.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "../common/typed.h"

namespace kpt {

enum SparseStatus : int {
    SparseOk = 0,
    NotInitialized = 1,
    AllocFailed = 2,
    InvalidSparseValue = 3,
    SparseInternal = 7,
    ZeroPivot = 9,
    SparseNotSupported = 10,
};
enum SparseOp : int { Plain = 0, Flipped = 1, ConjugateFlipped = 2 };
enum Format : int { Csr = 1, Csc = 2, Coo = 3, CooPairs = 4, BlockedEll = 5 };
enum IndexType : int { Index16U = 1, Index32 = 2, Index64 = 3 };
enum Order : int { ColumnMajor = 1, RowMajor = 2 };

struct SparseHandle {
    void *stream = nullptr;
    int pointer_mode = 0;
};

struct MatrixDescription { // of the older, typed interface
    int type = 0, fill = 0, diagonal = 0, base = 0;
};

struct DenseVector {
    Int size;
    void *values;
    int type;
};

struct SparseVector {
    Int size, count;
    void *indices, *values;
    int index_type, base, type;
};

struct DenseMatrix {
    Int rows, columns, ld;
    void *values;
    int type, order;
    int batches = 1;
    Int batch_stride = 0;
    Int row_step() const { return order == RowMajor ? ld : 1; }
    Int column_step() const { return order == RowMajor ? 1 : ld; }
    void *batch(Int index) const { return offset(values, type, index * batch_stride); }
};

struct SparseMatrix {
    int format;
    Int rows, columns, count;
    void *offsets; // row (CSR) or column (CSC) starts; row indices (COO); index pairs (COO_AOS)
    void *indices;
    void *values;
    int offset_type, index_type, base, type;
    Int block = 0, ell_columns = 0;
    int batches = 1;
    Int offsets_stride = 0, values_stride = 0;
    int fill = 0, diagonal = 0;
};

inline Int load_index(int type, const void *data, Int at) {
    switch (type) {
    case Index16U: return static_cast<const uint16_t *>(data)[at];
    case Index64: return static_cast<const int64_t *>(data)[at];
    default: return static_cast<const int32_t *>(data)[at];
    }
}

inline void store_index(int type, void *data, Int at, Int value) {
    switch (type) {
    case Index16U: static_cast<uint16_t *>(data)[at] = static_cast<uint16_t>(value); break;
    case Index64: static_cast<int64_t *>(data)[at] = value; break;
    default: static_cast<int32_t *>(data)[at] = static_cast<int32_t>(value);
    }
}

inline Int index_bytes(int type) { return type == Index16U ? 2 : type == Index64 ? 8 : 4; }

inline const void *index_offset(const void *data, int type, Int elements) {
    return data ? static_cast<const char *>(data) + elements * index_bytes(type) : nullptr;
}

// Rows of (column, value), zero-based; `place` is where each entry's value is in the caller's array.
template <class W> struct Rows {
    Int rows = 0, columns = 0;
    std::vector<Int> start, column, place;
    std::vector<W> value;

    // From entries in any order; entries of a row keep their order.
    static Rows from(Int rows, Int columns, const std::vector<Int> &row, const std::vector<Int> &column,
                     const std::vector<W> &value, const std::vector<Int> &place) {
        Rows out;
        out.rows = rows, out.columns = columns;
        out.start.assign(static_cast<size_t>(rows + 1), 0);
        for (const Int r : row) ++out.start[r + 1];
        std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
        out.column.resize(row.size()), out.value.resize(row.size()), out.place.resize(row.size());
        std::vector<Int> next(out.start.begin(), out.start.end());
        for (size_t i = 0; i < row.size(); ++i) {
            const Int at = next[row[i]]++;
            out.column[at] = column[i], out.value[at] = value[i], out.place[at] = place[i];
        }
        return out;
    }

    Rows applied(int op) const {
        if (op == Plain) return *this;
        std::vector<Int> row(column.size());
        for (Int r = 0; r < rows; ++r) std::fill(row.begin() + start[r], row.begin() + start[r + 1], r);
        Rows out = from(columns, rows, column, row, value, place);
        if (op == ConjugateFlipped)
            for (W &v : out.value) v = conjugate(v);
        return out;
    }
};

template <class W> Rows<W> read_rows(const SparseMatrix &m, Int batch = 0) {
    const void *offsets = index_offset(m.offsets, m.offset_type, batch * m.offsets_stride);
    const void *indices = index_offset(m.indices, m.index_type, batch * m.values_stride);
    const void *values = offset(static_cast<const void *>(m.values), m.type, batch * m.values_stride);
    std::vector<Int> row, column, place;
    std::vector<W> value;
    const auto add = [&](Int r, Int c, Int at) {
        row.push_back(r), column.push_back(c), place.push_back(at);
        value.push_back(values ? load<W>(m.type, values, at) : W(0));
    };
    if (m.format == Csr || m.format == Csc) {
        const Int lines = m.format == Csr ? m.rows : m.columns;
        for (Int line = 0; line < lines; ++line) {
            const Int from = load_index(m.offset_type, offsets, line) - m.base;
            const Int to = load_index(m.offset_type, offsets, line + 1) - m.base;
            for (Int at = from; at < to; ++at) {
                const Int other = load_index(m.index_type, indices, at) - m.base;
                m.format == Csr ? add(line, other, at) : add(other, line, at);
            }
        }
    } else if (m.format == Coo) {
        const void *row_indices = index_offset(m.offsets, m.index_type, batch * m.values_stride);
        for (Int at = 0; at < m.count; ++at)
            add(load_index(m.index_type, row_indices, at) - m.base, load_index(m.index_type, indices, at) - m.base, at);
    } else if (m.format == CooPairs) {
        for (Int at = 0; at < m.count; ++at)
            add(load_index(m.index_type, offsets, 2 * at) - m.base,
                load_index(m.index_type, offsets, 2 * at + 1) - m.base, at);
    } else if (m.format == BlockedEll) {
        // Blocks of one block row lie side by side in a row-major array of rows x ell_columns values.
        const Int per_row = m.ell_columns / m.block;
        for (Int r = 0; r < m.rows; ++r)
            for (Int b = 0; b < per_row; ++b) {
                const Int block_column = load_index(m.index_type, indices, r / m.block * per_row + b);
                if (block_column < m.base) // padding
                    continue;
                for (Int c = 0; c < m.block; ++c)
                    add(r, (block_column - m.base) * m.block + c, r * m.ell_columns + b * m.block + c);
            }
    }
    return Rows<W>::from(m.rows, m.columns, row, column, value, place);
}

// Runs body(W()) with a type wide enough for `type`: double precision, complex where needed.
template <class Body> int with_width(int type, Body body) {
    if (!size_of_type(type)) return SparseNotSupported;
    return complex_type(type) ? body(DoubleComplex()) : body(double());
}

// Solves op(triangle of A) x = x in place; returns the row of a zero pivot, or -1. Entries outside the triangle are
// skipped, a unit diagonal is not read.
template <class W>
Int solve_sparse(const Rows<W> &a, bool lower, bool unit, W *x, Int step) {
    for (Int count = 0; count < a.rows; ++count) {
        const Int r = lower ? count : a.rows - 1 - count;
        W sum = x[r * step], pivot(unit ? 1 : 0);
        for (Int at = a.start[r]; at < a.start[r + 1]; ++at) {
            const Int c = a.column[at];
            if (c == r && !unit)
                pivot = a.value[at];
            else if (lower ? c < r : c > r)
                sum -= a.value[at] * x[c * step];
        }
        if (pivot == W(0)) return r;
        x[r * step] = sum / pivot;
    }
    return -1;
}

} // namespace kpt
