"""hipSPARSE against dense NumPy matrices."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.emulate.libraries.arrays import TYPES, Array, call, close, random_matrix
from tests.emulate.libraries.conftest import Load

INT32, ZERO_BASED, ONE_BASED, COLUMN, ROW = 2, 0, 1, 1, 2
VALUE = {"s": 0, "d": 1, "c": 4, "z": 5}
OPS = {"N": 0, "T": 1, "C": 2}


class Sparse:
    """hipSPARSE with a handle; `sparse("SpMV", ...)` must succeed."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library, self.handle = library, ctypes.c_void_p()
        assert call(library, "hipsparseCreate", ctypes.byref(self.handle)) == 0

    def __call__(self, name: str, *arguments: Any) -> None:
        assert call(self.library, f"hipsparse{name}", self.handle, *arguments) == 0

    def make(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        descriptor = ctypes.c_void_p()
        assert call(self.library, f"hipsparseCreate{name}", ctypes.byref(descriptor), *arguments) == 0
        return descriptor


@pytest.fixture(scope="module")
def sparse(load: Load) -> Iterator[Sparse]:
    found = Sparse(load("hipsparse"))
    yield found
    assert call(found.library, "hipsparseDestroy", found.handle) == 0


def sparse_matrix(letter: str, rows: int, columns: int, seed: int = 0) -> Array:
    values = random_matrix(letter, rows, columns, seed)
    values[np.random.default_rng(seed + 99).random((rows, columns)) < 0.6] = 0
    return values


def csr(matrix: Array, base: int = 0) -> tuple[Array, Array, Array]:
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))])
    return (starts + base).astype(np.int32), (columns + base).astype(np.int32), matrix[rows, columns].copy()


def csr_descriptor(sparse: Sparse, matrix: Array, letter: str, base: int = 0) -> tuple[ctypes.c_void_p, Any]:
    arrays = csr(matrix, base)
    types = (INT32, INT32, base, VALUE[letter])
    return sparse.make("Csr", *matrix.shape, len(arrays[2]), *arrays, *types), arrays


def dense_descriptor(sparse: Sparse, matrix: Array, letter: str) -> ctypes.c_void_p:
    row_major = matrix.flags.c_contiguous
    ld = matrix.shape[1] if row_major else matrix.shape[0]
    return sparse.make("DnMat", *matrix.shape, ld, matrix, VALUE[letter], ROW if row_major else COLUMN)


def scalars(letter: str) -> tuple[Array, Array]:
    return np.array([2.0], dtype=TYPES[letter]), np.array([-0.5], dtype=TYPES[letter])


def size_then(sparse: Sparse, name: str, *arguments: Any) -> Array:
    bytes_needed = np.zeros(1, dtype=np.uint64)
    sparse(name, *arguments, bytes_needed)
    return np.zeros(int(bytes_needed[0]), dtype=np.uint8)


@pytest.mark.parametrize(("letter", "op", "form"), list(itertools.product("sdcz", "NTC", ("csr", "csc", "coo", "one"))))
def test_spmv(sparse: Sparse, letter: str, op: str, form: str) -> None:
    a = sparse_matrix(letter, 7, 5)
    alpha, beta = scalars(letter)
    full = {"N": a, "T": a.T, "C": a.conj().T}[op]
    x, y = (
        random_matrix(letter, full.shape[1], 1, 1)[:, 0].copy(),
        random_matrix(letter, full.shape[0], 1, 2)[:, 0].copy(),
    )
    expected = alpha * (full @ x) + beta * y
    keep: Any
    if form in ("csr", "one"):
        descriptor, keep = csr_descriptor(sparse, a, letter, int(form == "one"))
    elif form == "csc":
        keep = csr(a.T)
        descriptor = sparse.make("Csc", 7, 5, len(keep[2]), *keep, INT32, INT32, ZERO_BASED, VALUE[letter])
    else:
        rows, columns = (places.astype(np.int32) for places in np.nonzero(a))
        keep = rows, columns, a[rows, columns].copy()
        descriptor = sparse.make("Coo", 7, 5, len(rows), *keep, INT32, ZERO_BASED, VALUE[letter])
    vectors = [sparse.make("DnVec", len(v), v, VALUE[letter]) for v in (x, y)]
    arguments = (OPS[op], alpha, descriptor, vectors[0], beta, vectors[1], VALUE[letter], 0)
    buffer = size_then(sparse, "SpMV_bufferSize", *arguments)
    sparse("SpMV", *arguments, buffer)
    close(y, expected, letter)


