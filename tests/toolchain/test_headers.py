"""Our own HIP headers: numbers against numpy and torch on the host side, and that each stands alone.

The same inline functions serve host and device, so what is right here is right there, except for the math that
only the device has.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.toolchain.compile import (
    CompileFailed,
    CompileOptions,
    check_host,
    check_unit,
    compile_device_text,
    compile_host,
)
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.roots import COMPLETING_INCLUDE, FALLBACK_INCLUDE
from tests.toolchain.pip_only import KERNELS, pip_toolchain

np = pytest.importorskip("numpy")

FUNCTIONS = Path(__file__).parent / "host_functions.hip"


HALF_OPERATIONS = ("add", "subtract", "multiply", "divide", "fmax", "fmin", "fma", "neg", "abs")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions above, compiled by the HIP host pass and loaded."""
    folder = tmp_path_factory.mktemp("headers")
    toolchain = pip_toolchain()
    (folder / "functions.o").write_bytes(compile_host(FUNCTIONS, toolchain))
    shared = folder / "functions.so"
    link = ["-shared", "-Wl,-z,defs", "-o", str(shared), str(folder / "functions.o"), "-lm"]
    # The half-precision conversions are in libgcc from version 12 on. zig cc has them anywhere, but builds its
    # compiler-rt first, which takes 20 s.
    for linker in ([found] if (found := shutil.which("cc")) else [], [toolchain.compiler[0], "cc"]):
        if linker and subprocess.run([*linker, *link], capture_output=True, check=False).returncode == 0:
            break
    return ctypes.CDLL(str(shared))


def call(library: ctypes.CDLL, name: str, *args: Any) -> None:
    def plain(value: Any) -> Any:
        return ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_int(value)

    getattr(library, name)(*(plain(value) for value in args))


@pytest.fixture(scope="module")
def halves() -> Any:
    return np.arange(65536, dtype=np.uint16)


@pytest.fixture(scope="module")
def floats() -> Any:
    """Random bit patterns, ties between neighbours, limits, infinities and NaN."""
    random = np.random.default_rng(1).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    steps = np.linspace(-600, 600, 20_001, dtype=np.float32)
    small = steps * np.float32(2.0**-16)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65520, 240, 248, 448, 464, 57344, 61440], np.float32)
    return np.concatenate([random, steps, small, special, -special])


def same_bits(ours: Any, theirs: Any, is_nan: Any) -> None:
    """Equal bit for bit, except that any NaN is as good as another."""
    differ = (ours != theirs) & ~is_nan
    assert not differ.any(), f"{differ.sum()} differ, first at {np.flatnonzero(differ)[:5]}"


def test_half_conversions(library: ctypes.CDLL, halves: Any, floats: Any) -> None:
    out = np.empty(65536, np.float32)
    call(library, "half_to_float", halves, out, 65536)
    np.testing.assert_array_equal(out, halves.view(np.float16).astype(np.float32))
    back = np.empty(floats.size, np.uint16)
    call(library, "float_to_half", floats, back, floats.size)
    with np.errstate(over="ignore", invalid="ignore"):
        same_bits(back, floats.astype(np.float16).view(np.uint16), np.isnan(floats))


@pytest.mark.parametrize(("op", "name"), list(enumerate(HALF_OPERATIONS)))
def test_half_arithmetic(library: ctypes.CDLL, halves: Any, op: int, name: str) -> None:
    a, b = halves, np.random.default_rng(op).permutation(halves)
    out = np.empty(65536, np.uint16)
    call(library, "half_binary", op, a, b, out, 65536)
    x, y = a.view(np.float16), b.view(np.float16)
    with np.errstate(all="ignore"):
        if name == "fma":
            wide = x.astype(np.float64) * y.astype(np.float64) + y.astype(np.float64)
            expected = wide.astype(np.float16)
        elif name in ("neg", "abs"):
            expected = -x if name == "neg" else np.abs(x)
        else:
            expected = getattr(np, name)(x, y)
    zeros = (expected == 0) & ((out & 0x7FFF) == 0) if name in ("fmax", "fmin") else np.zeros(65536, bool)
    same_bits(out, expected.view(np.uint16), np.isnan(expected) & np.isnan(out.view(np.float16)) | zeros)


