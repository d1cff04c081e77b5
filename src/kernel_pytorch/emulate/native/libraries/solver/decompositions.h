// Orthogonal factors, eigenvalues and singular values by OpenBLAS's LAPACK. All return LAPACK's `info`.
#pragma once

#include "lapack.h"

namespace kpt {

inline char fill_letter(int fill) { return fill == Upper ? 'U' : 'L'; }

template <class T> Int form_q(Int m, Int n, Int k, T *A, Int lda, const T *tau) {
    Int info = 0;
    return with_workspace<T>(&info, [&](T *work, Int *size) {
        return call_lapack<T>(real_or_complex<T>("orgqr", "ungqr"), &m, &n, &k, A, &lda, tau, work, size, &info);
    });
}

template <class T>
Int apply_q(int side, int op, Int m, Int n, Int k, const T *A, Int lda, const T *tau, T *C, Int ldc) {
    Int info = 0;
    const char s = side == Left ? 'L' : 'R', o = op == None ? 'N' : is_complex<T> ? 'C' : 'T';
    return with_workspace<T>(&info, [&](T *work, Int *size) {
        return call_lapack<T>(real_or_complex<T>("ormqr", "unmqr"), &s, &o, &m, &n, &k, A, &lda, tau, C, &ldc, work,
                              size, &info, size_t(1), size_t(1));
    });
}

// LAPACK's divide-and-conquer solvers of order n: real and complex forms take different workspaces.
template <class T, class... Given>
Int divide_and_conquer(const char *real, const char *complex, Int n, const Given &...given) {
    Int info = 0;
    std::vector<Int> integers(static_cast<size_t>(5 * n + 16));
    Int integer_count = static_cast<Int>(integers.size());
    if constexpr (is_complex<T>) {
        std::vector<Real<T>> reals(static_cast<size_t>(2 * n * n + 5 * n + 16));
        Int real_count = static_cast<Int>(reals.size());
        std::vector<T> work(static_cast<size_t>(n * n + 2 * n + 16));
        Int work_count = static_cast<Int>(work.size());
        if (!call_lapack<T>(complex, given..., work.data(), &work_count, reals.data(), &real_count, integers.data(),
                            &integer_count, &info, size_t(1), size_t(1)))
            return NoLapack;
    } else {
        std::vector<T> work(static_cast<size_t>(2 * n * n + 6 * n + 16));
        Int work_count = static_cast<Int>(work.size());
        if (!call_lapack<T>(real, given..., work.data(), &work_count, integers.data(), &integer_count, &info, size_t(1),
                            size_t(1)))
            return NoLapack;
    }
    return info;
}

template <class T> Int eigen(bool vectors, int fill, Int n, T *A, Int lda, Real<T> *values) {
    const char job = vectors ? 'V' : 'N', uplo = fill_letter(fill);
    return divide_and_conquer<T>("syevd", "heevd", n, &job, &uplo, &n, A, &lda, values);
}

template <class T>
Int generalized_eigen(Int type, bool vectors, int fill, Int n, T *A, Int lda, T *B, Int ldb, Real<T> *values) {
    const char job = vectors ? 'V' : 'N', uplo = fill_letter(fill);
    return divide_and_conquer<T>("sygvd", "hegvd", n, &type, &job, &uplo, &n, A, &lda, B, &ldb, values);
}

// V is returned transposed (its rows are the right singular vectors), as LAPACK does.
template <class T>
Int svd(char job_u, char job_v, Int m, Int n, T *A, Int lda, Real<T> *S, T *U, Int ldu, T *V, Int ldv) {
    Int info = 0;
    std::vector<Real<T>> reals(static_cast<size_t>(5 * std::min(m, n) + 16));
    ldu = std::max<Int>(1, ldu), ldv = std::max<Int>(1, ldv);
    return with_workspace<T>(&info, [&](T *work, Int *size) {
        if constexpr (is_complex<T>)
            return call_lapack<T>("gesvd", &job_u, &job_v, &m, &n, A, &lda, S, U, &ldu, V, &ldv, work, size,
                                  reals.data(), &info, size_t(1), size_t(1));
        else
            return call_lapack<T>("gesvd", &job_u, &job_v, &m, &n, A, &lda, S, U, &ldu, V, &ldv, work, size, &info,
                                  size_t(1), size_t(1));
    });
}

// The Jacobi forms give V itself. `econ`: only the first min(m, n) vectors.
template <class T>
Int svd_plain(bool vectors, bool econ, Int m, Int n, T *A, Int lda, Real<T> *S, T *U, Int ldu, T *V, Int ldv) {
    const Int small = std::min(m, n), rows = econ ? small : n;
    const char job = !vectors ? 'N' : econ ? 'S' : 'A';
    std::vector<T> transposed(static_cast<size_t>(vectors ? rows * n : 1));
    const Int info = svd(job, job, m, n, A, lda, S, U, ldu, transposed.data(), rows);
    for (Int j = 0; vectors && j < rows; ++j)
        for (Int i = 0; i < n; ++i) V[i + j * ldv] = conjugate(transposed[j + i * rows]);
    return info;
}

template <class T> Int cholesky_inverse(int fill, Int n, T *A, Int lda) {
    Int info = 0;
    const char uplo = fill_letter(fill);
    return call_lapack<T>("potri", &uplo, &n, A, &lda, &info, size_t(1)) ? info : NoLapack;
}

template <class T> Int symmetric_factor(int fill, Int n, T *A, Int lda, int *pivots) {
    Int info = 0;
    const char uplo = fill_letter(fill);
    std::vector<Int> wide(static_cast<size_t>(std::max<Int>(1, n)));
    const Int result = with_workspace<T>(&info, [&](T *work, Int *size) {
        return call_lapack<T>("sytrf", &uplo, &n, A, &lda, wide.data(), work, size, &info, size_t(1));
    });
    for (Int i = 0; i < n; ++i) pivots[i] = static_cast<int>(wide[i]);
    return result;
}

template <class T> Int tridiagonal_form(int fill, Int n, T *A, Int lda, Real<T> *D, Real<T> *E, T *tau) {
    Int info = 0;
    const char uplo = fill_letter(fill);
    return with_workspace<T>(&info, [&](T *work, Int *size) {
        return call_lapack<T>(real_or_complex<T>("sytrd", "hetrd"), &uplo, &n, A, &lda, D, E, tau, work, size, &info,
                              size_t(1));
    });
}

template <class T> Int bidiagonal_form(Int m, Int n, T *A, Int lda, Real<T> *D, Real<T> *E, T *tauq, T *taup) {
    Int info = 0;
    return with_workspace<T>(&info, [&](T *work, Int *size) {
        return call_lapack<T>("gebrd", &m, &n, A, &lda, D, E, tauq, taup, work, size, &info);
    });
}

} // namespace kpt
