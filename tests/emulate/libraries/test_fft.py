"""hipFFT and rocFFT against numpy.fft, for lengths of every kind: powers, mixed factors, large primes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.emulate.libraries.arrays import Array, call
from tests.emulate.libraries.conftest import Load

R2C, C2R, C2C, D2Z, Z2D, Z2Z = 0x2A, 0x2C, 0x29, 0x6A, 0x6C, 0x69
FORWARD, BACKWARD = -1, 1


@pytest.fixture(scope="module")
def hipfft(load: Load) -> ctypes.CDLL:
    return load("hipfft")


@contextmanager
def plan(library: ctypes.CDLL, maker: str, *arguments: object) -> Iterator[ctypes.c_void_p]:
    handle = ctypes.c_void_p()
    assert call(library, maker, ctypes.byref(handle), *arguments) == 0
    yield handle
    assert call(library, "hipfftDestroy", handle) == 0


def noise(*shape: int, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    return random.standard_normal(shape) + 1j * random.standard_normal(shape)


def near(found: Array, expected: Array, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 15, 30, 64, 77, 97, 101, 169, 1000, 1024, 1009, 34 * 17])
def test_every_length_both_ways(hipfft: ctypes.CDLL, n: int) -> None:
    data = noise(3, n)
    out = np.zeros_like(data)
    with plan(hipfft, "hipfftPlan1d", n, Z2Z, 3) as handle:
        assert call(hipfft, "hipfftExecZ2Z", handle, data, out, FORWARD) == 0
        near(out, np.fft.fft(data))
        assert call(hipfft, "hipfftExecZ2Z", handle, out, out, BACKWARD) == 0  # in place
        near(out, data * n)


@pytest.mark.parametrize("shape", [(6, 10), (4, 5, 7), (3, 4, 8)])
def test_several_dimensions(hipfft: ctypes.CDLL, shape: tuple[int, ...]) -> None:
    data = noise(*shape).astype(np.complex64)
    out = np.zeros_like(data)
    with plan(hipfft, f"hipfftPlan{len(shape)}d", *shape, C2C) as handle:
        assert call(hipfft, "hipfftExecC2C", handle, data, out, FORWARD) == 0
    near(out, np.fft.fftn(data), 1e-5)
    real = noise(*shape).real.copy()
    half = np.zeros((*shape[:-1], shape[-1] // 2 + 1), dtype=np.complex128)
    with plan(hipfft, f"hipfftPlan{len(shape)}d", *shape, D2Z) as handle:
        assert call(hipfft, "hipfftExecD2Z", handle, real, half) == 0
    near(half, np.fft.rfftn(real))
    back = np.zeros(shape)
    with plan(hipfft, f"hipfftPlan{len(shape)}d", *shape, Z2D) as handle:
        assert call(hipfft, "hipfftExecZ2D", handle, half, back) == 0
    near(back, real * real.size)


@pytest.mark.parametrize("n", [8, 9])
def test_real_in_place_is_padded(hipfft: ctypes.CDLL, n: int) -> None:
    real = noise(4, n).real.astype(np.float32)
    padded = np.zeros((4, 2 * (n // 2 + 1)), dtype=np.float32)
    padded[:, :n] = real
    with plan(hipfft, "hipfftPlan1d", n, R2C, 4) as handle:
        assert call(hipfft, "hipfftExecR2C", handle, padded, padded) == 0
    near(padded.view(np.complex64), np.fft.rfft(real), 1e-5)
    with plan(hipfft, "hipfftPlan1d", n, C2R, 4) as handle:
        assert call(hipfft, "hipfftExecC2R", handle, padded, padded) == 0
    near(padded[:, :n], real * n, 1e-5)


def test_strides_and_embedding(hipfft: ctypes.CDLL) -> None:
    # Transforms of the columns of a 6 x 4 array: elements 4 apart, batches 1 apart.
    data = noise(6, 4)
    out = np.zeros((4, 6), dtype=np.complex128)
    n = (ctypes.c_int * 1)(6)
    with plan(hipfft, "hipfftPlanMany", 1, n, n, 4, 1, n, 1, 6, Z2Z, 4) as handle:
        assert call(hipfft, "hipfftExecZ2Z", handle, data, out, FORWARD) == 0
    near(out, np.fft.fft(data, axis=0).T)
    # A 3 x 5 transform inside rows of 8.
    wide = noise(2, 3, 8)
    result = np.zeros((2, 3, 5), dtype=np.complex128)
    sizes, inner, outer = (ctypes.c_int * 2)(3, 5), (ctypes.c_int * 2)(3, 8), (ctypes.c_int * 2)(3, 5)
    with plan(hipfft, "hipfftPlanMany", 2, sizes, inner, 1, 24, outer, 1, 15, Z2Z, 2) as handle:
        assert call(hipfft, "hipfftExecZ2Z", handle, wide, result, FORWARD) == 0
    near(result, np.fft.fft2(wide[:, :, :5]))


def test_bad_arguments(hipfft: ctypes.CDLL) -> None:
    handle = ctypes.c_void_p()
    assert call(hipfft, "hipfftPlan1d", ctypes.byref(handle), 0, C2C, 1) == 8
    assert call(hipfft, "hipfftPlan1d", ctypes.byref(handle), 8, 99, 1) == 3
    assert call(hipfft, "hipfftExecC2C", None, None, None, FORWARD) == 1
    with plan(hipfft, "hipfftPlan1d", 8, C2C, 1) as good:
        assert call(hipfft, "hipfftExecC2C", good, None, None, FORWARD) == 4
        assert call(hipfft, "hipfftExecR2C", good, np.zeros(8), np.zeros(8)) == 3


def test_rocfft(load: Load) -> None:
    rocfft = load("rocfft")
    data = noise(2, 4, 6)
    out = np.zeros_like(data)
    description, handle = ctypes.c_void_p(), ctypes.c_void_p()
    assert call(rocfft, "rocfft_plan_description_create", ctypes.byref(description)) == 0
    assert call(rocfft, "rocfft_plan_description_set_scale_factor", description, 0.5) == 0
    lengths = (ctypes.c_size_t * 2)(6, 4)  # fastest first
    forward = 0
    assert call(rocfft, "rocfft_plan_create", ctypes.byref(handle), 1, forward, 1, 2, lengths, 2, description) == 0
    buffers = [(ctypes.c_void_p * 1)(array.ctypes.data) for array in (data, out)]
    assert call(rocfft, "rocfft_execute", handle, *buffers, None) == 0
    near(out, np.fft.fft2(data) * 0.5)
    assert call(rocfft, "rocfft_plan_destroy", handle) == 0
