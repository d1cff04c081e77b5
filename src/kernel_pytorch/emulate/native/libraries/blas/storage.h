// The ways BLAS stores a matrix, behind one question: what is element (i, j)?
#pragma once

#include "blas.h"

namespace kpt {

template <class T> struct Dense {
    T *data;
    Int ld;
    T &operator()(Int i, Int j) const { return data[i + j * ld]; }
    // Rows of column j that are stored at all.
    Int top(Int) const { return 0; }
    Int bottom(Int, Int rows) const { return rows; }
};

template <class T> struct Packed {
    T *data;
    Int n;
    int fill;
    T &operator()(Int i, Int j) const {
        return fill == Upper ? data[i + j * (j + 1) / 2] : data[i + (2 * n - j - 1) * j / 2];
    }
    Int top(Int) const { return 0; }
    Int bottom(Int, Int rows) const { return rows; }
};

// `upper` diagonals above the main one and `lower` below.
template <class T> struct Banded {
    T *data;
    Int ld, lower, upper;
    T &operator()(Int i, Int j) const { return data[upper + i - j + j * ld]; }
    Int top(Int j) const { return std::max<Int>(0, j - upper); }
    Int bottom(Int j, Int rows) const { return std::min(rows, j + lower + 1); }
};

// op(i, j, value) for every element of a symmetric or Hermitian matrix of which one triangle is stored.
template <bool Hermitian, class Matrix, class Visit>
void each_symmetric(const Matrix &matrix, int fill, Int n, Visit visit) {
    for (Int j = 0; j < n; ++j) {
        const Int from = fill == Upper ? matrix.top(j) : j, to = fill == Upper ? j + 1 : matrix.bottom(j, n);
        for (Int i = from; i < to; ++i) {
            auto value = matrix(i, j);
            using T = std::decay_t<decltype(value)>;
            if (i == j) {
                visit(i, j, Hermitian ? T(real_part(value)) : value);
                continue;
            }
            visit(i, j, value);
            visit(j, i, Hermitian ? conjugate(value) : value);
        }
    }
}

// op(i, j, value) for every element of op(triangle).
template <class Matrix, class Visit>
void each_triangular(const Matrix &matrix, int fill, int op, int diagonal, Int n, Visit visit) {
    for (Int j = 0; j < n; ++j) {
        const Int from = fill == Upper ? matrix.top(j) : j, to = fill == Upper ? j + 1 : matrix.bottom(j, n);
        for (Int i = from; i < to; ++i) {
            auto value = matrix(i, j);
            if (i == j && diagonal == Unit) value = std::decay_t<decltype(value)>(1);
            if (op == None)
                visit(i, j, value);
            else
                visit(j, i, op == ConjugateTranspose ? conjugate(value) : value);
        }
    }
}

// Solves op(triangle) x = b in place; element i of x is x[i * step].
template <class T, class Matrix>
void solve_triangular(const Matrix &matrix, int fill, int op, int diagonal, Int n, T *x, Int step) {
    const bool forward = (fill == Lower) == (op == None);
    for (Int count = 0; count < n; ++count) {
        const Int j = forward ? count : n - 1 - count;
        const Int from = fill == Upper ? matrix.top(j) : j + 1, to = fill == Upper ? j : matrix.bottom(j, n);
        if (op == None) {
            if (diagonal == NonUnit) x[j * step] /= matrix(j, j);
            const T value = x[j * step];
            for (Int i = from; i < to; ++i) x[i * step] -= matrix(i, j) * value;
        } else {
            T sum = x[j * step];
            for (Int i = from; i < to; ++i)
                sum -= (op == ConjugateTranspose ? conjugate(matrix(i, j)) : matrix(i, j)) * x[i * step];
            if (diagonal == NonUnit) sum /= op == ConjugateTranspose ? conjugate(matrix(j, j)) : matrix(j, j);
            x[j * step] = sum;
        }
    }
}

} // namespace kpt