def test_half_comparisons(library: ctypes.CDLL, halves: Any) -> None:
    b = np.random.default_rng(3).permutation(halves)
    b[::5] = halves[::5]
    out = np.empty(65536, np.uint8)
    call(library, "half_compare", halves, b, out, 65536)
    x, y = halves.view(np.float16), b.view(np.float16)
    bits = [x == y, x < y, x >= y, x != y, np.isnan(x), np.isinf(x)]
    np.testing.assert_array_equal(out, sum(bit.astype(np.uint8) << np.uint8(i) for i, bit in enumerate(bits)))


def test_half_to_integers_saturates(library: ctypes.CDLL, halves: Any) -> None:
    nearest, down, small = np.empty(65536, np.int32), np.empty(65536, np.uint32), np.empty(65536, np.int16)
    call(library, "half_to_int", halves, nearest, down, small, 65536)
    x = halves.view(np.float16).astype(np.float64)
    number = np.where(np.isnan(x), 0.0, x)
    np.testing.assert_array_equal(nearest, np.clip(np.rint(number), -(2.0**31), 2.0**31 - 1).astype(np.int64))
    np.testing.assert_array_equal(down, np.clip(np.floor(number), 0, 2.0**32 - 1).astype(np.int64))
    np.testing.assert_array_equal(small, np.clip(np.trunc(number), -32768, 32767).astype(np.int64))


def test_packed_halves(library: ctypes.CDLL) -> None:
    a = np.array([1.5, -2.0, 3.0, 4.0], np.float16)
    out = np.empty(4, np.uint16)
    call(library, "packed", a.view(np.uint16), a[::-1].copy().view(np.uint16), out, 4)
    np.testing.assert_array_equal(out.view(np.float16), np.array([1.0, 5.5, 5.5, 1.0], np.float16))


def test_bf16_conversions(library: ctypes.CDLL, floats: Any) -> None:
    torch = pytest.importorskip("torch")
    nearest, zero, old = (np.empty(floats.size, np.uint16) for _ in range(3))
    for name, out in (("float_to_bf16", nearest), ("truncated_bf16", zero), ("old_bf16", old)):
        call(library, name, floats, out, floats.size)
    expected = torch.from_numpy(floats.copy()).bfloat16().view(torch.int16).numpy().view(np.uint16)
    nans = np.isnan(floats)
    same_bits(nearest, expected, nans)
    same_bits(old, expected, nans)
    same_bits(zero, (floats.view(np.uint32) >> 16).astype(np.uint16), nans)

    def as_float(bits: Any) -> Any:
        return (bits.astype(np.uint32) << 16).view(np.float32)

    assert all(np.isnan(as_float(bits)[nans]).all() for bits in (nearest, zero, old))
    back = np.empty(65536, np.float32)
    call(library, "bf16_to_float", np.arange(65536, dtype=np.uint16), back, 65536)
    np.testing.assert_array_equal(back, as_float(np.arange(65536, dtype=np.uint16)))


FP8 = [
    (0, "float8_e4m3fn", 448.0),
    (1, "float8_e5m2", 57344.0),
    (2, "float8_e4m3fnuz", 240.0),
    (3, "float8_e5m2fnuz", 57344.0),
]
HEADERS = sorted(path.relative_to(COMPLETING_INCLUDE) for path in COMPLETING_INCLUDE.glob("hip/*.h"))


@pytest.mark.parametrize(("interpretation", "dtype", "largest"), FP8)
def test_fp8_conversions(library: ctypes.CDLL, floats: Any, interpretation: int, dtype: str, largest: float) -> None:
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    codes = np.arange(256, dtype=np.uint8)
    decoded = np.empty(256, np.float32)
    call(library, "fp8_to_float", interpretation, codes, decoded, 256)
    np.testing.assert_array_equal(decoded, torch.from_numpy(codes).view(kind).float().numpy())

    def torch_bits(values: Any) -> Any:
        return torch.from_numpy(values.copy()).to(kind).view(torch.uint8).numpy()

    plain, saturated = np.empty(floats.size, np.uint8), np.empty(floats.size, np.uint8)
    call(library, "float_to_fp8", interpretation, 0, floats, plain, floats.size)
    call(library, "float_to_fp8", interpretation, 1, floats, saturated, floats.size)
    same_bits(saturated, torch_bits(np.clip(floats, -largest, largest)), np.isnan(floats))
    inside = np.abs(floats) <= largest
    same_bits(plain[inside], torch_bits(floats[inside]), np.zeros(inside.sum(), bool))
    far = np.abs(floats) > largest * 1.2
    outcome = decoded[plain[far]]
    assert (np.isinf(outcome) if dtype == "float8_e5m2" else np.isnan(outcome)).all()
    assert np.isnan(decoded[plain[np.isnan(floats)]]).all()


