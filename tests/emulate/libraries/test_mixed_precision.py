"""Types chosen by the caller: gemm and vector routines of hipBLAS and rocBLAS, hipBLASLt, and the small formats."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.emulate.libraries.arrays import OP, Array, call, random_matrix
from tests.emulate.libraries.conftest import Load

R32F, R64F, R16F, R8I, C32F, R32I, BF16, E4M3, E5M2, E4M3_FNUZ, E5M2_FNUZ = 0, 1, 2, 3, 4, 10, 14, 28, 29, 1000, 1001
COMPUTE_16F, COMPUTE_32F, COMPUTE_64F, COMPUTE_32I = 0, 2, 7, 9


def handle(library: ctypes.CDLL, create: str) -> ctypes.c_void_p:
    found = ctypes.c_void_p()
    assert call(library, create, ctypes.byref(found)) == 0
    return found


def to_bfloat16(values: Array) -> Array:
    """Round to nearest even, as bits."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def eight_bit_values(exponent_bits: int, fnuz: bool) -> Array:
    """The value of each of the 256 codes, from the definition of the format."""
    mantissa_bits = 7 - exponent_bits
    bias = 2 ** (exponent_bits - 1) - (0 if fnuz else 1)
    values = np.zeros(256)
    for code in range(256):
        exponent, mantissa = code >> mantissa_bits & (2**exponent_bits - 1), code & (2**mantissa_bits - 1)
        size = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        if exponent:
            size = (1 + mantissa / 2**mantissa_bits) * 2.0 ** (exponent - bias)
        if not fnuz and exponent == 2**exponent_bits - 1:
            if exponent_bits == 5:
                size = np.nan if mantissa else np.inf
            elif mantissa == 7:
                size = np.nan
        values[code] = -size if code & 0x80 else size
    if fnuz:
        values[0x80] = np.nan
    return values


@pytest.mark.parametrize(
    ("kind", "compute", "scale", "tolerance"),
    [
        (np.float16, COMPUTE_32F, np.float32, 2e-2),
        (np.float16, COMPUTE_16F, np.float16, 2e-2),
        (np.float32, COMPUTE_32F, np.float32, 1e-4),
        (np.float64, COMPUTE_64F, np.float64, 1e-12),
    ],
)
def test_hipblas_gemm_ex(load: Load, kind: Any, compute: int, scale: Any, tolerance: float) -> None:
    library = load("hipblas")
    code = {np.float16: R16F, np.float32: R32F, np.float64: R64F}[kind]
    a, b, c = (
        np.asfortranarray(random_matrix("d", *shape, i).astype(kind))
        for i, shape in enumerate([(6, 5), (7, 5), (6, 7)])
    )
    alpha, beta = np.array([1.5], dtype=scale), np.array([0.5], dtype=scale)
    expected = 1.5 * a.astype(float) @ b.astype(float).T + 0.5 * c.astype(float)
    arguments = (OP["N"], OP["T"], 6, 7, 5, alpha, a, code, 6, b, code, 7, beta, c, code, 6, compute, 0)
    assert call(library, "hipblasGemmEx", handle(library, "hipblasCreate"), *arguments) == 0
    np.testing.assert_allclose(c.astype(float), expected, atol=tolerance * 10)


def test_integer_gemm_is_exact(load: Load) -> None:
    library = load("hipblas")
    random = np.random.default_rng(1)
    a, b = (np.asfortranarray(random.integers(-128, 128, shape, dtype=np.int8)) for shape in ((40, 60), (60, 30)))
    c = np.asfortranarray(random.integers(-1000, 1000, (40, 30), dtype=np.int32))
    expected = a.astype(np.int64) @ b.astype(np.int64) - 2 * c
    alpha, beta = np.array([1], dtype=np.int32), np.array([-2], dtype=np.int32)
    arguments = (OP["N"], OP["N"], 40, 30, 60, alpha, a, R8I, 40, b, R8I, 60, beta, c, R32I, 40, COMPUTE_32I, 0)
    assert call(library, "hipblasGemmEx", handle(library, "hipblasCreate"), *arguments) == 0
    assert (c == expected).all()


