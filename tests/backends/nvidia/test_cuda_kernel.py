"""CudaKernel.launch down to the calls of the driver, against a stand-in for its ABI; NVRTC where it is installed.

The stand-in (fake_cuda.c) only writes down what it is given. That a kernel runs is shown in tests/hw.
"""

from __future__ import annotations

import ctypes
import pickle
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.backends.nvidia import CudaCompilationError, CudaDeviceError, CudaKernel, compile_cuda, cuda_driver
from kernel_pytorch.backends.nvidia import nvrtc as nvrtc_module

KERNEL = CudaKernel("scale", "0" * 64, b"the module", "sm_90", (), 1.0, ("_Z5scalePfid",))
Calls = Callable[[], list[str]]


@pytest.fixture(scope="session")
def fake_cuda_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) to build the stand-in for libcuda")
    library = tmp_path_factory.mktemp("fake-cuda") / "libcuda.so.1"
    source = Path(__file__).with_name("fake_cuda.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


@pytest.fixture
def calls(fake_cuda_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    library = tmp_path / "libcuda.so.1"
    shutil.copy(fake_cuda_library, library)
    log = tmp_path / "calls"
    monkeypatch.setenv("FAKE_CUDA_LOG", str(log))
    monkeypatch.setattr(cuda_driver, "_found", {})
    monkeypatch.setattr(cuda_driver, "cuda_library_candidates", lambda: iter([str(library)]))
    return lambda: log.read_text().splitlines()


def test_the_calls_in_order_with_the_packed_bytes(calls: Calls) -> None:
    KERNEL.launch((2, 3), 128, [ctypes.c_void_p(0x10), 7, 0.5], stream=0x99)
    packed = [struct.pack("<Q", 0x10), struct.pack("<i", 7), struct.pack("<d", 0.5)]
    assert calls() == [
        "cuInit",
        "push 0x500",
        "cuModuleLoadData the module",
        "cuModuleGetFunction 0x1000 _Z5scalePfid",
        "pop",
        "push 0x500",
        "cuLaunchKernel 0x2000 grid 2,3,1 block 128,1,1 shared 0 stream 0x99 extra 0 "
        + " ".join(part.hex() for part in packed),
        "pop",
    ]


def test_much_shared_memory_is_asked_for(calls: Calls) -> None:
    KERNEL.launch(1, 1, [None, 1, 1.0], shared_bytes=48 * 1024)
    KERNEL.launch(1, 1, [None, 1, 1.0], shared_bytes=64 * 1024)
    assert [call for call in calls() if "Attribute" in call] == ["cuFuncSetAttribute 0x2000 8 65536"]


def test_the_device_is_the_one_asked_for(calls: Calls) -> None:
    KERNEL.launch(1, 1, [None, 1, 1.0], device=1)
    assert {call for call in calls() if call.startswith("push")} == {"push 0x501"}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ([None, 1], TypeError, r"takes 3 arguments \(float\*, int, double\), 2 given"),
        ([1, 1, 1.0], TypeError, r"argument 0 \(float\*\): expected device memory"),
        ([None, 1.5, 1.0], TypeError, r"argument 1 \(int\): expected an integer"),
    ],
)
def test_bad_arguments_never_reach_the_driver(
    calls: Calls, arguments: list[object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        KERNEL.launch(1, 1, arguments)
    assert not [call for call in calls() if call.startswith("cuLaunch")]


@pytest.mark.parametrize("call", ["cuModuleLoadData", "cuModuleGetFunction", "cuFuncGetParamInfo", "cuLaunchKernel"])
def test_a_refusal_has_the_drivers_words_and_leaves_the_context(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    # Any status but 1, which ends the list of parameters.
    monkeypatch.setenv("FAKE_CUDA_FAIL", f"{call}:700")
    with pytest.raises(CudaDeviceError, match=rf"{call} failed: CUDA_ERROR_INVALID_VALUE \(700\): invalid argument"):
        KERNEL.launch(1, 1, [None, 1, 1.0])
    made = calls()
    assert made.count("pop") == sum(one.startswith("push") for one in made)


def test_without_a_gpu_the_error_says_so(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_NONE", "1")
    with pytest.raises(CudaDeviceError, match="the driver sees no device"):
        KERNEL.launch(1, 1, [None, 1, 1.0])
    monkeypatch.setattr(cuda_driver, "_found", {})
    monkeypatch.setattr(cuda_driver, "cuda_library_candidates", lambda: iter(()))
    with pytest.raises(CudaDeviceError, match=r"libcuda\.so\.1 was not found"):
        KERNEL.launch(1, 1, [None, 1, 1.0])


def test_without_nvrtc_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc_module, "nvrtc_candidates", lambda: iter(["libc.so.6"]))
    with pytest.raises(CudaCompilationError, match="pip install nvidia-cuda-nvrtc") as caught:
        compile_cuda("", "k", "sm_90")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.kernel_name, again.error_message) == ("k", caught.value.error_message)


@pytest.fixture
def nvrtc() -> None:
    if next(nvrtc_module.nvrtc_candidates(), None) is None:
        pytest.skip("NVRTC is not installed (pip install nvidia-cuda-nvrtc)")


def test_nvrtc_compiles_for_a_gpu_that_is_not_there(nvrtc: None) -> None:
    source = """
    template <class T> __global__ void k(T* a, int n) { a[n] = 1; }
    template __global__ void k<float>(float*, int);
    extern "C" __global__ void plain() {}
    """
    kernel = compile_cuda(source, "k", "sm_90")
    assert kernel.binary[:4] == b"\x7fELF"
    assert kernel.symbols == ("_Z1kIfEvPT_i", "plain")


def test_nvrtc_errors_have_its_words(nvrtc: None) -> None:
    with pytest.raises(CudaCompilationError, match=r'k\.cu\(1\): error: identifier "missing" is undefined'):
        compile_cuda("__global__ void k(int* a) { a[0] = missing; }", "k", "sm_90")
    with pytest.raises(CudaCompilationError, match="has no __global__ function"):
        compile_cuda(" ", "k", "sm_90")
    with pytest.raises(CudaCompilationError, match="invalid value for --gpu-architecture"):
        compile_cuda("", "k", "sm_1")