def test_complex_functions(library: ctypes.CDLL) -> None:
    generator = np.random.default_rng(5)
    a, b = (generator.normal(size=(1000, 2)) * 10.0 ** generator.integers(-100, 100, (1000, 1)) for _ in range(2))
    out = np.empty((1000, 2))
    x, y = a[:, 0] + 1j * a[:, 1], b[:, 0] + 1j * b[:, 1]
    call(library, "complex_op", 0, a, b, out, 1000)
    np.testing.assert_allclose(out[:, 0] + 1j * out[:, 1], x * y, rtol=1e-12)
    call(library, "complex_op", 1, a, b, out, 1000)
    np.testing.assert_allclose(out[:, 0] + 1j * out[:, 1], x / y, rtol=1e-12)
    call(library, "complex_op", 2, a, b, out, 1000)
    np.testing.assert_allclose(out[:, 0], np.abs(x), rtol=1e-12)
    np.testing.assert_allclose(out[:, 1], np.abs(y) ** 2, rtol=1e-12)


@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_header_stands_alone(tmp_path: Path, header: Path) -> None:
    source = tmp_path / "alone.hip"
    source.write_text(f"#include <{header}>\n#include <{header}>\nint main() {{ return 0; }}\n")
    check_host(source, pip_toolchain())


def test_openmp_host_code(tmp_path: Path) -> None:
    assert (FALLBACK_INCLUDE / "omp.h").is_file()
    source = tmp_path / "omp.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n#include <omp.h>\nint main() {\n  int n = 0;\n"
        "#pragma omp parallel for reduction(+ : n)\n"
        "  for (int i = 0; i < 9; ++i) n += omp_get_thread_num();\n  return n > omp_get_wtime();\n}\n"
    )
    check_host(source, pip_toolchain(), CompileOptions(extra=("-fopenmp",)))


def test_atomic_add_of_half_is_refused_as_on_rocm() -> None:
    # ROCm has unsafeAtomicAdd for halves and no atomicAdd: accepting it here would pass code that fails there.
    head = "#include <hip/hip_fp16.h>\n__global__ void k(__half* p) { "
    assert compile_device_text(head + "unsafeAtomicAdd(p, __half(1.0f)); }\n", "gfx942", pip_toolchain())
    with pytest.raises(CompileFailed, match="atomicAdd"):
        compile_device_text(head + "atomicAdd(p, __half(1.0f)); }\n", "gfx942", pip_toolchain())


@pytest.mark.slow
@pytest.mark.rocm_headers
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
def test_our_kernels_are_valid_on_rocm(kernel: Path) -> None:
    """Each kernel of this folder also builds with ROCm's own headers: ours accept nothing that theirs refuse."""
    try:
        toolchain = find_toolchain(headers="debian")
    except ToolchainNotFoundError:
        try:
            toolchain = find_toolchain("rocm")
        except ToolchainNotFoundError as missing:
            pytest.skip(str(missing))
    check_unit(kernel, "gfx942", toolchain)


def test_single_letter_macros_of_the_user_do_not_reach_our_wrapper() -> None:
    """Projects pass -DA=7 and the like. (B, F and T break AMD's own headers too, so nobody can use those.)"""
    body = "y[0] = sinf(y[1]) * A + norm3df(y[2], y[3], 1.0f);"
    source = f"#include <hip/hip_runtime.h>\n__global__ void k(float* y) {{ {body} }}"
    defines = tuple(f"{letter}=7" for letter in "ADKNPS")
    compile_device_text(source, "gfx942", pip_toolchain(), CompileOptions(defines=defines))