def test_rocblas_gemm_ex_writes_to_another_matrix(load: Load) -> None:
    library = load("rocblas")
    f16, f32 = 150, 151
    a, b = (np.asfortranarray(random_matrix("s", 4, 4, seed).astype(np.float16)) for seed in (1, 2))
    c, d = random_matrix("s", 4, 4, 3), np.zeros((4, 4), dtype=np.float32, order="F")
    before = c.copy()
    one = np.ones(1, dtype=np.float32)
    arguments = (OP["N"], OP["N"], 4, 4, 4, one, a, f16, 4, b, f16, 4, one, c, f32, 4, d, f32, 4, f32, 0, 0, 0)
    assert call(library, "rocblas_gemm_ex", handle(library, "rocblas_create_handle"), *arguments) == 0
    np.testing.assert_allclose(d, a.astype(np.float32) @ b.astype(np.float32) + c, atol=1e-5)
    assert (c == before).all()


def test_half_precision_names(load: Load) -> None:
    library = load("hipblas")
    h = handle(library, "hipblasCreate")
    a, b = (np.asfortranarray(random_matrix("s", 8, 8, seed).astype(np.float16)) for seed in (1, 2))
    c = np.zeros((8, 8), dtype=np.float16, order="F")
    one, zero = np.ones(1, dtype=np.float16), np.zeros(1, dtype=np.float16)
    assert call(library, "hipblasHgemm", h, OP["N"], OP["N"], 8, 8, 8, one, a, 8, b, 8, zero, c, 8) == 0
    np.testing.assert_allclose(c.astype(float), a.astype(float) @ b.astype(float), atol=1e-2)
    result = np.zeros(1, dtype=np.float16)
    assert call(library, "hipblasHdot", h, 64, a, 1, b, 1, result) == 0
    np.testing.assert_allclose(result[0], np.dot(a.ravel("F").astype(float), b.ravel("F").astype(float)), atol=2e-2)
    brain = np.zeros(1, dtype=np.uint16)
    x, y = to_bfloat16(a.ravel()), to_bfloat16(b.ravel())
    assert call(library, "hipblasBfdot", h, 64, x, 1, y, 1, brain) == 0
    np.testing.assert_allclose(from_bfloat16(brain)[0], np.dot(from_bfloat16(x), from_bfloat16(y)), rtol=1e-2)


def test_vector_routines_with_types(load: Load) -> None:
    library = load("hipblas")
    h = handle(library, "hipblasCreate")
    x, y = (random_matrix("s", 30, 1, seed)[:, 0].astype(np.float16) for seed in (1, 2))
    result, alpha = np.zeros(1, dtype=np.float32), np.array([2.5], dtype=np.float32)
    assert call(library, "hipblasDotEx", h, 30, x, R16F, 1, y, R16F, 1, result, R32F, R32F) == 0
    np.testing.assert_allclose(result[0], np.dot(x.astype(float), y.astype(float)), atol=1e-5)
    assert call(library, "hipblasNrm2Ex_64", h, 30, x, R16F, 1, result, R32F, R32F) == 0
    np.testing.assert_allclose(result[0], np.linalg.norm(x.astype(float)), atol=1e-5)
    expected = (2.5 * x.astype(np.float32) + y.astype(np.float32)).astype(np.float16)
    assert call(library, "hipblasAxpyEx", h, 30, alpha, R32F, x, R16F, 1, y, R16F, 1, R32F) == 0
    assert (y == expected).all()
    assert call(library, "hipblasScalEx", h, 30, alpha, R32F, y, R16F, 1, R32F) == 0
    assert (y == (expected.astype(np.float32) * 2.5).astype(np.float16)).all()


