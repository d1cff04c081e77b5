"""hipSOLVER and hipBLAS's LAPACK routines: factors are multiplied back together."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from kernel_pytorch.emulate.libraries import host_blas
from tests.emulate.libraries.arrays import LEFT, LOWER, OP, TYPES, UPPER, Array, call, close, pointers, random_matrix
from tests.emulate.libraries.conftest import Load

NO_VECTORS, VECTORS = 201, 202
needs_lapack = pytest.mark.skipif(host_blas() is None, reason="no OpenBLAS: pip install scipy-openblas64 or numpy")


class Solver:
    """hipSOLVER with a handle; `solver("Spotrf", ...)` must succeed."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library, self.handle = library, ctypes.c_void_p()
        assert call(library, "hipsolverDnCreate", ctypes.byref(self.handle)) == 0

    def __call__(self, name: str, *arguments: Any) -> None:
        assert call(self.library, f"hipsolverDn{name}", self.handle, *arguments) == 0


@pytest.fixture(scope="module")
def solver(load: Load) -> Solver:
    return Solver(load("hipsolver"))


def positive(letter: str, n: int) -> Array:
    a = random_matrix(letter, n, n, 1)
    return np.asfortranarray((a @ a.conj().T + n * np.eye(n)).astype(TYPES[letter]))


def workspace(letter: str, size: Array) -> Array:
    return np.zeros(max(1, int(size[0])), dtype=TYPES[letter])


@pytest.mark.parametrize("n", [5, 90])
@pytest.mark.parametrize("letter", list("sdcz"))
@pytest.mark.parametrize("fill", [UPPER, LOWER])
def test_cholesky(solver: Solver, letter: str, fill: int, n: int) -> None:
    a = positive(letter, n)
    size, info = np.zeros(1, dtype=np.int32), np.full(1, 7, dtype=np.int32)
    name = letter.upper()
    factor = a.copy(order="F")
    solver(f"{name}potrf_bufferSize", fill, n, factor, n, size)
    solver(f"{name}potrf", fill, n, factor, n, workspace(letter, size), size[0], info)
    assert info[0] == 0
    lower = np.tril(factor) if fill == LOWER else np.triu(factor).conj().T
    close(lower @ lower.conj().T, a, letter)
    b = random_matrix(letter, n, 2, 2)
    x = b.copy(order="F")
    solver(f"{name}potrs", fill, n, 2, factor, n, x, n, info)
    close(a @ x, b, letter)
    bad = -np.asfortranarray(np.eye(n, dtype=TYPES[letter]))
    solver(f"{name}potrf", fill, n, bad, n, workspace(letter, size), size[0], info)
    assert info[0] == 1


@pytest.mark.parametrize("n", [6, 80])
@pytest.mark.parametrize("letter", list("sdcz"))
def test_lu(solver: Solver, letter: str, n: int) -> None:
    a = random_matrix(letter, n, n, 3)
    factor, pivots, info = a.copy(order="F"), np.zeros(n, dtype=np.int32), np.zeros(1, dtype=np.int32)
    name = letter.upper()
    solver(f"{name}getrf", n, n, factor, n, np.zeros(1), pivots, info)
    assert info[0] == 0
    rows = np.arange(n)
    for i, other in enumerate(pivots - 1):
        rows[[i, other]] = rows[[other, i]]
    lower, upper = np.tril(factor, -1) + np.eye(n), np.triu(factor)
    close(lower @ upper, a[rows], letter)
    b = random_matrix(letter, n, 3, 4)
    for op, full in (("N", a), ("T", a.T), ("C", a.conj().T)):
        x = b.copy(order="F")
        solver(f"{name}getrs", OP[op], n, 3, factor, n, pivots, x, n, info)
        np.testing.assert_allclose(full @ x, b, atol=1e-2 if letter in "sc" else 1e-8)


