// LAPACK on plain pointers: LU, Cholesky and their solves by our own loops or OpenBLAS, all else by OpenBLAS.
// Pivots are one-based 32-bit numbers, as AMD's libraries store them.
#pragma once

#include <vector>

#include "../blas/level3.h"
#include "../common/host_blas.h"

namespace kpt {

constexpr Int NoLapack = -1000; // `info` when there is no OpenBLAS to ask

// Calls the Fortran routine; false when there is none. Lengths of character arguments go at the end.
template <class T, class... Arguments> bool call_lapack(const char *rest, Arguments... arguments) {
    void *routine = typed_routine<T>(rest);
    if (routine) reinterpret_cast<void (*)(Arguments...)>(routine)(arguments...);
    return routine != nullptr;
}

// sorgqr for real types, cungqr for complex ones, and so on.
template <class T> const char *real_or_complex(const char *real, const char *complex) {
    return is_complex<T> ? complex : real;
}

// First asks for the best workspace, then runs. `call(work, lwork)` returns false without OpenBLAS.
template <class T, class Call> Int with_workspace(Int *info, Call call) {
    T best(0);
    Int size = -1;
    if (!call(&best, &size)) return NoLapack;
    size = std::max<Int>(1, static_cast<Int>(real_part(best)));
    std::vector<T> work(static_cast<size_t>(size));
    call(work.data(), &size);
    return *info;
}

template <class T> Int lu(Int m, Int n, T *A, Int lda, int *pivots) {
    Int info = 0;
    const Int steps = std::min(m, n);
    if (pivots && m * n > 1000) {
        std::vector<Int> wide(static_cast<size_t>(std::max<Int>(1, steps)));
        if (call_lapack<T>("getrf", &m, &n, A, &lda, wide.data(), &info)) {
            for (Int i = 0; i < steps; ++i) pivots[i] = static_cast<int>(wide[i]);
            return info;
        }
    }
    for (Int j = 0; j < steps; ++j) {
        Int best = j;
        for (Int i = j + 1; pivots && i < m; ++i)
            if (one_norm(A[i + j * lda]) > one_norm(A[best + j * lda])) best = i;
        if (pivots) pivots[j] = static_cast<int>(best + 1);
        if (A[best + j * lda] == T(0)) {
            info = info ? info : j + 1;
            continue;
        }
        for (Int c = 0; best != j && c < n; ++c) std::swap(A[j + c * lda], A[best + c * lda]);
        for (Int i = j + 1; i < m; ++i) A[i + j * lda] /= A[j + j * lda];
        for (Int c = j + 1; c < n; ++c)
            for (Int i = j + 1; i < m; ++i) A[i + c * lda] -= A[i + j * lda] * A[j + c * lda];
    }
    return info;
}

template <class T> void swap_rows(Int columns, T *B, Int ldb, Int steps, const int *pivots, bool backwards) {
    for (Int count = 0; count < steps; ++count) {
        const Int i = backwards ? steps - 1 - count : count, other = pivots[i] - 1;
        for (Int c = 0; other != i && c < columns; ++c) std::swap(B[i + c * ldb], B[other + c * ldb]);
    }
}

template <class T> Int lu_solve(int op, Int n, Int columns, const T *A, Int lda, const int *pivots, T *B, Int ldb) {
    const T one(1);
    if (op == None && pivots) swap_rows(columns, B, ldb, n, pivots, false);
    if (op == None) {
        trsm(Left, Lower, op, Unit, n, columns, &one, A, lda, B, ldb);
        trsm(Left, Upper, op, NonUnit, n, columns, &one, A, lda, B, ldb);
    } else {
        trsm(Left, Upper, op, NonUnit, n, columns, &one, A, lda, B, ldb);
        trsm(Left, Lower, op, Unit, n, columns, &one, A, lda, B, ldb);
    }
    if (op != None && pivots) swap_rows(columns, B, ldb, n, pivots, true);
    return 0;
}

// The inverse from LU factors; the factors are left alone.
template <class T> Int lu_inverse(Int n, const T *A, Int lda, const int *pivots, T *inverse, Int ldi) {
    for (Int j = 0; j < n; ++j)
        if (A[j + j * lda] == T(0)) return j + 1;
    std::vector<T> result(static_cast<size_t>(n * n), T(0));
    for (Int j = 0; j < n; ++j) result[j + j * n] = T(1);
    lu_solve(None, n, n, A, lda, pivots, result.data(), n);
    for (Int j = 0; j < n; ++j) std::copy(result.begin() + j * n, result.begin() + (j + 1) * n, inverse + j * ldi);
    return 0;
}

template <class T> Int cholesky(int fill, Int n, T *A, Int lda) {
    Int info = 0;
    const char uplo = fill == Upper ? 'U' : 'L';
    if (n > 64 && call_lapack<T>("potrf", &uplo, &n, A, &lda, &info, size_t(1))) return info;
    // Element (i, j) of the lower factor; the upper one is its conjugate transpose.
    const auto at = [&](Int i, Int j) -> T & { return fill == Lower ? A[i + j * lda] : A[j + i * lda]; };
    for (Int j = 0; j < n; ++j) {
        Real<T> diagonal = real_part(at(j, j));
        for (Int l = 0; l < j; ++l) diagonal -= std::norm(at(j, l));
        if (!(diagonal > 0)) return j + 1;
        diagonal = std::sqrt(diagonal);
        at(j, j) = T(diagonal);
        for (Int i = j + 1; i < n; ++i) {
            T sum = at(i, j);
            for (Int l = 0; l < j; ++l)
                // In the upper triangle at(i, l) holds the conjugate of the lower factor's element.
                sum -= fill == Lower ? at(i, l) * conjugate(at(j, l)) : conjugate(at(j, l)) * at(i, l);
            at(i, j) = sum / diagonal;
        }
    }
    return info;
}

template <class T> Int cholesky_solve(int fill, Int n, Int columns, const T *A, Int lda, T *B, Int ldb) {
    const T one(1);
    trsm(Left, fill, fill == Lower ? int(None) : int(ConjugateTranspose), NonUnit, n, columns, &one, A, lda, B, ldb);
    trsm(Left, fill, fill == Lower ? int(ConjugateTranspose) : int(None), NonUnit, n, columns, &one, A, lda, B, ldb);
    return 0;
}

template <class T> Int qr(Int m, Int n, T *A, Int lda, T *tau) {
    Int info = 0;
    return with_workspace<T>(
        &info, [&](T *work, Int *size) { return call_lapack<T>("geqrf", &m, &n, A, &lda, tau, work, size, &info); });
}

template <class T> Int least_squares(int op, Int m, Int n, Int columns, T *A, Int lda, T *B, Int ldb) {
    Int info = 0;
    const char trans = op == None ? 'N' : is_complex<T> ? 'C' : 'T';
    return with_workspace<T>(&info, [&](T *work, Int *size) {
        return call_lapack<T>("gels", &trans, &m, &n, &columns, A, &lda, B, &ldb, work, size, &info, size_t(1));
    });
}

} // namespace kpt