class Lt:
    """hipBLASLt's descriptors, in the shape a test needs."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library, self.handle = library, handle(library, "hipblasLtCreate")

    def layout(self, kind: int, rows: int, columns: int, ld: int, order: int = 0) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        assert call(self.library, "hipblasLtMatrixLayoutCreate", ctypes.byref(found), kind, rows, columns, ld) == 0
        setting = np.array([order], dtype=np.int32)
        assert call(self.library, "hipblasLtMatrixLayoutSetAttribute", found, 3, setting, 4) == 0
        return found

    def matmul(self, **attributes: Any) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        assert call(self.library, "hipblasLtMatmulDescCreate", ctypes.byref(found), COMPUTE_32F, R32F) == 0
        numbers = {"op_a": 0, "op_b": 1, "epilogue": 2, "bias": 3, "bias_type": 4, "scale_a": 5, "scale_b": 6,
                   "scale_d": 8, "aux": 10, "aux_ld": 11, "amax": 14}  # fmt: skip
        for name, value in attributes.items():
            wide = isinstance(value, np.ndarray) or name == "aux_ld"
            setting = value.ctypes.data if isinstance(value, np.ndarray) else value
            data = np.array([setting], dtype=np.int64 if wide else np.int32)
            assert call(self.library, "hipblasLtMatmulDescSetAttribute", found, numbers[name], data, data.nbytes) == 0
        return found

    def run(self, matmul: ctypes.c_void_p, alpha: Array, a: Any, b: Any, beta: Array, c: Any, d: Any) -> int:
        operands = [part for operand in (a, b) for part in operand], [part for operand in (c, d) for part in operand]
        algorithm = workspace = stream = None
        descriptors = (self.handle, matmul, alpha, *operands[0], beta, *operands[1])
        return call(self.library, "hipblasLtMatmul", *descriptors, algorithm, workspace, 0, stream)


@pytest.fixture
def lt(load: Load) -> Lt:
    return Lt(load("hipblaslt"))


ONE, ZERO = np.ones(1, dtype=np.float32), np.zeros(1, dtype=np.float32)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(
    ("epilogue", "function"),
    [(1, lambda x, b: x), (2, lambda x, b: np.maximum(x, 0)), (4, lambda x, b: x + b),
     (6, lambda x, b: np.maximum(x + b, 0)), (32, lambda x, b: gelu(x)), (36, lambda x, b: gelu(x + b)),
     (65536, lambda x, b: x / (1 + np.exp(-x))), (164, lambda x, b: gelu(x + b))],
)  # fmt: skip
def test_matmul_epilogues(lt: Lt, epilogue: int, function: Callable[[Array, Array], Array]) -> None:
    a, b = (
        np.asfortranarray(random_matrix("s", *shape, i).astype(np.float16)) for i, shape in enumerate([(6, 4), (6, 5)])
    )
    bias = random_matrix("s", 4, 1, 3)[:, 0].astype(np.float16)
    d, aux = np.zeros((4, 5), dtype=np.float16, order="F"), np.zeros((4, 5), dtype=np.float16, order="F")
    attributes: dict[str, Any] = {"op_a": OP["T"], "epilogue": epilogue, "bias": bias, "bias_type": R16F}
    if epilogue & 128:
        attributes |= {"aux": aux, "aux_ld": 4}
    layouts = [(a, lt.layout(R16F, 6, 4, 6)), (b, lt.layout(R16F, 6, 5, 6)), (d, lt.layout(R16F, 4, 5, 4))]
    assert lt.run(lt.matmul(**attributes), ONE, layouts[0], layouts[1], ZERO, layouts[2], layouts[2]) == 0
    product = a.astype(np.float32).T @ b.astype(np.float32)
    wide = bias.astype(np.float32)[:, None]
    np.testing.assert_allclose(d.astype(float), function(product, wide), atol=2e-2)
    if epilogue & 128:
        np.testing.assert_allclose(aux.astype(float), product + wide, atol=2e-2)


def test_matmul_row_major_and_batches(lt: Lt) -> None:
    a, b = (
        np.random.default_rng(i).standard_normal(shape).astype(np.float32)
        for i, shape in enumerate([(3, 4, 5), (3, 5, 2)])
    )
    d = np.zeros((3, 4, 2), dtype=np.float32)
    operands = []
    for matrix in (a, b, d):
        layout = lt.layout(R32F, *matrix.shape[1:], matrix.shape[2], order=1)
        for attribute, value, kind in ((0, 3, np.int32), (1, matrix[0].size, np.int64)):
            setting = np.array([value], dtype=kind)
            assert (
                call(lt.library, "hipblasLtMatrixLayoutSetAttribute", layout, attribute, setting, setting.nbytes) == 0
            )
        operands.append((matrix, layout))
    assert lt.run(lt.matmul(), ONE, operands[0], operands[1], ZERO, operands[2], operands[2]) == 0
    np.testing.assert_allclose(d, a @ b, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "exponent_bits", "fnuz"), [(E4M3, 4, False), (E5M2, 5, False), (E4M3_FNUZ, 4, True), (E5M2_FNUZ, 5, True)]
)
def test_eight_bit_floats(lt: Lt, kind: int, exponent_bits: int, fnuz: bool) -> None:
    values = eight_bit_values(exponent_bits, fnuz)
    finite = np.flatnonzero(np.isfinite(values)).astype(np.uint8)
    n = len(finite)
    # Identity times the codes gives their values; scaling by 4 of A and 0.5 of D doubles them.
    identity = np.asfortranarray(np.full((1, 1), np.flatnonzero(values == 1)[0], dtype=np.uint8))
    out = np.zeros((1, n), dtype=np.float32, order="F")
    codes = np.asfortranarray(finite.reshape(1, n))
    scale_a, scale_d, amax = np.array([4], np.float32), np.array([0.5], np.float32), np.zeros(1, dtype=np.float32)
    matmul = lt.matmul(scale_a=scale_a, scale_d=scale_d, amax=amax)
    a, b, d = (identity, lt.layout(kind, 1, 1, 1)), (codes, lt.layout(kind, 1, n, 1)), (out, lt.layout(R32F, 1, n, 1))
    assert lt.run(matmul, ONE, a, b, ZERO, d, d) == 0
    assert (out[0] == 2 * values[finite]).all()
    assert amax[0] == 4 * np.abs(values[finite]).max()
    # And back: every value, and everything between two, rounds to the nearest code.
    ordered = np.sort(values[finite])
    probes = np.unique(np.concatenate([ordered, (ordered[1:] + ordered[:-1]) / 2]))
    source = np.asfortranarray(probes.astype(np.float32).reshape(1, -1))
    target = np.zeros((1, len(probes)), dtype=np.uint8, order="F")
    unit = np.asfortranarray(np.ones((1, 1), dtype=np.float32))
    a, b = (unit, lt.layout(R32F, 1, 1, 1)), (source, lt.layout(R32F, 1, len(probes), 1))
    d = (target, lt.layout(kind, 1, len(probes), 1))
    assert lt.run(lt.matmul(), ONE, a, b, ZERO, d, d) == 0
    distance = np.abs(values[target[0]] - probes)
    nearest = np.abs(values[finite][:, None] - probes).min(axis=0)
    assert (distance == nearest).all()


def test_heuristic_gives_one_algorithm(lt: Lt) -> None:
    preference, results, count = ctypes.c_void_p(), np.zeros(128, dtype=np.uint8), np.zeros(1, dtype=np.int32)
    assert call(lt.library, "hipblasLtMatmulPreferenceCreate", ctypes.byref(preference)) == 0
    layouts = [lt.layout(R32F, 4, 4, 4)] * 4
    arguments = (lt.handle, lt.matmul(), *layouts, preference, 1, results, count)
    assert call(lt.library, "hipblasLtMatmulAlgoGetHeuristic", *arguments) == 0
    assert count[0] == 1


def test_matmul_refuses_wrong_shapes(lt: Lt) -> None:
    a = np.zeros((4, 4), dtype=np.float32)
    good, bad = (a, lt.layout(R32F, 4, 4, 4)), (a, lt.layout(R32F, 3, 4, 4))
    assert lt.run(lt.matmul(), ONE, bad, good, ZERO, good, good) == 3
    assert lt.run(lt.matmul(), ONE, (None, good[1]), good, ZERO, good, good) == 3


def test_hipblas_gemm_ex_takes_the_numbers_of_rocm_6(load: Load) -> None:
    """hipBLAS 2 has other numbers for types, and a type where hipBLAS 3 has hipblasComputeType_t."""
    library = load("hipblas")
    f16, f32 = 150, 151
    a, b = (np.asfortranarray(random_matrix("s", 4, 4, seed).astype(np.float16)) for seed in (1, 2))
    c = np.zeros((4, 4), dtype=np.float32, order="F")
    one, zero = np.ones(1, dtype=np.float32), np.zeros(1, dtype=np.float32)
    arguments = (OP["N"], OP["N"], 4, 4, 4, one, a, f16, 4, b, f16, 4, zero, c, f32, 4, f32, 0)
    assert call(library, "hipblasGemmEx", handle(library, "hipblasCreate"), *arguments) == 0
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-5)