@needs_lapack
@pytest.mark.parametrize("letter", list("sdcz"))
def test_qr(solver: Solver, letter: str) -> None:
    a = random_matrix(letter, 7, 4, 5)
    factor, tau = a.copy(order="F"), np.zeros(4, dtype=TYPES[letter])
    info, size = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    name, unitary = letter.upper(), "un" if letter in "cz" else "or"
    solver(f"{name}geqrf_bufferSize", 7, 4, factor, 7, size)
    solver(f"{name}geqrf", 7, 4, factor, 7, tau, workspace(letter, size), size[0], info)
    upper = np.triu(factor[:4])
    q = factor.copy(order="F")
    solver(f"{name}{unitary}gqr", 7, 4, 4, q, 7, tau, workspace(letter, size), size[0], info)
    close(q @ upper, a, letter)
    close(q.conj().T @ q, np.eye(4), letter)
    c = random_matrix(letter, 7, 2, 6)
    out = c.copy(order="F")
    work = workspace(letter, size)
    solver(
        f"{name}{unitary}mqr", LEFT, OP["C" if letter in "cz" else "T"], 7, 2, 4, factor, 7, tau, out, 7, work, 1, info
    )
    close(out[:4], q.conj().T @ c, letter)


@needs_lapack
@pytest.mark.parametrize("letter", list("sdcz"))
def test_singular_values(solver: Solver, letter: str) -> None:
    a = random_matrix(letter, 6, 4, 7)
    real = np.float32 if letter in "sc" else np.float64
    s, info = np.zeros(4, dtype=real), np.zeros(1, dtype=np.int32)
    u, v = (np.zeros((n, n), dtype=TYPES[letter], order="F") for n in (6, 4))
    work, name, job = np.zeros(1), letter.upper(), ord("A")
    solver(f"{name}gesvd", job, job, 6, 4, a.copy(order="F"), 6, s, u, 6, v, 4, work, 1, None, info)
    close(u[:, :4] * s @ v, a, letter)
    close(s, np.linalg.svd(a, compute_uv=False), letter)
    solver(f"{name}gesvdj", VECTORS, 1, 6, 4, a.copy(order="F"), 6, s, u, 6, v, 4, work, 1, info, None)
    close(u[:, :4] * s @ v.conj().T, a, letter)


@needs_lapack
@pytest.mark.parametrize("letter", list("sdcz"))
def test_eigenvalues(solver: Solver, letter: str) -> None:
    general = random_matrix(letter, 5, 5, 8)
    a, b = np.asfortranarray(general + general.conj().T), positive(letter, 5)
    values = np.zeros(5, dtype=np.float32 if letter in "sc" else np.float64)
    info, work = np.zeros(1, dtype=np.int32), np.zeros(1)
    kind = letter.upper() + ("he" if letter in "cz" else "sy")
    vectors = a.copy(order="F")
    solver(f"{kind}evd", VECTORS, UPPER, 5, vectors, 5, values, work, 1, info)
    close(a @ vectors, vectors * values, letter)
    vectors, right = a.copy(order="F"), b.copy(order="F")
    solver(f"{kind}gvd", 211, VECTORS, LOWER, 5, vectors, 5, right, 5, values, work, 1, info)
    close(a @ vectors, b @ vectors * values, letter)
    only = a.copy(order="F")
    solver(f"{kind}evj", NO_VECTORS, LOWER, 5, only, 5, values, work, 1, info, None)
    close(values, np.linalg.eigvalsh(a), letter)


def test_batched_cholesky(solver: Solver) -> None:
    matrices = [positive("d", 4), np.asfortranarray(-np.eye(4)), 2 * positive("d", 4)]
    expected = [np.linalg.cholesky(matrices[0]), None, np.linalg.cholesky(matrices[2])]
    table, addresses = pointers(matrices)
    info = np.zeros(3, dtype=np.int32)
    solver("DpotrfBatched", LOWER, 4, addresses, 4, info, 3)
    assert info.tolist() == [0, 1, 0]
    close(np.tril(matrices[2]), expected[2], "d")
    assert len(table) == 3


