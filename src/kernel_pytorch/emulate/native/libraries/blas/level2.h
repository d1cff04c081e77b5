// Matrix with vector.
#pragma once

#include "storage.h"

namespace kpt {

template <class T> void scale_vector(Int n, T beta, T *y, Int incy) {
    for (Int i = 0; i < n; ++i) y[i * incy] = beta == T(0) ? T(0) : beta * y[i * incy]; // beta 0 must not read NaN
}

template <class T, class Matrix>
Status multiply_general(int op, Int m, Int n, const T *alpha, const Matrix &a, const T *x, Int incx, const T *beta,
                        T *y, Int incy) {
    KPT_CHECK(incx != 0 && incy != 0, InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(alpha && beta, InvalidPointer);
    KPT_CHECK(*alpha != T(0) || *beta != T(1), Ok);
    KPT_CHECK(y && (*alpha == T(0) || (a.data && x)), InvalidPointer);
    const Int rows = op == None ? m : n, columns = op == None ? n : m;
    x = first(x, columns, incx), y = first(y, rows, incy);
    scale_vector(rows, *beta, y, incy);
    KPT_CHECK(*alpha != T(0), Ok);
    for (Int j = 0; j < n; ++j) {
        const Int from = a.top(j), to = a.bottom(j, m);
        if (op == None) {
            const T factor = *alpha * x[j * incx];
            for (Int i = from; i < to; ++i) y[i * incy] += factor * a(i, j);
        } else {
            T sum(0);
            for (Int i = from; i < to; ++i)
                sum += (op == ConjugateTranspose ? conjugate(T(a(i, j))) : T(a(i, j))) * x[i * incx];
            y[j * incy] += *alpha * sum;
        }
    }
    return Ok;
}

template <class T>
Status gemv(int op, Int m, Int n, const T *alpha, const T *A, Int lda, const T *x, Int incx, const T *beta, T *y,
            Int incy) {
    KPT_CHECK(valid_op(op), InvalidEnum);
    KPT_CHECK(m >= 0 && n >= 0 && lda >= std::max<Int>(1, m), InvalidSize);
    return multiply_general(op, m, n, alpha, Dense<const T>{A, lda}, x, incx, beta, y, incy);
}

template <class T>
Status gbmv(int op, Int m, Int n, Int kl, Int ku, const T *alpha, const T *A, Int lda, const T *x, Int incx,
            const T *beta, T *y, Int incy) {
    KPT_CHECK(valid_op(op), InvalidEnum);
    KPT_CHECK(m >= 0 && n >= 0 && kl >= 0 && ku >= 0 && lda > kl + ku, InvalidSize);
    return multiply_general(op, m, n, alpha, Banded<const T>{A, lda, kl, ku}, x, incx, beta, y, incy);
}

template <bool Conjugate, class T>
Status rank_one(Int m, Int n, const T *alpha, const T *x, Int incx, const T *y, Int incy, T *A, Int lda) {
    KPT_CHECK(m >= 0 && n >= 0 && incx != 0 && incy != 0 && lda >= std::max<Int>(1, m), InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(alpha, InvalidPointer);
    KPT_CHECK(*alpha != T(0), Ok);
    KPT_CHECK(x && y && A, InvalidPointer);
    x = first(x, m, incx), y = first(y, n, incy);
    for (Int j = 0; j < n; ++j) {
        const T factor = *alpha * (Conjugate ? conjugate(y[j * incy]) : y[j * incy]);
        for (Int i = 0; i < m; ++i) A[i + j * lda] += x[i * incx] * factor;
    }
    return Ok;
}

template <class T> Status ger(Int m, Int n, const T *alpha, const T *x, Int incx, const T *y, Int incy, T *A, Int lda) {
    return rank_one<false>(m, n, alpha, x, incx, y, incy, A, lda);
}
template <class T> Status geru(Int m, Int n, const T *alpha, const T *x, Int incx, const T *y, Int incy, T *A,
                               Int lda) {
    return rank_one<false>(m, n, alpha, x, incx, y, incy, A, lda);
}
template <class T> Status gerc(Int m, Int n, const T *alpha, const T *x, Int incx, const T *y, Int incy, T *A,
                               Int lda) {
    return rank_one<true>(m, n, alpha, x, incx, y, incy, A, lda);
}

template <bool Hermitian, class T, class Matrix>
Status multiply_symmetric(int fill, Int n, const T *alpha, const Matrix &a, const T *x, Int incx, const T *beta, T *y,
                          Int incy) {
    KPT_CHECK(valid_fill(fill), InvalidEnum);
    KPT_CHECK(n >= 0 && incx != 0 && incy != 0, InvalidSize);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(alpha && beta, InvalidPointer);
    KPT_CHECK(*alpha != T(0) || *beta != T(1), Ok);
    KPT_CHECK(y && (*alpha == T(0) || (a.data && x)), InvalidPointer);
    x = first(x, n, incx), y = first(y, n, incy);
    scale_vector(n, *beta, y, incy);
    if (*alpha != T(0))
        each_symmetric<Hermitian>(a, fill, n,
                                  [&](Int i, Int j, T value) { y[i * incy] += *alpha * value * x[j * incx]; });
    return Ok;
}

// symv/hemv, sbmv/hbmv and spmv/hpmv differ in storage and in what the mirrored triangle is.
#define KPT_SYMMETRIC_PRODUCTS(DENSE, BAND, PACKED, HERMITIAN)                                                         \
    template <class T>                                                                                                 \
    Status DENSE(int fill, Int n, const T *alpha, const T *A, Int lda, const T *x, Int incx, const T *beta, T *y,      \
                 Int incy) {                                                                                           \
        KPT_CHECK(lda >= std::max<Int>(1, n), InvalidSize);                                                            \
        return multiply_symmetric<HERMITIAN>(fill, n, alpha, Dense<const T>{A, lda}, x, incx, beta, y, incy);          \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    Status BAND(int fill, Int n, Int k, const T *alpha, const T *A, Int lda, const T *x, Int incx, const T *beta,      \
                T *y, Int incy) {                                                                                      \
        KPT_CHECK(k >= 0 && lda > k, InvalidSize);                                                                     \
        const Banded<const T> band{A, lda, fill == Lower ? k : 0, fill == Upper ? k : 0};                              \
        return multiply_symmetric<HERMITIAN>(fill, n, alpha, band, x, incx, beta, y, incy);                            \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    Status PACKED(int fill, Int n, const T *alpha, const T *A, const T *x, Int incx, const T *beta, T *y, Int incy) {  \
        return multiply_symmetric<HERMITIAN>(fill, n, alpha, Packed<const T>{A, n, fill}, x, incx, beta, y, incy);     \
    }
KPT_SYMMETRIC_PRODUCTS(symv, sbmv, spmv, false)
KPT_SYMMETRIC_PRODUCTS(hemv, hbmv, hpmv, true)
#undef KPT_SYMMETRIC_PRODUCTS

template <bool Hermitian, class T, class A, class Matrix>
Status symmetric_rank_one(int fill, Int n, const A *alpha, const T *x, Int incx, const Matrix &a) {
    KPT_CHECK(valid_fill(fill), InvalidEnum);
    KPT_CHECK(n >= 0 && incx != 0, InvalidSize);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(alpha, InvalidPointer);
    KPT_CHECK(*alpha != A(0), Ok);
    KPT_CHECK(x && a.data, InvalidPointer);
    x = first(x, n, incx);
    for (Int j = 0; j < n; ++j) {
        const T factor = *alpha * (Hermitian ? conjugate(x[j * incx]) : x[j * incx]);
        for (Int i = fill == Upper ? 0 : j; i < (fill == Upper ? j + 1 : n); ++i) a(i, j) += x[i * incx] * factor;
        if (Hermitian) a(j, j) = T(real_part(T(a(j, j))));
    }
    return Ok;
}

template <bool Hermitian, class T, class Matrix>
Status symmetric_rank_two(int fill, Int n, const T *alpha, const T *x, Int incx, const T *y, Int incy,
                          const Matrix &a) {
    KPT_CHECK(valid_fill(fill), InvalidEnum);
    KPT_CHECK(n >= 0 && incx != 0 && incy != 0, InvalidSize);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(alpha, InvalidPointer);
    KPT_CHECK(*alpha != T(0), Ok);
    KPT_CHECK(x && y && a.data, InvalidPointer);
    x = first(x, n, incx), y = first(y, n, incy);
    for (Int j = 0; j < n; ++j) {
        const T by_x = *alpha * (Hermitian ? conjugate(y[j * incy]) : y[j * incy]);
        const T by_y = Hermitian ? conjugate(*alpha * x[j * incx]) : *alpha * x[j * incx];
        for (Int i = fill == Upper ? 0 : j; i < (fill == Upper ? j + 1 : n); ++i)
            a(i, j) += x[i * incx] * by_x + y[i * incy] * by_y;
        if (Hermitian) a(j, j) = T(real_part(T(a(j, j))));
    }
    return Ok;
}

#define KPT_SYMMETRIC_UPDATES(DENSE, PACKED, DENSE2, PACKED2, HERMITIAN, ALPHA)                                        \
    template <class T> Status DENSE(int fill, Int n, const ALPHA *alpha, const T *x, Int incx, T *A, Int lda) {        \
        KPT_CHECK(lda >= std::max<Int>(1, n), InvalidSize);                                                            \
        return symmetric_rank_one<HERMITIAN>(fill, n, alpha, x, incx, Dense<T>{A, lda});                               \
    }                                                                                                                  \
    template <class T> Status PACKED(int fill, Int n, const ALPHA *alpha, const T *x, Int incx, T *A) {                \
        return symmetric_rank_one<HERMITIAN>(fill, n, alpha, x, incx, Packed<T>{A, n, fill});                          \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    Status DENSE2(int fill, Int n, const T *alpha, const T *x, Int incx, const T *y, Int incy, T *A, Int lda) {        \
        KPT_CHECK(lda >= std::max<Int>(1, n), InvalidSize);                                                            \
        return symmetric_rank_two<HERMITIAN>(fill, n, alpha, x, incx, y, incy, Dense<T>{A, lda});                      \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    Status PACKED2(int fill, Int n, const T *alpha, const T *x, Int incx, const T *y, Int incy, T *A) {                \
        return symmetric_rank_two<HERMITIAN>(fill, n, alpha, x, incx, y, incy, Packed<T>{A, n, fill});                 \
    }
KPT_SYMMETRIC_UPDATES(syr, spr, syr2, spr2, false, T)
KPT_SYMMETRIC_UPDATES(her, hpr, her2, hpr2, true, Real<T>)
#undef KPT_SYMMETRIC_UPDATES

template <class T, class Matrix>
Status multiply_triangular(int fill, int op, int diagonal, Int n, const Matrix &a, T *x, Int incx) {
    KPT_CHECK(valid_fill(fill) && valid_op(op) && valid_diagonal(diagonal), InvalidEnum);
    KPT_CHECK(n >= 0 && incx != 0, InvalidSize);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(x && a.data, InvalidPointer);
    x = first(x, n, incx);
    std::vector<T> product(static_cast<size_t>(n), T(0));
    each_triangular(a, fill, op, diagonal, n, [&](Int i, Int j, T value) { product[i] += value * x[j * incx]; });
    for (Int i = 0; i < n; ++i) x[i * incx] = product[i];
    return Ok;
}

template <class T, class Matrix>
Status solve_vector(int fill, int op, int diagonal, Int n, const Matrix &a, T *x, Int incx) {
    KPT_CHECK(valid_fill(fill) && valid_op(op) && valid_diagonal(diagonal), InvalidEnum);
    KPT_CHECK(n >= 0 && incx != 0, InvalidSize);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(x && a.data, InvalidPointer);
    solve_triangular(a, fill, op, diagonal, n, first(x, n, incx), incx);
    return Ok;
}

#define KPT_TRIANGULAR(DENSE, BAND, PACKED, HOW)                                                                       \
    template <class T> Status DENSE(int fill, int op, int diagonal, Int n, const T *A, Int lda, T *x, Int incx) {      \
        KPT_CHECK(lda >= std::max<Int>(1, n), InvalidSize);                                                            \
        return HOW(fill, op, diagonal, n, Dense<const T>{A, lda}, x, incx);                                            \
    }                                                                                                                  \
    template <class T> Status BAND(int fill, int op, int diagonal, Int n, Int k, const T *A, Int lda, T *x,            \
                                   Int incx) {                                                                         \
        KPT_CHECK(k >= 0 && lda > k, InvalidSize);                                                                     \
        const Banded<const T> band{A, lda, fill == Lower ? k : 0, fill == Upper ? k : 0};                              \
        return HOW(fill, op, diagonal, n, band, x, incx);                                                              \
    }                                                                                                                  \
    template <class T> Status PACKED(int fill, int op, int diagonal, Int n, const T *A, T *x, Int incx) {              \
        return HOW(fill, op, diagonal, n, Packed<const T>{A, n, fill}, x, incx);                                       \
    }
KPT_TRIANGULAR(trmv, tbmv, tpmv, multiply_triangular)
KPT_TRIANGULAR(trsv, tbsv, tpsv, solve_vector)
#undef KPT_TRIANGULAR

} // namespace kpt
