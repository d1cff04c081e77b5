// Matrix with matrix. A structured operand is expanded to a plain one and given to gemm.
#pragma once

#include "gemm.h"
#include "storage.h"

namespace kpt {

template <class T>
Status gemm(int op_a, int op_b, Int m, Int n, Int k, const T *alpha, const T *A, Int lda, const T *B, Int ldb,
            const T *beta, T *C, Int ldc) {
    KPT_CHECK(valid_op(op_a) && valid_op(op_b), InvalidEnum);
    KPT_CHECK(m >= 0 && n >= 0 && k >= 0, InvalidSize);
    KPT_CHECK(lda >= std::max<Int>(1, op_a == None ? m : k) && ldb >= std::max<Int>(1, op_b == None ? k : n) &&
                  ldc >= std::max<Int>(1, m),
              InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(alpha && beta, InvalidPointer);
    using S = Sum<T>;
    const S a(*alpha), b(*beta);
    KPT_CHECK((a != S(0) && k > 0) || b != S(1), Ok);
    KPT_CHECK(C && (a == S(0) || k == 0 || (A && B)), InvalidPointer);
    if constexpr (std::is_same_v<T, S>) {
        gemm_values<T>(op_a, op_b, m, n, a == S(0) ? 0 : k, a, A, lda, B, ldb, b, C, ldc);
    } else {
        const Int depth = a == S(0) ? 0 : k;
        std::vector<S> left(static_cast<size_t>(m * depth)), right(static_cast<size_t>(depth * n)),
            out(static_cast<size_t>(m * n));
        for (Int l = 0; l < depth; ++l) {
            for (Int i = 0; i < m; ++i) left[i + l * m] = S(op_a == None ? A[i + l * lda] : A[l + i * lda]);
            for (Int j = 0; j < n; ++j) right[l + j * depth] = S(op_b == None ? B[l + j * ldb] : B[j + l * ldb]);
        }
        if (b != S(0))
            for (Int j = 0; j < n; ++j)
                for (Int i = 0; i < m; ++i) out[i + j * m] = S(C[i + j * ldc]);
        gemm_values<S>(None, None, m, n, depth, a, left.data(), m, right.data(), std::max<Int>(1, depth), b, out.data(),
                       m);
        for (Int j = 0; j < n; ++j)
            for (Int i = 0; i < m; ++i) C[i + j * ldc] = T(out[i + j * m]);
    }
    return Ok;
}

template <bool Hermitian, class T>
Status symmetric_product(int side, int fill, Int m, Int n, const T *alpha, const T *A, Int lda, const T *B, Int ldb,
                         const T *beta, T *C, Int ldc) {
    KPT_CHECK(valid_side(side) && valid_fill(fill), InvalidEnum);
    const Int order = side == Left ? m : n;
    KPT_CHECK(m >= 0 && n >= 0 && lda >= std::max<Int>(1, order) && ldb >= std::max<Int>(1, m) &&
                  ldc >= std::max<Int>(1, m),
              InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(alpha && beta && C && (*alpha == T(0) || (A && B)), InvalidPointer);
    std::vector<T> full(static_cast<size_t>(order * order));
    if (*alpha != T(0))
        each_symmetric<Hermitian>(Dense<const T>{A, lda}, fill, order,
                                  [&](Int i, Int j, T value) { full[i + j * order] = value; });
    if (side == Left) return gemm(None, None, m, n, m, alpha, full.data(), m, B, ldb, beta, C, ldc);
    return gemm(None, None, m, n, n, alpha, B, ldb, full.data(), n, beta, C, ldc);
}

template <class T>
Status symm(int side, int fill, Int m, Int n, const T *alpha, const T *A, Int lda, const T *B, Int ldb, const T *beta,
            T *C, Int ldc) {
    return symmetric_product<false>(side, fill, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
}
template <class T>
Status hemm(int side, int fill, Int m, Int n, const T *alpha, const T *A, Int lda, const T *B, Int ldb, const T *beta,
            T *C, Int ldc) {
    return symmetric_product<true>(side, fill, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
}

// The stored triangle of C = beta C + alpha op(A) op'(B) [+ alpha' op(B) op'(A)], op' the transpose or its conjugate.
template <bool Hermitian, class T, class B>
Status symmetric_update(int fill, int op, Int n, Int k, T alpha, const T *A, Int lda, const T *second, Int lds,
                        bool both, B beta, T *C, Int ldc) {
    KPT_CHECK(valid_fill(fill) && valid_op(op), InvalidEnum);
    KPT_CHECK(op == None || op == (Hermitian ? ConjugateTranspose : Transpose) || !is_complex<T>, InvalidValue);
    const Int rows = op == None ? n : k;
    KPT_CHECK(n >= 0 && k >= 0 && lda >= std::max<Int>(1, rows) && lds >= std::max<Int>(1, rows) &&
                  ldc >= std::max<Int>(1, n),
              InvalidSize);
    KPT_CHECK(n > 0, Ok);
    const bool multiply = alpha != T(0) && k > 0;
    KPT_CHECK(multiply || beta != B(1), Ok);
    KPT_CHECK(C && (!multiply || (A && second)), InvalidPointer);
    std::vector<T> product(static_cast<size_t>(n * n), T(0));
    const int flip = Hermitian ? ConjugateTranspose : Transpose;
    const int left = op == None ? None : flip, right = op == None ? flip : None;
    if (multiply) {
        gemm_values<T>(left, right, n, n, k, alpha, A, lda, second, lds, T(0), product.data(), n);
        if (both)
            gemm_values<T>(left, right, n, n, k, Hermitian ? conjugate(alpha) : alpha, second, lds, A, lda, T(1),
                           product.data(), n);
    }
    for (Int j = 0; j < n; ++j)
        for (Int i = fill == Upper ? 0 : j; i < (fill == Upper ? j + 1 : n); ++i) {
            T value = product[i + j * n];
            if (beta != B(0)) value += beta * C[i + j * ldc];
            C[i + j * ldc] = Hermitian && i == j ? T(real_part(value)) : value;
        }
    return Ok;
}

#define KPT_RANK_K(RANK_K, RANK_2K, RANK_KX, HERMITIAN, ALPHA, BETA)                                                   \
    template <class T>                                                                                                 \
    Status RANK_K(int fill, int op, Int n, Int k, const ALPHA *alpha, const T *A, Int lda, const BETA *beta, T *C,     \
                  Int ldc) {                                                                                           \
        KPT_CHECK(n != 0, valid_fill(fill) && valid_op(op) ? Ok : InvalidEnum);                                        \
        KPT_CHECK(alpha && beta, InvalidPointer);                                                                      \
        return symmetric_update<HERMITIAN>(fill, op, n, k, T(*alpha), A, lda, A, lda, false, *beta, C, ldc);           \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    Status RANK_2K(int fill, int op, Int n, Int k, const T *alpha, const T *A, Int lda, const T *B, Int ldb,           \
                   const BETA *beta, T *C, Int ldc) {                                                                  \
        KPT_CHECK(n != 0, valid_fill(fill) && valid_op(op) ? Ok : InvalidEnum);                                        \
        KPT_CHECK(alpha && beta, InvalidPointer);                                                                      \
        return symmetric_update<HERMITIAN>(fill, op, n, k, *alpha, A, lda, B, ldb, true, *beta, C, ldc);               \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    Status RANK_KX(int fill, int op, Int n, Int k, const T *alpha, const T *A, Int lda, const T *B, Int ldb,           \
                   const BETA *beta, T *C, Int ldc) {                                                                  \
        KPT_CHECK(n != 0, valid_fill(fill) && valid_op(op) ? Ok : InvalidEnum);                                        \
        KPT_CHECK(alpha && beta, InvalidPointer);                                                                      \
        return symmetric_update<HERMITIAN>(fill, op, n, k, *alpha, A, lda, B, ldb, false, *beta, C, ldc);              \
    }
KPT_RANK_K(syrk, syr2k, syrkx, false, T, T)
KPT_RANK_K(herk, her2k, herkx, true, Real<T>, Real<T>)
#undef KPT_RANK_K

template <class T>
Status trmm(int side, int fill, int op, int diagonal, Int m, Int n, const T *alpha, const T *A, Int lda, const T *B,
            Int ldb, T *C, Int ldc) {
    KPT_CHECK(valid_side(side) && valid_fill(fill) && valid_op(op) && valid_diagonal(diagonal), InvalidEnum);
    const Int order = side == Left ? m : n;
    KPT_CHECK(m >= 0 && n >= 0 && lda >= std::max<Int>(1, order) && ldb >= std::max<Int>(1, m) &&
                  ldc >= std::max<Int>(1, m),
              InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(alpha && C && (*alpha == T(0) || (A && B)), InvalidPointer);
    std::vector<T> full(static_cast<size_t>(order * order)), copy; // C may be B
    if (*alpha != T(0)) {
        each_triangular(Dense<const T>{A, lda}, fill, op, diagonal, order,
                        [&](Int i, Int j, T value) { full[i + j * order] = value; });
        copy = plain_copy(None, m, n, B, ldb);
    }
    const T zero(0);
    if (side == Left) return gemm(None, None, m, n, m, alpha, full.data(), m, copy.data(), m, &zero, C, ldc);
    return gemm(None, None, m, n, n, alpha, copy.data(), m, full.data(), n, &zero, C, ldc);
}

template <class T>
Status trsm(int side, int fill, int op, int diagonal, Int m, Int n, const T *alpha, const T *A, Int lda, T *B,
            Int ldb) {
    KPT_CHECK(valid_side(side) && valid_fill(fill) && valid_op(op) && valid_diagonal(diagonal), InvalidEnum);
    const Int order = side == Left ? m : n;
    KPT_CHECK(m >= 0 && n >= 0 && lda >= std::max<Int>(1, order) && ldb >= std::max<Int>(1, m), InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(alpha && B && (*alpha == T(0) || A), InvalidPointer);
    using Trsm = void (*)(const char *, const char *, const char *, const char *, const Int *, const Int *, const T *,
                          const T *, const Int *, T *, const Int *, size_t, size_t, size_t, size_t);
    static const auto host = reinterpret_cast<Trsm>(typed_routine<T>("trsm"));
    if (host && order * m * n > 8000 && *alpha != T(0)) {
        const char s = side == Left ? 'L' : 'R', f = fill == Upper ? 'U' : 'L', o = op_letter(op),
                   d = diagonal == Unit ? 'U' : 'N';
        host(&s, &f, &o, &d, &m, &n, alpha, A, &lda, B, &ldb, 1, 1, 1, 1);
        return Ok;
    }
    for (Int j = 0; j < n; ++j)
        for (Int i = 0; i < m; ++i) B[i + j * ldb] = *alpha == T(0) ? T(0) : *alpha * B[i + j * ldb];
    KPT_CHECK(*alpha != T(0), Ok);
    const Dense<const T> triangle{A, lda};
    if (side == Left) {
        for (Int j = 0; j < n; ++j) solve_triangular(triangle, fill, op, diagonal, m, B + j * ldb, Int(1));
        return Ok;
    }
    // X op(A) = B is op(A)^T X^T = B^T, row by row; for the conjugate transpose conjugate both sides.
    const bool conjugated = op == ConjugateTranspose;
    for (Int i = 0; i < m; ++i) {
        T *row = B + i;
        for (Int j = 0; conjugated && j < n; ++j) row[j * ldb] = conjugate(row[j * ldb]);
        solve_triangular(triangle, fill, op == None ? int(Transpose) : int(None), diagonal, n, row, ldb);
        for (Int j = 0; conjugated && j < n; ++j) row[j * ldb] = conjugate(row[j * ldb]);
    }
    return Ok;
}

template <class T> Status trtri(int fill, int diagonal, Int n, const T *A, Int lda, T *inverse, Int ldi) {
    KPT_CHECK(valid_fill(fill) && valid_diagonal(diagonal), InvalidEnum);
    KPT_CHECK(n >= 0 && lda >= std::max<Int>(1, n) && ldi >= std::max<Int>(1, n), InvalidSize);
    KPT_CHECK(n > 0, Ok);
    KPT_CHECK(A && inverse, InvalidPointer);
    std::vector<T> triangle(static_cast<size_t>(n * n)), result(static_cast<size_t>(n * n)); // inverse may be A
    each_triangular(Dense<const T>{A, lda}, fill, int(None), diagonal, n,
                    [&](Int i, Int j, T value) { triangle[i + j * n] = value; });
    for (Int j = 0; j < n; ++j) {
        result[j + j * n] = T(1);
        solve_triangular(Dense<const T>{triangle.data(), n}, fill, int(None), diagonal, n, result.data() + j * n,
                         Int(1));
        for (Int i = fill == Upper ? 0 : j; i < (fill == Upper ? j + 1 : n); ++i)
            inverse[i + j * ldi] = result[i + j * n];
    }
    return Ok;
}

template <class T>
Status geam(int op_a, int op_b, Int m, Int n, const T *alpha, const T *A, Int lda, const T *beta, const T *B, Int ldb,
            T *C, Int ldc) {
    KPT_CHECK(valid_op(op_a) && valid_op(op_b), InvalidEnum);
    KPT_CHECK(m >= 0 && n >= 0 && lda >= std::max<Int>(1, op_a == None ? m : n) &&
                  ldb >= std::max<Int>(1, op_b == None ? m : n) && ldc >= std::max<Int>(1, m),
              InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(alpha && beta && C && (*alpha == T(0) || A) && (*beta == T(0) || B), InvalidPointer);
    KPT_CHECK((A != C || (op_a == None && lda == ldc)) && (B != C || (op_b == None && ldb == ldc)), InvalidSize);
    const auto element = [](int op, const T *matrix, Int ld, Int i, Int j) {
        const T value = op == None ? matrix[i + j * ld] : matrix[j + i * ld];
        return op == ConjugateTranspose ? conjugate(value) : value;
    };
    for (Int j = 0; j < n; ++j)
        for (Int i = 0; i < m; ++i) {
            const T left = *alpha == T(0) ? T(0) : *alpha * element(op_a, A, lda, i, j);
            const T right = *beta == T(0) ? T(0) : *beta * element(op_b, B, ldb, i, j);
            C[i + j * ldc] = left + right;
        }
    return Ok;
}

template <class T> Status dgmm(int side, Int m, Int n, const T *A, Int lda, const T *x, Int incx, T *C, Int ldc) {
    KPT_CHECK(valid_side(side), InvalidEnum);
    KPT_CHECK(m >= 0 && n >= 0 && lda >= std::max<Int>(1, m) && ldc >= std::max<Int>(1, m), InvalidSize);
    KPT_CHECK(m > 0 && n > 0, Ok);
    KPT_CHECK(A && x && C, InvalidPointer);
    x = first(x, side == Left ? m : n, incx);
    for (Int j = 0; j < n; ++j)
        for (Int i = 0; i < m; ++i) C[i + j * ldc] = A[i + j * lda] * x[(side == Left ? i : j) * incx];
    return Ok;
}

} // namespace kpt