@pytest.mark.parametrize(("op_a", "op_b", "order"), list(itertools.product("NT", "NT", "CF")))
def test_spmm(sparse: Sparse, op_a: str, op_b: str, order: Any) -> None:
    a = sparse_matrix("d", 6, 4)
    left = a if op_a == "N" else a.T
    b = np.array(random_matrix("d", *((left.shape[1], 3) if op_b == "N" else (3, left.shape[1])), 1), order=order)
    c = np.array(random_matrix("d", left.shape[0], 3, 2), order=order)
    alpha, beta = scalars("d")
    expected = alpha * (left @ (b if op_b == "N" else b.T)) + beta * c
    descriptor, keep = csr_descriptor(sparse, a, "d")
    descriptors = [dense_descriptor(sparse, matrix, "d") for matrix in (b, c)]
    arguments = (OPS[op_a], OPS[op_b], alpha, descriptor, descriptors[0], beta, descriptors[1], VALUE["d"], 0)
    sparse("SpMM", *arguments, size_then(sparse, "SpMM_bufferSize", *arguments))
    close(c, expected, "d")
    assert len(keep) == 3


def test_sddmm_batched(sparse: Sparse) -> None:
    pattern = sparse_matrix("s", 5, 6)
    starts, columns, values = csr(pattern)
    count = len(values)
    a, b = (
        np.ascontiguousarray(np.stack([random_matrix("s", *shape, seed) for seed in (1, 2)]))
        for shape in ((5, 4), (4, 6))
    )
    offsets, indices = np.tile(starts, 2), np.tile(columns, 2)
    out = np.zeros(2 * count, dtype=np.float32)
    c = sparse.make("Csr", 5, 6, count, offsets, indices, out, INT32, INT32, ZERO_BASED, VALUE["s"])
    assert call(sparse.library, "hipsparseCsrSetStridedBatch", c, 2, 6, count) == 0
    descriptors = []
    for matrix in (a, b):
        descriptors.append(sparse.make("DnMat", *matrix.shape[1:], matrix.shape[2], matrix, VALUE["s"], ROW))
        assert call(sparse.library, "hipsparseDnMatSetStridedBatch", descriptors[-1], 2, matrix[0].size) == 0
    alpha, zero = np.array([2], dtype=np.float32), np.zeros(1, dtype=np.float32)
    arguments = (0, 0, alpha, *descriptors, zero, c, VALUE["s"], 0)
    sparse("SDDMM", *arguments, size_then(sparse, "SDDMM_bufferSize", *arguments))
    for batch in range(2):
        expected = 2 * (a[batch] @ b[batch])[np.nonzero(pattern)]
        close(out[batch * count :][:count], expected, "s")