@pytest.mark.parametrize("letter", list("sdcz"))
def test_hipblas_batched_lu_and_inverse(load: Load, letter: str) -> None:
    hipblas = load("hipblas")
    handle = ctypes.c_void_p()
    assert call(hipblas, "hipblasCreate", ctypes.byref(handle)) == 0
    n, count, name = 5, 3, f"hipblas{letter.upper()}"
    matrices = [random_matrix(letter, n, n, seed) for seed in range(count)]
    factors, inverses = [m.copy(order="F") for m in matrices], [np.zeros_like(m, order="F") for m in matrices]
    (keep, a), (kept, c) = pointers(factors), pointers(inverses)
    pivots, info = np.zeros(n * count, dtype=np.int32), np.ones(count, dtype=np.int32)
    assert call(hipblas, f"{name}getrfBatched", handle, n, a, n, pivots, info, count) == 0
    assert info.tolist() == [0] * count
    assert call(hipblas, f"{name}getriBatched", handle, n, a, n, pivots, c, n, info, count) == 0
    for matrix, inverse in zip(matrices, inverses, strict=True):
        np.testing.assert_allclose(matrix @ inverse, np.eye(n), atol=1e-3 if letter in "sc" else 1e-9)
    right = [random_matrix(letter, n, 2, 9 + i) for i in range(count)]
    solved = [b.copy(order="F") for b in right]
    kept_b, b = pointers(solved)
    status = np.ones(1, dtype=np.int32)
    assert call(hipblas, f"{name}getrsBatched", handle, OP["N"], n, 2, a, n, pivots, b, n, status, count) == 0
    for matrix, x, wanted in zip(matrices, solved, right, strict=True):
        np.testing.assert_allclose(matrix @ x, wanted, atol=1e-3 if letter in "sc" else 1e-9)
    assert len(keep) == len(kept) == len(kept_b) == count


@needs_lapack
def test_hipblas_least_squares(load: Load) -> None:
    hipblas = load("hipblas")
    handle = ctypes.c_void_p()
    assert call(hipblas, "hipblasCreate", ctypes.byref(handle)) == 0
    a, b = random_matrix("d", 8, 3, 1), random_matrix("d", 8, 2, 2)
    expected = np.linalg.lstsq(a, b, rcond=None)[0]
    info, device = np.ones(1, dtype=np.int32), np.ones(1, dtype=np.int32)
    assert call(hipblas, "hipblasDgels", handle, OP["N"], 8, 3, 2, a, 8, b, 8, info, device) == 0
    assert info[0] == device[0] == 0
    close(b[:3], expected, "d")


def test_rocsolver_batches(load: Load) -> None:
    rocblas, rocsolver = load("rocblas"), load("rocsolver")
    handle = ctypes.c_void_p()
    assert call(rocblas, "rocblas_create_handle", ctypes.byref(handle)) == 0
    n, count = 4, 3
    matrices = np.stack([random_matrix("d", n, n, seed).T.copy() for seed in range(count)])  # each column-major
    factors, pivots, info = matrices.copy(), np.zeros((count, n), dtype=np.int32), np.ones(count, dtype=np.int32)
    arguments = (n, n, factors, n, n * n, pivots, n, info, count)
    assert call(rocsolver, "rocsolver_dgetrf_strided_batched", handle, *arguments) == 0
    assert info.tolist() == [0] * count
    b = np.random.default_rng(9).standard_normal((count, n))
    x = b.copy()
    arguments = (OP["N"], n, 1, factors, n, n * n, pivots, n, x, n, n, count)
    assert call(rocsolver, "rocsolver_dgetrs_strided_batched", handle, *arguments) == 0
    for matrix, solved, wanted in zip(matrices, x, b, strict=True):
        np.testing.assert_allclose(matrix.T @ solved, wanted, atol=1e-9)
    assert call(rocsolver, "rocsolver_dgetrf", None, n, n, factors, n, pivots, info) == 1
