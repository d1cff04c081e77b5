"""hipRAND and rocRAND: published sequences, order of outputs, and the shape of the distributions."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.emulate.libraries.arrays import Array, call
from tests.emulate.libraries.conftest import Load

XORWOW, MRG, MTGP, MT, PHILOX, SOBOL = 401, 402, 403, 404, 405, 501


@pytest.fixture(scope="module")
def hiprand(load: Load) -> ctypes.CDLL:
    return load("hiprand")


class Generator:
    """A host-interface generator."""

    def __init__(self, library: ctypes.CDLL, kind: int, seed: int | None = None, offset: int = 0) -> None:
        self.library, self.handle = library, ctypes.c_void_p()
        assert call(library, "hiprandCreateGenerator", ctypes.byref(self.handle), kind) == 0
        if seed is not None:
            assert call(library, "hiprandSetPseudoRandomGeneratorSeed", self.handle, seed) == 0
        if offset:
            assert call(library, "hiprandSetGeneratorOffset", self.handle, offset) == 0

    def __call__(self, name: str, count: int, dtype: Any, *parameters: Any) -> Array:
        out = np.zeros(count, dtype=dtype)
        assert call(self.library, f"hiprandGenerate{name}", self.handle, out, count, *parameters) == 0
        return out


def philox_block(seed: int, counter: int) -> list[int]:
    """Ten rounds in Python, from the paper."""
    c, key = [counter & 0xFFFFFFFF, counter >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_philox_known_answer() -> None:
    # Random123's known-answer vector for a zero counter and key.
    assert philox_block(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_philox_is_one_sequence(hiprand: ctypes.CDLL) -> None:
    seed = 0x1234567890
    expected = np.array([word for block in range(8) for word in philox_block(seed, block)], dtype=np.uint32)
    assert (Generator(hiprand, PHILOX, seed)("", 32, np.uint32) == expected).all()
    assert (Generator(hiprand, PHILOX, seed, offset=5)("", 9, np.uint32) == expected[5:14]).all()
    generator = Generator(hiprand, PHILOX, seed)
    parts = np.concatenate([generator("", 7, np.uint32), generator("", 10, np.uint32)])
    assert (parts == expected[:17]).all()
    uniform = Generator(hiprand, PHILOX, seed)("Uniform", 32, np.float32)
    assert (uniform == (np.float32(2**-32) + expected.astype(np.float32) * np.float32(2**-32))).all()
    chars = Generator(hiprand, PHILOX, seed)("Char", 16, np.uint8)
    assert (chars == expected[:4].view(np.uint8)).all()


def xorwow(seed: int, count: int) -> list[int]:
    mask = 0xFFFFFFFF
    t0 = 1228688033 * ((seed & mask) ^ 0x2C7F967F) & mask
    t1 = 2073658381 * ((seed >> 32) ^ 0xA03697CB) & mask
    x = [123456789 + t0 & mask, 362436069 ^ t0, 521288629 + t1 & mask, 88675123 ^ t1, 5783321 + t0 & mask]
    d, out = 6615241 + t1 + t0 & mask, []
    for _ in range(count):
        t = x[0] ^ (x[0] >> 2)
        x = [*x[1:], (x[4] ^ (x[4] << 4) ^ t ^ (t << 1)) & mask]
        d = d + 362437 & mask
        out.append(d + x[4] & mask)
    return out


def test_xorwow_interleaves_131072_engines(hiprand: ctypes.CDLL) -> None:
    engines = 131072
    found = Generator(hiprand, XORWOW, 42)("", 3 * engines, np.uint32)
    assert found[::engines].tolist() == xorwow(42, 3)  # engine 0 stands at the start of the sequence
    assert len(np.unique(found[:engines])) > engines - 10  # the others are elsewhere
    generator = Generator(hiprand, XORWOW, 42)
    parts = [generator("", count, np.uint32) for count in (100, engines, 2 * engines - 100)]
    assert (np.concatenate(parts) == found).all()
    assert (Generator(hiprand, XORWOW, 42, offset=engines + 3)("", 50, np.uint32) == found[engines + 3 :][:50]).all()


@pytest.mark.parametrize("kind", [XORWOW, MRG, MT, MTGP, PHILOX])
def test_distributions(hiprand: ctypes.CDLL, kind: int) -> None:
    n = 100_000
    uniform = Generator(hiprand, kind, 7)("Uniform", n, np.float32)
    assert uniform.min() > 0
    assert uniform.max() <= 1
    assert abs(uniform.mean() - 0.5) < 0.005
    assert abs(uniform.var() - 1 / 12) < 0.002
    double = Generator(hiprand, kind, 7)("UniformDouble", n, np.float64)
    assert double.min() > 0
    assert abs(double.mean() - 0.5) < 0.005
    normal = Generator(hiprand, kind, 7)("NormalDouble", n, np.float64, 3.0, 2.0)
    assert abs(normal.mean() - 3) < 0.03
    assert abs(normal.std() - 2) < 0.03
    assert abs(((normal - 3) ** 3).mean()) < 0.4
    mean, deviation = ctypes.c_float(3.0), ctypes.c_float(2.0)
    single = Generator(hiprand, kind, 7)("Normal", n, np.float32, mean, deviation)
    assert abs(single.mean() - 3) < 0.03
    assert abs(single.std() - 2) < 0.03
    log_normal = Generator(hiprand, kind, 7)("LogNormalDouble", n, np.float64, 0.5, 0.25)
    assert abs(np.log(log_normal).mean() - 0.5) < 0.01
    for rate in (4.5, 3000.0):
        poisson = Generator(hiprand, kind, 7)("Poisson", n, np.uint32, rate)
        assert abs(poisson.mean() - rate) < 0.01 * rate
        assert abs(poisson.var() - rate) < 0.05 * rate


def test_same_seed_same_numbers(hiprand: ctypes.CDLL) -> None:
    for kind in (XORWOW, MRG, MT, PHILOX):
        first, again, other = (Generator(hiprand, kind, seed)("Uniform", 1000, np.float32) for seed in (1, 1, 2))
        assert (first == again).all()
        assert (first != other).any()


def test_sobol_dimensions(hiprand: ctypes.CDLL) -> None:
    generator = Generator(hiprand, SOBOL)
    assert call(hiprand, "hiprandSetQuasiRandomGeneratorDimensions", generator.handle, 3) == 0
    values = generator("", 3 * 8, np.uint32).reshape(3, 8)
    # First points of the Joe-Kuo sequence in Gray-code order, as fractions of 2^32 in eighths.
    eighths = (values >> 29).tolist()
    assert eighths[0] == [0, 4, 6, 2, 3, 7, 5, 1]
    assert eighths[1] == [0, 4, 2, 6, 3, 7, 1, 5]
    assert eighths[2] == [0, 4, 2, 6, 5, 1, 7, 3]
    assert call(hiprand, "hiprandGenerate", generator.handle, np.zeros(4, dtype=np.uint32), 4) == 105


@pytest.mark.parametrize("dimensions", [21])
def test_sobol_agrees_with_torch(hiprand: ctypes.CDLL, dimensions: int) -> None:
    torch = pytest.importorskip("torch")
    points = torch.quasirandom.SobolEngine(dimensions).draw(64, dtype=torch.float64).numpy().T
    generator = Generator(hiprand, SOBOL)
    assert call(hiprand, "hiprandSetQuasiRandomGeneratorDimensions", generator.handle, dimensions) == 0
    values = generator("", dimensions * 64, np.uint32).reshape(dimensions, 64) / 2**32
    np.testing.assert_allclose(values, points, atol=1e-6)


def test_rocrand_numbers_its_generators_differently(load: Load) -> None:
    rocrand = load("rocrand")
    handle = ctypes.c_void_p()
    assert call(rocrand, "rocrand_create_generator", ctypes.byref(handle), 404) == 0
    assert call(rocrand, "rocrand_set_seed", handle, 9) == 0
    out = np.zeros(4, dtype=np.uint32)
    assert call(rocrand, "rocrand_generate", handle, out, 4) == 0
    assert out.tolist() == philox_block(9, 0)
    assert call(rocrand, "rocrand_destroy_generator", handle) == 0


def test_errors(hiprand: ctypes.CDLL) -> None:
    handle = ctypes.c_void_p()
    assert call(hiprand, "hiprandCreateGenerator", ctypes.byref(handle), 17) == 103
    assert call(hiprand, "hiprandGenerateUniform", None, None, 1) == 101
    assert call(hiprand, "hiprandGeneratePoisson", Generator(hiprand, PHILOX).handle, None, 0, -1.0) == 104
    assert call(hiprand, "hiprandSetGeneratorOrdering", Generator(hiprand, PHILOX).handle, 7) == 104


def test_direction_vectors_make_the_generators_sobol_numbers(hiprand: ctypes.CDLL) -> None:
    dimensions, count = 21, 64
    place = ctypes.c_void_p()
    assert call(hiprand, "hiprandGetDirectionVectors32", ctypes.byref(place), 101) == 0
    vectors = np.ctypeslib.as_array(ctypes.cast(place, ctypes.POINTER(ctypes.c_uint32)), (dimensions, 32))
    generator = Generator(hiprand, SOBOL)
    assert call(hiprand, "hiprandSetQuasiRandomGeneratorDimensions", generator.handle, dimensions) == 0
    numbers = generator("", dimensions * count, np.uint32).reshape(dimensions, count)
    for index in range(count):
        bits = [bit for bit in range(32) if (index ^ index >> 1) >> bit & 1]
        assert (numbers[:, index] == np.bitwise_xor.reduce(vectors[:, bits], axis=1)).all()
    assert call(hiprand, "hiprandGetDirectionVectors64", ctypes.byref(place), 103) == 0
    wide = np.ctypeslib.as_array(ctypes.cast(place, ctypes.POINTER(ctypes.c_uint64)), (dimensions, 64))
    assert (wide[:, :32] >> np.uint64(32) == vectors).all()
    assert (wide & (np.uint64(1) << np.arange(63, -1, -1, dtype=np.uint64)) != 0).all()  # each vector's own bit
    assert call(hiprand, "hiprandGetDirectionVectors64", ctypes.byref(place), 101) == 104
