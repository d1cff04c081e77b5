"""Compiling and launching on a real GPU: ROCmCompiler and HIP's runtime, NVRTC and CUDA's driver.

Both vendors share the packing of arguments, so both run the same tests: compile a source, launch it, read back.
"""

from __future__ import annotations

import ctypes
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from kernel_pytorch.backends.amd import CompiledKernel, ROCmCompiler
from kernel_pytorch.backends.amd.amd_exceptions import AMDDeviceError
from kernel_pytorch.backends.nvidia import CudaCompilationError, CudaDeviceError, compile_cuda
from kernel_pytorch.core.config import AMDConfig


@dataclass(frozen=True)
class Vendor:
    """How one vendor's sources are compiled, and what differs between the two."""

    compile: Callable[[str, str], Any]
    half_header: str
    half_type: str
    device_error: type[Exception]


@pytest.fixture(scope="session")
def compile_hip(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., CompiledKernel]:
    config = AMDConfig(hip_compiler_cache_dir=str(tmp_path_factory.mktemp("kernels")))
    return lambda *given, **options: ROCmCompiler(config).compile_kernel(*given, **options)


@pytest.fixture
def vendor(gpu: str, compile_hip: Callable[..., CompiledKernel]) -> Vendor:
    if gpu == "amd":
        return Vendor(compile_hip, "hip/hip_fp16.h", "__half", AMDDeviceError)
    return Vendor(compile_cuda, "cuda_fp16.h", "__half", CudaDeviceError)


@contextmanager
def raises(error: type[Exception], words: str) -> Iterator[None]:
    try:
        yield
    except error as caught:
        assert words in str(caught), f"{words!r} is not in {str(caught)!r}"
    else:
        raise AssertionError(f"{error.__name__} was not raised")


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda").to(dtype)


