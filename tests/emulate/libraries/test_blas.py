"""hipBLAS and rocBLAS against NumPy: the same tests run under both libraries' names."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.emulate.libraries.arrays import (
    LEFT,
    LOWER,
    NON_UNIT,
    OP,
    RIGHT,
    TYPES,
    UNIT,
    UPPER,
    Array,
    applied,
    call,
    close,
    pointers,
    random_matrix,
)
from tests.emulate.libraries.conftest import Load


class Blas:
    """One of the two libraries with a handle; `blas("s", "axpy", ...)` calls the routine by its own spelling."""

    def __init__(self, library: ctypes.CDLL, hip: bool) -> None:
        self.library, self.hip = library, hip
        handle = ctypes.c_void_p()
        create = "hipblasCreate" if hip else "rocblas_create_handle"
        assert getattr(library, create)(ctypes.byref(handle)) == 0
        self.handle = handle

    def name(self, prefix: str, routine: str, form: str = "") -> str:
        if not self.hip:
            return f"rocblas_{prefix}{routine}{form}"
        spelled = {"": "", "_batched": "Batched", "_strided_batched": "StridedBatched"}
        plain, wide = form.removesuffix("_64"), "_64" if form.endswith("_64") else ""
        return f"hipblas{prefix.capitalize()}{routine}{spelled[plain]}{wide}"

    def __call__(self, prefix: str, routine: str, *arguments: Any, form: str = "") -> int:
        return call(self.library, self.name(prefix, routine, form), self.handle, *arguments)

    def close(self) -> None:
        assert call(self.library, "hipblasDestroy" if self.hip else "rocblas_destroy_handle", self.handle) == 0


@pytest.fixture(scope="module", params=["hipblas", "rocblas"])
def blas(request: pytest.FixtureRequest, load: Load) -> Iterator[Blas]:
    found = Blas(load(request.param), request.param == "hipblas")
    yield found
    found.close()


def one(letter: str, value: complex) -> Array:
    return np.array([value if letter in "cz" else value.real], dtype=TYPES[letter])


ALPHA, BETA = 1.5 - 0.5j, -0.75 + 0.25j


@pytest.mark.parametrize("letter", "sdcz")
def test_vector_routines(blas: Blas, letter: str) -> None:
    x, y = random_matrix(letter, 40, 1, 1)[:, 0].copy(), random_matrix(letter, 60, 1, 2)[:, 0].copy()
    alpha = one(letter, ALPHA)
    expected = y.copy()
    expected[:30:3] += alpha * x[:20:2]
    assert blas(letter, "axpy", 10, alpha, x, 2, y, 3) == 0
    close(y, expected, letter)

    expected[:20] = x[:20][::-1]
    assert blas(letter, "copy", 20, x, -1, y, 1) == 0
    close(y, expected, letter)

    result = np.zeros(2, dtype=TYPES[letter])
    if letter in "cz":
        assert blas(letter, "dotc", 40, x, 1, y, 1, result) == 0
        close(result[:1], np.array([np.vdot(x, y[:40])]), letter)
        assert blas(letter, "dotu", 40, x, 1, y, 1, result) == 0
    else:
        assert blas(letter, "dot", 40, x, 1, y, 1, result) == 0
    close(result[:1], np.array([np.dot(x, y[:40])]), letter)

    real = np.zeros(1, dtype=np.float32 if letter in "sc" else np.float64)
    prefix = {"c": "sc", "z": "dz"}.get(letter, letter)
    assert blas(prefix, "nrm2", 20, x, 2, real) == 0
    close(real, np.array([np.linalg.norm(x[::2])]), letter)
    assert blas(prefix, "asum", 40, x, 1, real) == 0
    close(real, np.array([np.abs(x.real).sum() + np.abs(x.imag).sum()]), letter)

    index = np.zeros(1, dtype=np.int32)
    assert blas("i" + letter, "amax", 40, x, 1, index) == 0
    assert index[0] == np.argmax(np.abs(x.real) + np.abs(x.imag)) + 1
    wide = np.zeros(1, dtype=np.int64)
    assert blas("i" + letter, "amin", 40, x, 1, wide, form="_64") == 0
    assert wide[0] == np.argmin(np.abs(x.real) + np.abs(x.imag)) + 1

    scaled = x.copy()
    assert blas(letter, "scal", 20, alpha, scaled, 2) == 0
    expected = x.copy()
    expected[::2] *= alpha
    close(scaled, expected, letter)


@pytest.mark.parametrize("letter", "sdcz")
def test_rotations(blas: Blas, letter: str) -> None:
    x, y = random_matrix(letter, 9, 1, 3)[:, 0].copy(), random_matrix(letter, 9, 1, 4)[:, 0].copy()
    a, b = x[:1].copy(), y[:1].copy()
    c = np.zeros(1, dtype=np.float32 if letter in "sc" else np.float64)
    s = np.zeros(1, dtype=TYPES[letter])
    assert blas(letter, "rotg", a, b, c, s) == 0
    assert blas(letter, "rot", 9, x, 1, y, 1, c, s) == 0
    close(x[:1], a, letter)  # the rotation that was made for the first pair sends it to (a, 0)
    close(y[:1], np.zeros(1), letter)


@pytest.mark.parametrize("letter", "sd")
def test_modified_rotation(blas: Blas, letter: str) -> None:
    kind = TYPES[letter]
    d1, d2, x1, y1 = (np.array([value], dtype=kind) for value in (0.7, 1.3, 2.0, 0.4))
    weighted = float(d1[0] * x1[0] ** 2 + d2[0] * y1[0] ** 2)
    x, y = x1.copy(), y1.copy()
    param = np.zeros(5, dtype=kind)
    assert blas(letter, "rotmg", d1, d2, x1, y1, param) == 0
    assert blas(letter, "rotm", 1, x, 1, y, 1, param) == 0
    close(y, np.zeros(1), letter)
    close(x, x1, letter)
    assert abs(float(d1[0] * x1[0] ** 2) - weighted) < 1e-5  # the weighted length is kept


@pytest.mark.parametrize(("letter", "op"), list(itertools.product("sdcz", "NTC")))
def test_general_matrix_with_vector(blas: Blas, letter: str, op: str) -> None:
    a = random_matrix(letter, 9, 5, 1)
    rows, columns = applied(op, a).shape
    x, y = random_matrix(letter, columns, 1, 2)[:, 0].copy(), random_matrix(letter, rows, 1, 3)[:, 0].copy()
    alpha, beta = one(letter, ALPHA), one(letter, BETA)
    expected = alpha * (applied(op, a) @ x) + beta * y
    assert blas(letter, "gemv", OP[op], 9, 5, alpha, a, 9, x, 1, beta, y, 1) == 0
    close(y, expected, letter)

    band = np.zeros((4, 5), dtype=TYPES[letter], order="F")  # 2 diagonals below, 1 above
    full = np.zeros((9, 5), dtype=TYPES[letter])
    for j in range(5):
        for i in range(max(0, j - 1), min(9, j + 3)):
            band[1 + i - j, j] = full[i, j] = a[i, j]
    expected = alpha * (applied(op, full) @ x) + beta * y
    assert blas(letter, "gbmv", OP[op], 9, 5, 2, 1, alpha, band, 4, x, 1, beta, y, 1) == 0
    close(y, expected, letter)


def packed(matrix: Array, fill: int) -> Array:
    n = matrix.shape[0]
    rows = [(i, j) for j in range(n) for i in (range(j + 1) if fill == UPPER else range(j, n))]
    return np.array([matrix[place] for place in rows])


def banded(matrix: Array, fill: int, k: int) -> Array:
    n = matrix.shape[0]
    band = np.zeros((k + 1, n), dtype=matrix.dtype, order="F")
    for j in range(n):
        for i in range(n):
            if 0 <= (j - i if fill == UPPER else i - j) <= k:
                band[k + i - j if fill == UPPER else i - j, j] = matrix[i, j]
    return band


def within_band(matrix: Array, k: int) -> Array:
    i, j = np.indices(matrix.shape)
    return np.where(abs(i - j) <= k, matrix, 0).astype(matrix.dtype)


@pytest.mark.parametrize(("letter", "fill"), list(itertools.product("sdcz", (UPPER, LOWER))))
def test_symmetric_and_hermitian_with_vector(blas: Blas, letter: str, fill: int) -> None:
    n = 7
    general = random_matrix(letter, n, n, 1)
    x, y = random_matrix(letter, n, 1, 2)[:, 0].copy(), random_matrix(letter, n, 1, 3)[:, 0].copy()
    alpha, beta = one(letter, ALPHA), one(letter, BETA)
    forms = [("s", general + general.T)] + ([("h", general + general.conj().T)] if letter in "cz" else [])
    for kind, full in forms:
        if kind == "h" or letter in "sdcz":
            name = "symv" if kind == "s" else "hemv"
            stored = np.asfortranarray(np.triu(full) if fill == UPPER else np.tril(full))
            out = y.copy()
            assert blas(letter, name, fill, n, alpha, stored, n, x, 1, beta, out, 1) == 0
            close(out, alpha * (full @ x) + beta * y, letter)
        if kind == "s" and letter in "cz":
            continue  # BLAS has packed and banded forms for real symmetric and complex Hermitian matrices only
        out = y.copy()
        assert blas(letter, kind + "pmv", fill, n, alpha, packed(full, fill), x, 1, beta, out, 1) == 0
        close(out, alpha * (full @ x) + beta * y, letter)
        out = y.copy()
        near = within_band(full, 2)
        assert blas(letter, kind + "bmv", fill, n, 2, alpha, banded(near, fill, 2), 3, x, 1, beta, out, 1) == 0
        close(out, alpha * (near @ x) + beta * y, letter)


@pytest.mark.parametrize(
    ("letter", "fill", "op", "diagonal"), list(itertools.product("sz", (UPPER, LOWER), "NTC", (UNIT, NON_UNIT)))
)
def test_triangular_with_vector(blas: Blas, letter: str, fill: int, op: str, diagonal: int) -> None:
    n = 6
    general = random_matrix(letter, n, n, 5) + 4 * np.eye(n, dtype=TYPES[letter])
    general = np.asfortranarray(general.astype(TYPES[letter]))
    x = random_matrix(letter, n, 1, 6)[:, 0].copy()
    for kind, stored, matrix in (
        ("tr", (general, n), general),
        ("tp", (packed(general, fill),), general),
        ("tb", (banded(within_band(general, 2), fill, 2), 3), within_band(general, 2)),
    ):
        triangle = np.triu(matrix) if fill == UPPER else np.tril(matrix)
        if diagonal == UNIT:
            np.fill_diagonal(triangle, 1)
        extra = (2,) if kind == "tb" else ()
        out = x.copy()
        assert blas(letter, kind + "mv", fill, OP[op], diagonal, n, *extra, *stored, out, 1) == 0
        close(out, applied(op, triangle) @ x, letter)
        assert blas(letter, kind + "sv", fill, OP[op], diagonal, n, *extra, *stored, out, 1) == 0
        close(out, x, letter)


@pytest.mark.parametrize("letter", "sdcz")
def test_rank_updates(blas: Blas, letter: str) -> None:
    n = 6
    a = random_matrix(letter, n, n, 1)
    x, y = random_matrix(letter, n, 1, 2)[:, 0].copy(), random_matrix(letter, n, 1, 3)[:, 0].copy()
    alpha = one(letter, ALPHA)
    real = np.array([0.5], dtype=np.float32 if letter in "sc" else np.float64)
    general = a.copy(order="F")
    assert blas(letter, "geru" if letter in "cz" else "ger", n, n, alpha, x, 1, y, 1, general, n) == 0
    close(general, a + alpha * np.outer(x, y), letter)
    updates = [("syr", "syr2", alpha, a + a.T, x)]
    if letter in "cz":
        assert blas(letter, "gerc", n, n, alpha, x, 1, y, 1, general, n) == 0
        close(general, a + alpha * np.outer(x, y) + alpha * np.outer(x, y.conj()), letter)
        updates.append(("her", "her2", real, a + a.conj().T, x.conj()))
    for rank_one, rank_two, factor, start, flipped in updates:
        hermitian = rank_one == "her"
        for fill, triangle in ((UPPER, np.triu), (LOWER, np.tril)):
            out = np.asfortranarray(start)
            assert blas(letter, rank_one, fill, n, factor, x, 1, out, n) == 0
            close(triangle(out), triangle(start + factor * np.outer(x, flipped)), letter)
            out = np.asfortranarray(start)
            assert blas(letter, rank_two, fill, n, alpha, x, 1, y, 1, out, n) == 0
            second = alpha.conj() * np.outer(y, x.conj()) if hermitian else alpha * np.outer(y, x)
            expected = start + alpha * np.outer(x, y.conj() if hermitian else y) + second
            close(triangle(out), triangle(expected), letter)


@pytest.mark.parametrize(("letter", "size"), list(itertools.product("sdcz", (5, 40))))
def test_gemm_all_transposes(blas: Blas, letter: str, size: int) -> None:
    m, n, k = size, size + 1, size + 2
    alpha, beta = one(letter, ALPHA), one(letter, BETA)
    for op_a, op_b in itertools.product("NTC", repeat=2):
        a = random_matrix(letter, *((m, k) if op_a == "N" else (k, m)), 1)
        b = random_matrix(letter, *((k, n) if op_b == "N" else (n, k)), 2)
        c = random_matrix(letter, m, n, 3)
        expected = alpha * (applied(op_a, a) @ applied(op_b, b)) + beta * c
        shape = (OP[op_a], OP[op_b], m, n, k)
        assert blas(letter, "gemm", *shape, alpha, a, a.shape[0], b, b.shape[0], beta, c, m) == 0
        close(c, expected, letter)
    zero = one(letter, 0)
    c[:] = np.nan  # beta 0 must overwrite, not multiply
    assert blas(letter, "gemm", *shape, alpha, a, a.shape[0], b, b.shape[0], zero, c, m, form="_64") == 0
    close(c, alpha * (applied("C", a) @ applied("C", b)), letter)


@pytest.mark.parametrize("letter", "sz")
def test_gemm_batched(blas: Blas, letter: str) -> None:
    n, count = 4, 3
    a, b, c = ([random_matrix(letter, n, n, 10 * i + j) for i in range(count)] for j in range(3))
    alpha, beta = one(letter, ALPHA), one(letter, BETA)
    expected = [alpha * (x @ y) + beta * z for x, y, z in zip(a, b, c, strict=True)]
    (keep_a, pa), (keep_b, pb), (keep_c, pc) = pointers(a), pointers(b), pointers(c)
    shape = (OP["N"], OP["N"], n, n, n)
    assert blas(letter, "gemm", *shape, alpha, pa, n, pb, n, beta, pc, n, count, form="_batched") == 0
    for found, wanted in zip(c, expected, strict=True):
        close(found, wanted, letter)
    assert len(keep_a) == len(keep_b) == len(keep_c) == count

    flat_a, flat_b = (np.concatenate([m.ravel(order="F") for m in ms]) for ms in (a, b))
    flat_c = np.zeros(count * (n * n + 2), dtype=TYPES[letter])
    strided = (alpha, flat_a, n, n * n, flat_b, n, n * n, beta, flat_c, n, n * n + 2, count)
    assert blas(letter, "gemm", *shape, *strided, form="_strided_batched") == 0
    for i in range(count):
        found = flat_c[i * (n * n + 2) :][: n * n].reshape(n, n, order="F")
        close(found, alpha * (a[i] @ b[i]), letter)


@pytest.mark.parametrize(("letter", "size"), list(itertools.product("sz", (4, 30))))
def test_structured_matrices(blas: Blas, letter: str, size: int) -> None:
    m, n = size, size + 3
    alpha, beta = one(letter, ALPHA), one(letter, BETA)
    b, c = random_matrix(letter, m, n, 2), random_matrix(letter, m, n, 3)
    for side, fill in itertools.product((LEFT, RIGHT), (UPPER, LOWER)):
        order = m if side == LEFT else n
        general = random_matrix(letter, order, order, 1)
        stable = np.asfortranarray((general + 2 * order * np.eye(order)).astype(TYPES[letter]))
        keep = np.triu if fill == UPPER else np.tril
        for name, full in (("symm", general + general.T), ("hemm", general + general.conj().T))[: 1 + (letter in "cz")]:
            out = c.copy(order="F")
            stored = np.asfortranarray(keep(full))
            assert blas(letter, name, side, fill, m, n, alpha, stored, order, b, m, beta, out, m) == 0
            close(out, alpha * (full @ b if side == LEFT else b @ full) + beta * c, letter)
        for op, diagonal in itertools.product("NTC", (UNIT, NON_UNIT)):
            triangle = keep(stable)
            if diagonal == UNIT:
                triangle = keep(general / order)
                np.fill_diagonal(triangle, 1)
            source = np.asfortranarray(triangle)
            multiplied = np.zeros((m, n), dtype=TYPES[letter], order="F")
            shape = (side, fill, OP[op], diagonal, m, n)
            assert blas(letter, "trmm", *shape, alpha, source, order, b, m, multiplied, m) == 0
            factor = applied(op, triangle)
            close(multiplied, alpha * (factor @ b if side == LEFT else b @ factor), letter)
            assert blas(letter, "trsm", *shape, one(letter, 1), source, order, multiplied, m) == 0
            close(multiplied, alpha * b, letter)


@pytest.mark.parametrize("letter", "sz")
def test_rank_k_updates(blas: Blas, letter: str) -> None:
    n, k = 6, 4
    alpha, beta = one(letter, ALPHA), one(letter, BETA)
    real = np.float32 if letter in "sc" else np.float64
    r_alpha, r_beta = np.array([0.5], dtype=real), np.array([-2.0], dtype=real)
    c = random_matrix(letter, n, n, 3)
    for fill, keep in ((UPPER, np.triu), (LOWER, np.tril)):
        for op in "NT":
            a, b = (random_matrix(letter, *((n, k) if op == "N" else (k, n)), seed) for seed in (1, 2))
            left, right = applied(op, a), applied(op, b)
            for name, expected in (
                ("syrk", alpha * left @ left.T + beta * c),
                ("syr2k", alpha * left @ right.T + alpha * right @ left.T + beta * c),
                ("syrkx", alpha * left @ right.T + beta * c),
            ):
                out = c.copy(order="F")
                second = () if name == "syrk" else (b, b.shape[0])
                assert blas(letter, name, fill, OP[op], n, k, alpha, a, a.shape[0], *second, beta, out, n) == 0
                close(keep(out), keep(expected), letter)
        if letter in "cz":
            a, b = random_matrix(letter, n, k, 1), random_matrix(letter, n, k, 2)
            hermitian = np.asfortranarray(c + c.conj().T)
            out = hermitian.copy(order="F")
            assert blas(letter, "herk", fill, OP["N"], n, k, r_alpha, a, n, r_beta, out, n) == 0
            close(keep(out), keep(r_alpha * a @ a.conj().T + r_beta * hermitian), letter)
            out = hermitian.copy(order="F")
            assert blas(letter, "her2k", fill, OP["N"], n, k, alpha, a, n, b, n, r_beta, out, n) == 0
            product = alpha * a @ b.conj().T
            close(keep(out), keep(product + product.conj().T + r_beta * hermitian), letter)


@pytest.mark.parametrize("letter", "dc")
def test_geam_dgmm_trtri(blas: Blas, letter: str) -> None:
    a, b, c = random_matrix(letter, 4, 5, 1), random_matrix(letter, 5, 4, 2), random_matrix(letter, 4, 5, 3)
    alpha, beta = one(letter, ALPHA), one(letter, BETA)
    assert blas(letter, "geam", OP["N"], OP["C"], 4, 5, alpha, a, 4, beta, b, 5, c, 4) == 0
    close(c, alpha * a + beta * b.conj().T, letter)
    x = random_matrix(letter, 5, 1, 4)[:, 0].copy()
    assert blas(letter, "dgmm", RIGHT, 4, 5, a, 4, x, 1, c, 4) == 0
    close(c, a * x, letter)
    assert blas(letter, "dgmm", LEFT, 4, 5, a, 4, x, 1, c, 4) == 0
    close(c, a * x[:4, None], letter)
    triangle = np.asfortranarray(np.tril(random_matrix(letter, 5, 5, 5) + 4 * np.eye(5)).astype(TYPES[letter]))
    inverse = np.zeros((5, 5), dtype=TYPES[letter], order="F")
    assert blas(letter, "trtri", LOWER, NON_UNIT, 5, triangle, 5, inverse, 5) == 0
    close(inverse @ triangle, np.eye(5), letter)


def test_bad_arguments(blas: Blas) -> None:
    a = random_matrix("s", 4, 4)
    scalar = np.ones(1, dtype=np.float32)
    good = (OP["N"], OP["N"], 4, 4, 4, scalar, a, 4, a, 4, scalar, a, 4)
    size, pointer_, enum, handle = (3, 3, 10, 1) if blas.hip else (4, 3, 11, 1)
    assert blas("s", "gemm", *good[:2], -1, *good[3:]) == size
    assert blas("s", "gemm", *good[:7], 3, *good[8:]) == size
    assert blas("s", "gemm", *good[:6], None, *good[7:]) == pointer_
    assert blas("s", "gemm", 7, *good[1:]) == enum
    assert call(blas.library, blas.name("s", "gemm"), None, *good) == handle
    assert blas("s", "gemm", *good[:2], 0, *good[3:6], None, *good[7:]) == 0  # nothing to do: pointers are not read
    strided = (*good[:7], 4, 0, a, 4, 0, scalar, a, 4, 0)
    assert blas("s", "gemm", *strided, -1, form="_strided_batched") == size
    assert blas("s", "gemm", *strided, 0, form="_strided_batched") == 0


def test_unimplemented_function_says_so_once(load: Load, capfd: pytest.CaptureFixture[str]) -> None:
    library = load("rocblas")
    assert library.rocblas_geam_ex() == 2
    assert library.rocblas_geam_ex() == 2
    assert capfd.readouterr().err.count("rocblas_geam_ex is not implemented") == 1
