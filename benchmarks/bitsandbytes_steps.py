#!/usr/bin/env python3
"""bitsandbytes' ROCm library on an emulated GPU: its 4-bit and 8-bit paths, each result compared with NumPy's.

    python -m venv bnb && bnb/bin/pip install --no-deps bitsandbytes==0.50 && bnb/bin/pip install numpy
    kpt emulate --gpu mi300x --whole-pages -- bnb/bin/python benchmarks/bitsandbytes_steps.py LIBRARY

LIBRARY is libbitsandbytes_rocm72.so of the wheel. Its C functions are called as bitsandbytes/backends/cuda/ops.py does;
device memory comes from the HIP runtime by ctypes, so no PyTorch build for ROCm is needed. Nothing of the library is
changed. Without --whole-pages the emulator stops kDequantizeBlockwise, which reads scales past the end of their buffer
where the last block is not full (hardware hides it). Exit status 1 if a step fails.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable

import numpy as np

NF4 = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
     -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], np.float32)  # fmt: skip
FP4 = np.array([0, 0.0625, 8, 12, 4, 6, 2, 3, -0.0, -0.0625, -8, -12, -4, -6, -2, -3], np.float32) / 12
RANDOM = np.random.RandomState(24)


class Device:
    """The HIP runtime and the library."""

    def __init__(self, library: str) -> None:
        # The real libhipblas needs librocblas, and bitsandbytes finds rocBLAS through that.
        ctypes.CDLL("librocblas.so.5", mode=ctypes.RTLD_GLOBAL)
        self.hip = ctypes.CDLL("libamdhip64.so.7")
        self.hip.hipMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
        self.hip.hipMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self.library = ctypes.CDLL(library)

    def empty(self, size: int) -> ctypes.c_void_p:
        place = ctypes.c_void_p()
        if self.hip.hipMalloc(ctypes.byref(place), max(size, 1)):
            raise RuntimeError("hipMalloc failed")
        return place

    def put(self, array: np.ndarray) -> ctypes.c_void_p:
        place = self.empty(array.nbytes)
        if self.hip.hipMemcpy(place, array.ctypes.data, array.nbytes, 1):
            raise RuntimeError("hipMemcpy to the device failed")
        return place

    def get(self, place: ctypes.c_void_p, shape: tuple[int, ...], kind: type) -> np.ndarray:
        array = np.empty(shape, kind)
        if self.hip.hipDeviceSynchronize() or self.hip.hipMemcpy(array.ctypes.data, place, array.nbytes, 2):
            raise RuntimeError("hipMemcpy from the device failed")
        return array


def dynamic_map() -> np.ndarray:
    """The signed 8-bit map of bitsandbytes.functional.create_dynamic_map."""
    data: list[float] = []
    for at in range(7):
        bounds = np.linspace(0.1, 1, 2**at + 1, dtype=np.float32)
        means = 10.0 ** (at - 6) * (bounds[:-1] + bounds[1:]) / 2
        data += [*means, *-means]
    return np.sort(np.array([*data, 0, 1.0], np.float32))


def nearest(values: np.ndarray, code: np.ndarray) -> np.ndarray:
    return np.abs(values[..., None] - code).argmin(-1)


def quantize(device: Device, kind: str, dtype: type, block: int) -> bool:
    """Quantise and dequantise: 99 % of the values come back as the nearest of the map, as ties may go either way."""
    size = 4 * block + 40
    values = RANDOM.randn(size).astype(dtype)
    name = {np.float32: "fp32", np.float16: "fp16"}[dtype]
    suffix = "" if kind == "8bit" else f"_{kind}"
    code = {"8bit": dynamic_map(), "nf4": NF4, "fp4": FP4}[kind]
    table = device.put(code) if kind == "8bit" else None
    blocks = -(-size // block)
    absmax, packed, back = device.empty(4 * blocks), device.empty(size), device.empty(size * values.itemsize)
    into = getattr(device.library, f"cquantize_blockwise_{name}{suffix}")
    into(table, device.put(values), absmax, packed, ctypes.c_int32(block), ctypes.c_int(size))
    out_of = getattr(device.library, f"cdequantize_blockwise_{name}{suffix}")
    out_of(table, packed, absmax, back, ctypes.c_int(block), ctypes.c_int(size), None)
    got = device.get(back, (size,), dtype).astype(np.float32)
    largest = device.get(absmax, (blocks,), np.float32)
    padded = np.zeros(blocks * block, np.float32)
    padded[:size] = values
    expected = np.abs(padded.reshape(blocks, block)).max(1)
    scale = np.repeat(expected, block)[:size]
    wanted = code[nearest(values.astype(np.float32) / scale, code)] * scale
    tolerance = 2e-3 if dtype is np.float16 else 1e-5
    close = np.isclose(got, wanted, rtol=tolerance, atol=tolerance)
    return bool(np.allclose(largest, expected, rtol=1e-3) and close.mean() > 0.99)


def gemv(device: Device, dtype: type) -> bool:
    """A matrix of NF4 times a vector (batch-1 inference)."""
    rows, columns, block = 64, 256, 64
    codes = RANDOM.randint(0, 16, (rows, columns)).astype(np.uint8)
    packed = (codes[:, ::2] << 4 | codes[:, 1::2]).astype(np.uint8)
    absmax = (RANDOM.rand(rows * columns // block) + 0.5).astype(np.float32)
    vector = RANDOM.randn(columns).astype(dtype)
    out = device.empty(rows * vector.itemsize)
    name = {np.float32: "fp32", np.float16: "fp16"}[dtype]
    numbers = [ctypes.c_int32(one) for one in (rows, 1, columns)]
    leading = [ctypes.c_int32(one) for one in (rows, (columns + 1) // 2, rows, block)]
    function = getattr(device.library, f"cgemm_4bit_inference_naive_{name}")
    function(*numbers, device.put(vector), device.put(packed), device.put(absmax), device.put(NF4), out, *leading, None)
    matrix = (NF4[codes].reshape(-1, block) * absmax[:, None]).reshape(rows, columns)
    got = device.get(out, (rows,), dtype)
    return bool(np.allclose(got, matrix @ vector.astype(np.float32), rtol=2e-2, atol=5e-2))


def int8_rows(device: Device) -> bool:
    """LLM.int8(): rows to int8 with their largest value."""
    rows, columns = 16, 512
    values = RANDOM.randn(rows, columns).astype(np.float16)
    out, stats = device.empty(rows * columns), device.empty(4 * rows)
    device.library.cint8_vector_quant(
        device.put(values), out, stats, ctypes.c_float(0), ctypes.c_int32(rows), ctypes.c_int32(columns), None
    )
    largest = np.abs(values.astype(np.float32)).max(1)
    wanted = np.rint(values.astype(np.float32) * 127 / largest[:, None])
    got = device.get(out, (rows, columns), np.int8)
    same = np.allclose(device.get(stats, (rows,), np.float32), largest, rtol=1e-3)
    return bool(same and np.abs(got - wanted).max() <= 1 and (got == wanted).mean() > 0.99)


def int8_matmul(device: Device) -> bool:
    """LLM.int8(): int8 x int8 -> int32 by hipBLASLt, then to fp16 with the scales of rows and columns."""
    m, n, k = 32, 16, 64
    a = RANDOM.randint(-127, 128, (m, k)).astype(np.int8)
    b = RANDOM.randint(-127, 128, (n, k)).astype(np.int8)
    device.library.get_context.restype = ctypes.c_void_p
    context = ctypes.c_void_p(device.library.get_context())
    out = device.empty(4 * m * n)
    sizes = [ctypes.c_int32(one) for one in (k, n, m)]  # the inner one comes first
    leading = [ctypes.c_int32(one) for one in (k, k, m)]
    if device.library.cigemmlt_32(context, *sizes, device.put(a), device.put(b), out, None, *leading, None):
        return False
    product = device.get(out, (n, m), np.int32)
    if not np.array_equal(product, b.astype(np.int32) @ a.astype(np.int32).T):
        return False
    rows, columns = (RANDOM.rand(n) + 1).astype(np.float32), (RANDOM.rand(m) + 1).astype(np.float32)
    halves = device.empty(2 * m * n)
    device.library.cdequant_mm_int32_fp16(
        out, device.put(rows), device.put(columns), halves, None, ctypes.c_int32(n), ctypes.c_int32(m), None
    )
    wanted = product * rows[:, None] * columns[None, :] / (127 * 127)
    return bool(np.allclose(device.get(halves, (n, m), np.float16), wanted, rtol=2e-3, atol=2e-2))


def steps(device: Device) -> dict[str, Callable[[], bool]]:
    """Name -> what computes and compares."""
    return {
        "8-bit blocks of 256, fp32": lambda: quantize(device, "8bit", np.float32, 256),
        "8-bit blocks of 4096, fp16": lambda: quantize(device, "8bit", np.float16, 4096),
        "NF4 blocks of 64, fp16": lambda: quantize(device, "nf4", np.float16, 64),
        "NF4 blocks of 128, fp32": lambda: quantize(device, "nf4", np.float32, 128),
        "FP4 blocks of 64, fp16": lambda: quantize(device, "fp4", np.float16, 64),
        "NF4 matrix times vector, fp16": lambda: gemv(device, np.float16),
        "NF4 matrix times vector, fp32": lambda: gemv(device, np.float32),
        "rows to int8": lambda: int8_rows(device),
        "int8 matrix product and back to fp16": lambda: int8_matmul(device),
    }


def main() -> int:
    """Runs every step."""
    if len(sys.argv) != 2:
        print("usage: bitsandbytes_steps.py LIBRARY", file=sys.stderr)
        return 2
    device = Device(sys.argv[1])
    failed = 0
    for name, step in steps(device).items():
        started = time.perf_counter()
        try:
            answer = "agrees" if step() else "DIFFERS"
        except (RuntimeError, AttributeError) as error:
            answer = f"FAILS: {error}"
        failed += answer != "agrees"
        print(f"{name}: {answer} ({time.perf_counter() - started:.1f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
