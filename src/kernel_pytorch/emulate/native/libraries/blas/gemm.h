// C = alpha op(A) op(B) + beta C on plain values: OpenBLAS where there is one, loops otherwise.
#pragma once

#include "../common/host_blas.h"
#include "blas.h"

namespace kpt {

inline char op_letter(int op) { return op == None ? 'N' : op == Transpose ? 'T' : 'C'; }

// op(A) as a plain column-major rows x columns copy.
template <class T> std::vector<T> plain_copy(int op, Int rows, Int columns, const T *A, Int lda) {
    std::vector<T> copy(static_cast<size_t>(rows * columns));
    for (Int j = 0; j < columns; ++j)
        for (Int i = 0; i < rows; ++i) {
            const T value = op == None ? A[i + j * lda] : A[j + i * lda];
            copy[i + j * rows] = op == ConjugateTranspose ? conjugate(value) : value;
        }
    return copy;
}

template <class T>
void gemm_loops(int op_a, int op_b, Int m, Int n, Int k, T alpha, const T *A, Int lda, const T *B, Int ldb, T beta,
                T *C, Int ldc) {
    std::vector<T> plain;
    if (op_a != None && k > 0) {
        plain = plain_copy(op_a, m, k, A, lda);
        A = plain.data(), lda = m;
    }
    for (Int j = 0; j < n; ++j) {
        T *column = C + j * ldc;
        for (Int i = 0; i < m; ++i) column[i] = beta == T(0) ? T(0) : beta * column[i];
        if (alpha == T(0)) continue;
        for (Int l = 0; l < k; ++l) {
            T value = op_b == None ? B[l + j * ldb] : B[j + l * ldb];
            value = alpha * (op_b == ConjugateTranspose ? conjugate(value) : value);
            const T *left = A + l * lda;
            for (Int i = 0; i < m; ++i) column[i] += left[i] * value;
        }
    }
}

template <class T>
void gemm_values(int op_a, int op_b, Int m, Int n, Int k, T alpha, const T *A, Int lda, const T *B, Int ldb, T beta,
                 T *C, Int ldc) {
    if constexpr (std::is_floating_point_v<T> || is_complex<T>) {
        using Gemm = void (*)(const char *, const char *, const Int *, const Int *, const Int *, const T *, const T *,
                              const Int *, const T *, const Int *, const T *, T *, const Int *, size_t, size_t);
        static const auto host = reinterpret_cast<Gemm>(typed_routine<T>("gemm"));
        if (host && k > 0 && m * n * k > 8000) {
            const char a = op_letter(op_a), b = op_letter(op_b);
            host(&a, &b, &m, &n, &k, &alpha, A, &lda, B, &ldb, &beta, C, &ldc, 1, 1);
            return;
        }
    }
    gemm_loops(op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

} // namespace kpt