def test_spgemm(sparse: Sparse) -> None:
    a, b = sparse_matrix("d", 6, 5, 1), sparse_matrix("d", 5, 7, 2)
    (da, keep_a), (db, keep_b) = csr_descriptor(sparse, a, "d"), csr_descriptor(sparse, b, "d")
    alpha, zero = np.array([1.5]), np.zeros(1)
    dc = sparse.make("Csr", 6, 7, 0, None, None, None, INT32, INT32, ZERO_BASED, VALUE["d"])
    state = ctypes.c_void_p()
    assert call(sparse.library, "hipsparseSpGEMM_createDescr", ctypes.byref(state)) == 0
    arguments = (0, 0, alpha, da, db, zero, dc, VALUE["d"], 0, state)
    for phase in ("workEstimation", "compute"):
        size = np.zeros(1, dtype=np.uint64)
        sparse(f"SpGEMM_{phase}", *arguments, size, None)
        sparse(f"SpGEMM_{phase}", *arguments, size, np.zeros(int(size[0]), dtype=np.uint8))
    shape = np.zeros(3, dtype=np.int64)
    assert call(sparse.library, "hipsparseSpMatGetSize", dc, shape[0:], shape[1:], shape[2:]) == 0
    assert shape[:2].tolist() == [6, 7]
    starts, columns, values = np.zeros(7, np.int32), np.zeros(shape[2], np.int32), np.zeros(shape[2])
    assert call(sparse.library, "hipsparseCsrSetPointers", dc, starts, columns, values) == 0
    sparse("SpGEMM_copy", *arguments)
    found = np.zeros((6, 7))
    for row in range(6):
        found[row, columns[starts[row] : starts[row + 1]]] = values[starts[row] : starts[row + 1]]
    close(found, 1.5 * (a @ b), "d")
    assert len(keep_a) == len(keep_b) == 3


@pytest.mark.parametrize(("fill", "op", "unit"), list(itertools.product((0, 1), "NT", (0, 1))))
def test_triangular_solves(sparse: Sparse, fill: int, op: str, unit: int) -> None:
    full = sparse_matrix("d", 6, 6, 3) + 3 * np.eye(6)
    triangle = np.tril(full) if fill == 0 else np.triu(full)
    if unit:
        np.fill_diagonal(triangle, 1)
    factor = triangle if op == "N" else triangle.T
    descriptor, keep = csr_descriptor(sparse, full, "d")  # the other triangle must not be read
    for attribute, value in ((0, fill), (1, unit)):
        setting = np.array([value], dtype=np.int32)
        assert call(sparse.library, "hipsparseSpMatSetAttribute", descriptor, attribute, setting, 4) == 0
    alpha = np.array([2.0])
    x, y = random_matrix("d", 6, 1, 1)[:, 0].copy(), np.zeros(6)
    vectors = [sparse.make("DnVec", 6, v, VALUE["d"]) for v in (x, y)]
    state = ctypes.c_void_p()
    assert call(sparse.library, "hipsparseSpSV_createDescr", ctypes.byref(state)) == 0
    arguments = (OPS[op], alpha, descriptor, *vectors, VALUE["d"], 0, state)
    buffer = size_then(sparse, "SpSV_bufferSize", *arguments)
    sparse("SpSV_analysis", *arguments, buffer)
    sparse("SpSV_solve", *arguments)
    close(factor @ y, 2 * x, "d")

    b, c = random_matrix("d", 6, 3, 2), np.zeros((6, 3), order="F")
    matrices = [dense_descriptor(sparse, matrix, "d") for matrix in (b, c)]
    assert call(sparse.library, "hipsparseSpSM_createDescr", ctypes.byref(state)) == 0
    arguments = (OPS[op], 0, alpha, descriptor, *matrices, VALUE["d"], 0, state)
    buffer = size_then(sparse, "SpSM_bufferSize", *arguments)
    sparse("SpSM_analysis", *arguments, buffer)
    sparse("SpSM_solve", *arguments, buffer)
    close(factor @ c, 2 * b, "d")
    assert len(keep) == 3


def test_dense_and_sparse(sparse: Sparse) -> None:
    a = np.ascontiguousarray(sparse_matrix("s", 5, 8))
    starts = np.zeros(6, dtype=np.int32)
    dense = dense_descriptor(sparse, a, "s")
    target = sparse.make("Csr", 5, 8, 0, starts, None, None, INT32, INT32, ONE_BASED, VALUE["s"])
    buffer = size_then(sparse, "DenseToSparse_bufferSize", dense, target, 0)
    sparse("DenseToSparse_analysis", dense, target, 0, buffer)
    sizes = np.zeros(3, dtype=np.int64)
    assert call(sparse.library, "hipsparseSpMatGetSize", target, sizes[0:], sizes[1:], sizes[2:]) == 0
    assert sizes[2] == np.count_nonzero(a)
    columns, values = np.zeros(sizes[2], dtype=np.int32), np.zeros(sizes[2], dtype=np.float32)
    assert call(sparse.library, "hipsparseCsrSetPointers", target, starts, columns, values) == 0
    sparse("DenseToSparse_convert", dense, target, 0, buffer)
    for found, expected in zip((starts, columns, values), csr(a, 1), strict=True):
        assert (found == expected).all()
    back = np.full((5, 8), 9, dtype=np.float32)
    sparse("SparseToDense", target, dense_descriptor(sparse, back, "s"), 0, buffer)
    assert (back == a).all()