ADD = """
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""


def test_add(vendor: Vendor) -> None:
    kernel = vendor.compile(ADD, "add_kernel")
    for n in (1, 63, 64, 65, 1000, 1 << 20):
        a, b, c = random(n), random(n), torch.full((n,), -1.0, device="cuda")
        kernel.launch((n + 255) // 256, 256, [a, b, c, n])
        torch.cuda.synchronize()
        assert torch.equal(c, a + b), n


def test_every_kind_of_value(vendor: Vendor) -> None:
    source = """
    struct Shape { int rows; double scale; char tag; };
    __global__ void mixed(char a, double b, short c, Shape d, double* out, bool e, unsigned long long f, float g,
                          unsigned char h, long long i, unsigned j) {
      out[0] = a; out[1] = b; out[2] = c; out[3] = d.rows; out[4] = d.scale; out[5] = d.tag; out[6] = e;
      out[7] = (double)f; out[8] = g; out[9] = h; out[10] = (double)i; out[11] = j;
    }
    """

    class Shape(ctypes.Structure):
        _fields_ = (("rows", ctypes.c_int), ("scale", ctypes.c_double), ("tag", ctypes.c_char))

    out = torch.zeros(12, device="cuda", dtype=torch.float64)
    kernel = vendor.compile(source, "mixed")
    kernel.launch(1, 1, [-5, 0.1, -300, Shape(7, 2.5, b"x"), out, True, 2**63, 3, 250, -(2**40), 2**32 - 1])
    expected = [-5, 0.1, -300, 7, 2.5, ord("x"), 1, 2.0**63, 3, 250, -(2.0**40), 2.0**32 - 1]
    assert out.tolist() == expected


def test_numpy_and_ctypes_values(vendor: Vendor) -> None:
    import numpy as np

    source = "__global__ void put(double* out, float a, int b, double c) { out[0] = a; out[1] = b; out[2] = c; }"
    kernel = vendor.compile(source, "put")
    out = torch.zeros(3, device="cuda", dtype=torch.float64)
    kernel.launch(1, 1, [out, np.float32(1.5), np.int32(-2), np.float64(0.1)])
    assert out.tolist() == [1.5, -2.0, 0.1]
    kernel.launch(1, 1, [out, ctypes.c_float(2.5), ctypes.c_int(9), ctypes.c_double(0.2)])
    assert out.tolist() == [2.5, 9.0, 0.2]
    kernel.launch(1, 1, [ctypes.c_void_p(out.data_ptr()), 4, 5, 6])
    assert out.tolist() == [4.0, 5.0, 6.0]


def test_half_precision(vendor: Vendor) -> None:
    source = f"""
    #include <{vendor.half_header}>
    __global__ void scale({vendor.half_type}* x, {vendor.half_type} by, int n) {{
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] = __hmul(x[i], by);
    }}
    """
    x = random(1000, dtype=torch.float16)
    expected = x * torch.tensor(0.3, dtype=torch.float16, device="cuda")
    vendor.compile(source, "scale").launch(4, 256, [x, 0.3, 1000])
    assert torch.equal(x, expected)


def test_template_and_plain_c_in_one_source(vendor: Vendor) -> None:
    source = """
    namespace deep { template <typename T> __global__ void fill(T* out, T value) { out[threadIdx.x] = value; } }
    template __global__ void deep::fill<float>(float*, float);
    template __global__ void deep::fill<int>(int*, int);
    extern "C" __global__ void plain(float* out, float value, int n) { out[threadIdx.x] = value * n; }
    """
    kernel = vendor.compile(source, "several")
    floats, ints = torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda", dtype=torch.int32)
    kernel.launch(1, 8, [floats, 3], kernel="deep::fill<float>")
    kernel.launch(1, 8, [ints, -4], kernel="deep::fill<int>")
    assert floats.tolist() == [3.0] * 8
    assert ints.tolist() == [-4] * 8
    kernel.launch(1, 8, [floats, 2.5, 3], kernel="plain")
    assert floats.tolist() == [7.5] * 8
    with raises(ValueError, "say which with kernel="):
        kernel.launch(1, 8, [floats, 1])


def test_three_dimensional_grid(vendor: Vendor) -> None:
    source = """
    __global__ void where(int* out) {
      int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
      int z = blockIdx.z * blockDim.z + threadIdx.z;
      int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
      out[(z * height + y) * width + x] = x + 100 * y + 10000 * z;
    }
    """
    out = torch.full((8, 6, 20), -1, device="cuda", dtype=torch.int32)
    vendor.compile(source, "where").launch((5, 3, 4), (4, 2, 2), [out])
    z, y, x = torch.meshgrid(torch.arange(8), torch.arange(6), torch.arange(20), indexing="ij")
    assert torch.equal(out.cpu(), (x + 100 * y + 10000 * z).to(torch.int32))


def test_dynamic_shared_memory(vendor: Vendor) -> None:
    source = """
    extern __shared__ float buffer[];
    __global__ void reverse(float* x, int n) {
      for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = x[i];
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = buffer[n - 1 - i];
    }
    """
    kernel = vendor.compile(source, "reverse")
    for n in (100, 16 * 1024):  # 64 KiB: above what NVIDIA gives without asking, all that a CDNA workgroup has
        x = random(n)
        expected = x.flip(0)
        kernel.launch(1, 256, [x, n], shared_bytes=4 * n)
        assert torch.equal(x, expected), n


def test_streams_keep_their_order(vendor: Vendor) -> None:
    kernel = vendor.compile("__global__ void step(float* x) { x[0] = x[0] * 2.0f + 1.0f; }", "step")
    x = torch.zeros(1, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # without a stream argument: torch's current one
        for _ in range(10):
            kernel.launch(1, 1, [x])
            x.add_(1.0)
    expected = 0.0
    for _ in range(10):
        expected = expected * 2 + 1 + 1
    side.synchronize()
    assert x.item() == expected
    kernel.launch(1, 1, [x], stream=side)
    kernel.launch(1, 1, [x], stream=side.cuda_stream)
    side.synchronize()
    assert x.item() == (expected * 2 + 1) * 2 + 1


def test_threads_launch_at_once(vendor: Vendor) -> None:
    kernel = vendor.compile(ADD, "add")
    failures: list[str] = []

    def work() -> None:
        try:
            for _ in range(50):
                a, b = random(1000), random(1000)
                c = torch.empty_like(a)
                kernel.launch(4, 256, [a, b, c, 1000])
                torch.cuda.synchronize()
                assert torch.equal(c, a + b)
        except Exception:
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_bad_arguments_are_refused_and_harm_nothing(vendor: Vendor) -> None:
    kernel = vendor.compile(ADD, "add")
    a, b, c = random(64), random(64), torch.zeros(64, device="cuda")
    with raises(TypeError, "takes 4 arguments"):
        kernel.launch(1, 64, [a, b, c])
    with raises(ValueError, "lies in host memory"):
        kernel.launch(1, 64, [a.cpu(), b, c, 64])
    with raises(TypeError, "the tensor holds float64"):
        kernel.launch(1, 64, [a.double(), b, c, 64])
    with raises(TypeError, "expected device memory"):
        kernel.launch(1, 64, [a, b, 64, 64])
    with raises(TypeError, "expected an integer"):
        kernel.launch(1, 64, [a, b, c, 64.0])
    with raises(OverflowError, "is outside"):
        kernel.launch(1, 64, [a, b, c, 2**31])
    with raises(ValueError, "threads"):
        kernel.launch(1, 4096, [a, b, c, 64])
    with raises(ValueError, "at least 1"):
        kernel.launch(0, 64, [a, b, c, 64])
    assert c.count_nonzero() == 0
    kernel.launch(1, 64, [a, b, c, 64])
    assert torch.equal(c, a + b)


def test_a_grid_the_driver_refuses(vendor: Vendor) -> None:
    kernel = vendor.compile("__global__ void nothing() {}", "nothing")
    with raises(vendor.device_error, "failed:"):
        kernel.launch((1, 2**31 - 1, 2**31 - 1), 1, [])
    kernel.launch(1, 1, [])
    torch.cuda.synchronize()


@pytest.mark.nvidia
def test_the_source_is_compiled_for_this_nvidia_gpu() -> None:
    kernel = compile_cuda("__global__ void k(int* a) { a[0] = 1; }", "k")
    major, minor = torch.cuda.get_device_capability()
    assert kernel.architecture == f"sm_{major}{minor}"
    assert kernel.binary[:4] == b"\x7fELF"


@pytest.mark.nvidia
def test_ptx_is_loaded_too() -> None:
    major, minor = torch.cuda.get_device_capability()
    kernel = compile_cuda("__global__ void k(int* a) { a[0] = 42; }", "k", f"compute_{major}{minor}")
    out = torch.zeros(1, device="cuda", dtype=torch.int32)
    kernel.launch(1, 1, [out])
    assert out.item() == 42


@pytest.mark.nvidia
def test_a_cubin_for_another_gpu_is_refused() -> None:
    other = "sm_80" if torch.cuda.get_device_capability() >= (9, 0) else "sm_90"
    kernel = compile_cuda("__global__ void k(int* a) { a[0] = 1; }", "k", other)
    with raises(CudaDeviceError, "cuModuleLoadData failed"):
        kernel.launch(1, 1, [torch.zeros(1, device="cuda", dtype=torch.int32)])


@pytest.mark.nvidia
def test_what_does_not_compile_has_the_compilers_words() -> None:
    with raises(CudaCompilationError, 'identifier "missing" is undefined'):
        compile_cuda("__global__ void k(int* a) { a[0] = missing; }", "k")
    with raises(CudaCompilationError, "has no __global__ function"):
        compile_cuda("", "k")


@pytest.mark.amd
def test_the_source_is_compiled_for_this_amd_gpu(compile_hip: Callable[..., CompiledKernel]) -> None:
    kernel = compile_hip("__global__ void k(int* a) { a[0] = 1; }", "k")
    assert torch.cuda.get_device_properties(0).gcnArchName.startswith(kernel.architecture)


@pytest.mark.amd
def test_the_wave_is_as_wide_as_the_code_object_says(compile_hip: Callable[..., CompiledKernel]) -> None:
    kernel = compile_hip("__global__ void k(int* a) { a[0] = warpSize; }", "k")
    out = torch.zeros(1, device="cuda", dtype=torch.int32)
    kernel.launch(1, 1, [out])
    assert out.item() == kernel.kernel().wave_size


@pytest.mark.amd
def test_a_code_object_for_another_gpu_is_refused(compile_hip: Callable[..., CompiledKernel]) -> None:
    other = "gfx1030" if not torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx1030") else "gfx942"
    kernel = compile_hip("__global__ void k(int* a) { a[0] = 1; }", "k", target=other)
    with raises(AMDDeviceError, "hipModuleLoadData failed"):
        kernel.launch(1, 1, [torch.zeros(1, device="cuda", dtype=torch.int32)])