def test_vectors(sparse: Sparse) -> None:
    index, x, y = np.array([1, 4, 5], np.int32), np.array([1.0, 2.0, 3.0]), np.arange(7.0)
    sx = sparse.make("SpVec", 7, 3, index, x, INT32, ZERO_BASED, VALUE["d"])
    dy = sparse.make("DnVec", 7, y, VALUE["d"])
    alpha, beta = np.array([2.0]), np.array([10.0])
    sparse("Axpby", alpha, sx, beta, dy)
    assert y.tolist() == [0, 12, 20, 30, 44, 56, 60]
    sparse("Gather", dy, sx)
    assert x.tolist() == [12, 44, 56]
    x[:] = 5
    sparse("Scatter", sx, dy)
    assert y.tolist() == [0, 5, 20, 30, 5, 5, 60]


def test_typed_interface(sparse: Sparse) -> None:
    a = sparse_matrix("d", 6, 6, 4) + 5 * np.eye(6)
    starts, columns, values = csr(a, 1)
    description = ctypes.c_void_p()
    assert call(sparse.library, "hipsparseCreateMatDescr", ctypes.byref(description)) == 0
    assert call(sparse.library, "hipsparseSetMatIndexBase", description, ONE_BASED) == 0
    x, y = random_matrix("d", 6, 1, 1)[:, 0].copy(), np.zeros(6)
    one, zero = np.ones(1), np.zeros(1)
    sparse("Dcsrmv", 0, 6, 6, len(values), one, description, values, starts, columns, x, zero, y)
    close(y, a @ x, "d")

    rows = np.zeros(len(values), dtype=np.int32)
    sparse("Xcsr2coo", starts, len(values), 6, rows, ONE_BASED)
    assert (rows == np.nonzero(a)[0] + 1).all()
    again = np.zeros(7, dtype=np.int32)
    sparse("Xcoo2csr", rows, len(values), 6, again, ONE_BASED)
    assert (again == starts).all()

    turned = [np.zeros_like(values), np.zeros(7, np.int32), np.zeros(len(values), np.int32)]
    sparse("Csr2cscEx2", 6, 6, len(values), values, starts, columns, *turned, VALUE["d"], 1, ONE_BASED, 0, None)
    for found, expected in zip((turned[1], turned[2], turned[0]), csr(a.T, 1), strict=True):
        assert (found == expected).all()

    shuffled, permutation = columns.copy(), np.zeros(len(values), dtype=np.int32)
    for row in range(6):
        part = slice(starts[row] - 1, starts[row + 1] - 1)
        shuffled[part] = shuffled[part][::-1]
    sparse("CreateIdentityPermutation", len(values), permutation)
    mixed = shuffled.copy()
    sparse("Xcsrsort", 6, 6, len(values), description, starts, shuffled, permutation, None)
    assert (shuffled == columns).all()
    assert (mixed[permutation] == columns).all()

    per_row, total = np.zeros(6, dtype=np.int32), np.zeros(1, dtype=np.int32)
    sparse("Dnnz", 0, 6, 6, description, np.asfortranarray(a), 6, per_row, total)
    assert (per_row == np.count_nonzero(a, axis=1)).all()
    assert total[0] == np.count_nonzero(a)


def test_incomplete_lu_is_exact_without_fill_in(sparse: Sparse) -> None:
    a = np.diag(np.full(6, 4.0)) + np.diag(np.full(5, -1.0), 1) + np.diag(np.full(5, -2.0), -1)  # tridiagonal
    starts, columns, values = csr(a)
    description, info = ctypes.c_void_p(), ctypes.c_void_p()
    assert call(sparse.library, "hipsparseCreateMatDescr", ctypes.byref(description)) == 0
    assert call(sparse.library, "hipsparseCreateCsrilu02Info", ctypes.byref(info)) == 0
    sparse("Dcsrilu02_analysis", 6, len(values), description, values, starts, columns, info, 0, None)
    sparse("Dcsrilu02", 6, len(values), description, values, starts, columns, info, 0, None)
    factors = np.zeros((6, 6))
    factors[np.nonzero(a)] = values
    lower, upper = np.tril(factors, -1) + np.eye(6), np.triu(factors)
    close(lower @ upper, a, "d")
    position = np.zeros(1, dtype=np.int32)
    sparse("Xcsrilu02_zeroPivot", info, position)
    assert position[0] == -1
    values[0] = 0
    sparse("Dcsrilu02", 6, len(values), description, values, starts, columns, info, 0, None)
    assert call(sparse.library, "hipsparseXcsrilu02_zeroPivot", sparse.handle, info, position) == 9
    assert position[0] == 0


def test_tridiagonal_solve(sparse: Sparse) -> None:
    random = np.random.default_rng(5)
    lower, diagonal, upper = (random.standard_normal(9) for _ in range(3))
    lower[0] = upper[-1] = 0
    a = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    b = np.asfortranarray(random.standard_normal((9, 2)))
    x = b.copy(order="F")
    sparse("Dgtsv2", 9, 2, lower, diagonal, upper, x, 9, None)
    np.testing.assert_allclose(a @ x, b, atol=1e-8)


def test_errors(sparse: Sparse) -> None:
    library = sparse.library
    assert call(library, "hipsparseSpMV", None, 0, None, None, None, None, None, 0, 0, None) == 1
    assert call(library, "hipsparseSpMV", sparse.handle, 0, None, None, None, None, None, 0, 0, None) == 3
    assert call(library, "hipsparseCreateDnVec", None, 4, None, 0) == 3
    library.hipsparseGetErrorName.restype = ctypes.c_char_p
    assert library.hipsparseGetErrorName(9) == b"HIPSPARSE_STATUS_ZERO_PIVOT"


def test_rocsparse_names(load: Load) -> None:
    library = load("rocsparse")
    handle, matrix, vectors = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_void_p(), ctypes.c_void_p())
    assert call(library, "rocsparse_create_handle", ctypes.byref(handle)) == 0
    a = sparse_matrix("d", 4, 6)
    arrays = csr(a)
    x, y, one, zero = np.arange(6.0), np.zeros(4), np.ones(1), np.zeros(1)
    double, none = 152, 111
    created = ("rocsparse_create_csr_descr", ctypes.byref(matrix), 4, 6, len(arrays[2]), *arrays, 2, 2, 0, double)
    assert call(library, *created) == 0
    for descriptor, values in zip(vectors, (x, y), strict=True):
        assert call(library, "rocsparse_create_dnvec_descr", ctypes.byref(descriptor), len(values), values, double) == 0
    bytes_needed = np.zeros(1, dtype=np.uint64)
    for stage in (1, 2, 3):
        arguments = (none, one, matrix, vectors[0], zero, vectors[1], double, 0, stage, bytes_needed, np.zeros(4))
        assert call(library, "rocsparse_spmv", handle, *arguments) == 0
    close(y, a @ x, "d")
    rows = np.zeros(len(arrays[2]), dtype=np.int32)
    assert call(library, "rocsparse_csr2coo", handle, arrays[0], len(rows), 4, rows, 0) == 0
    assert (rows == np.nonzero(a)[0]).all()
    assert call(library, "rocsparse_csr2coo", None, arrays[0], len(rows), 4, rows, 0) == 1
