"""CompiledKernel.launch down to the calls of the HIP runtime, against a stand-in for its ABI (fake_hip.c).

The stand-in only writes down what it is given. That a kernel runs is shown on hardware, in tests/hw.
"""

from __future__ import annotations

import ctypes
import pickle
import struct
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from kernel_pytorch.backends.amd import CompiledKernel, hip_driver
from kernel_pytorch.backends.amd.amd_exceptions import AMDDeviceError

from .conftest import ADD, FakeHip

Compile = Callable[..., CompiledKernel]

MANY = """\
struct Shape { int rows; double scale; };
__global__ void mixed(char a, double b, short c, Shape d, float* e, bool f, unsigned long long g, _Float16* h) {
  if (f) e[a + c + d.rows] = b * d.scale + g;
}
extern "C" __global__ __launch_bounds__(128) void plain(float* out, float value, int n) {
  extern __shared__ float dynamic[];
  __shared__ float fixed[64];
  fixed[threadIdx.x % 64] = value; dynamic[threadIdx.x] = value; __syncthreads();
  out[threadIdx.x] = fixed[n] + dynamic[n];
}
namespace deep { template <typename T> __global__ void fill(T* out, T value) { out[threadIdx.x] = value; } }
template __global__ void deep::fill<float>(float*, float);
template __global__ void deep::fill<int>(int*, int);
"""


def pointer(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)


class OnGPU(torch.Tensor):
    """A tensor that says it lies on GPU 1."""

    is_cuda = True  # type: ignore[assignment]
    device = torch.device("cuda", 1)  # type: ignore[assignment]
    recorded: tuple[object, ...] = ()

    def record_stream(self, stream: object) -> None:
        self.recorded = (*self.recorded, stream)


@pytest.fixture
def torch_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's current stream is number 7, which a torch without a GPU could not say."""
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(torch.cuda, "default_stream", lambda device: f"default of {device}")
    monkeypatch.setattr(torch.cuda, "ExternalStream", lambda handle, device: f"{handle} of {device}")


def test_the_calls_in_order_with_the_packed_bytes(fake_hip: FakeHip, compile_once: Compile) -> None:
    fake_hip.setenv("FAKE_HIP_SIZES", "8,8,8,4")
    kernel = compile_once(ADD, "add")
    kernel.launch((3, 2), 64, [pointer(0x10), pointer(0x20), pointer(0x30), 7], stream=0x99, shared_bytes=16)
    packed = " ".join(struct.pack("<Q", value).hex() for value in (0x10, 0x20, 0x30)) + " 07000000"
    assert fake_hip.calls() == [
        "hipInit",
        "hipModuleLoadData ELF",
        "hipModuleGetFunction 0x1000 _Z3addPKfS0_Pfi",
        "hipModuleLaunchKernel 0x2000 grid 3,2,1 block 64,1,1 shared 16 stream 0x99 extra 0 device 0 " + packed,
    ]


def test_a_module_is_loaded_once_and_again_on_another_gpu(fake_hip: FakeHip, compile_once: Compile) -> None:
    fake_hip.setenv("FAKE_HIP_DEVICES", "2")
    kernel = compile_once(ADD, "add")
    arguments = [None, None, None, 1]
    for device in (0, 0, 1, 1):
        kernel.launch(1, 1, arguments, device=device)
    calls = fake_hip.calls()
    assert sum(call.startswith("hipModuleLoadData") for call in calls) == 2
    assert [call.split(" extra 0 ")[1] for call in fake_hip.launches()] == ["device 0"] * 2 + ["device 1"] * 2
    assert calls[-1] == "hipSetDevice 0", "the caller's current device is restored"


def test_every_kind_of_parameter_lands_where_the_code_object_wants_it(fake_hip: FakeHip, compile_once: Compile) -> None:
    class Shape(ctypes.Structure):
        _fields_ = (("rows", ctypes.c_int), ("scale", ctypes.c_double))

    fake_hip.setenv("FAKE_HIP_SIZES", "1,8,2,16,8,1,8,8")
    kernel = compile_once(MANY, "mixed")
    values = [-2, 0.5, -3, Shape(4, 2.5), pointer(0x40), True, 2**63, pointer(0x50)]
    kernel.launch(1, 1, values)
    expected = [
        struct.pack("<b", -2),
        struct.pack("<d", 0.5),
        struct.pack("<h", -3),
        struct.pack("<i4xd", 4, 2.5),
        struct.pack("<Q", 0x40),
        b"\x01",
        struct.pack("<Q", 2**63),
        struct.pack("<Q", 0x50),
    ]
    assert fake_hip.launches()[0].split("device 0 ")[1].split() == [part.hex() for part in expected]


def test_the_kernel_is_chosen_by_name_and_types_follow(fake_hip: FakeHip, compile_once: Compile) -> None:
    fake_hip.setenv("FAKE_HIP_SIZES", "8,4")
    kernel = compile_once(MANY, "several")
    kernel.launch(1, 1, [pointer(1), 3], kernel="deep::fill<float>")
    kernel.launch(1, 1, [pointer(1), 3], kernel="deep::fill<int>")
    assert fake_hip.launches()[0].endswith(struct.pack("<f", 3.0).hex())
    assert fake_hip.launches()[1].endswith(struct.pack("<i", 3).hex())
    with pytest.raises(ValueError, match="holds 4 kernels; say which"):
        kernel.launch(1, 1, [])
    with pytest.raises(ValueError, match="names more than one kernel"):
        kernel.launch(1, 1, [], kernel="fill")


@pytest.mark.parametrize(
    ("stream", "used", "recorded"),
    [(None, 7, ()), (7, 7, ()), (9, 9, ("9 of 1",)), (0, 0, ("default of 1",))],
)
def test_torch_learns_which_stream_uses_its_memory(
    fake_hip: FakeHip,
    compile_once: Compile,
    torch_streams: None,
    stream: int | None,
    used: int,
    recorded: tuple[str, ...],
) -> None:
    fake_hip.setenv("FAKE_HIP_DEVICES", "2")
    tensor = torch.zeros(8).as_subclass(OnGPU)
    compile_once(ADD, "add").launch(1, 8, [tensor, None, None, 8], stream=stream)
    handle = fake_hip.launches()[0].split(" stream ")[1].split()[0]
    assert (0 if handle == "(nil)" else int(handle, 16)) == used
    assert tensor.recorded == recorded


def test_a_tensor_brings_its_device_and_its_address(
    fake_hip: FakeHip, compile_once: Compile, torch_streams: None
) -> None:
    fake_hip.setenv("FAKE_HIP_DEVICES", "2")
    fake_hip.setenv("FAKE_HIP_SIZES", "8,8,8,4")
    tensor = torch.zeros(8).as_subclass(OnGPU)
    compile_once(ADD, "add").launch(1, 8, [tensor, tensor, tensor, 8], stream=0)
    address = struct.pack("<Q", tensor.data_ptr()).hex()
    assert fake_hip.launches()[0].endswith(f"device 1 {address} {address} {address} 08000000")
    with pytest.raises(ValueError, match="the tensors lie on GPU 1, the launch asks for GPU 0"):
        compile_once(ADD, "add").launch(1, 8, [tensor, tensor, tensor, 8], stream=0, device=0)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ([1], TypeError, "takes 4 arguments (float const*, float const*, float*, int), 1 given"),
        ([torch.zeros(1), None, None, 1], ValueError, "argument 0 (float const*): the tensor lies in host memory"),
        ([None, None, None, 1.5], TypeError, "argument 3 (int): expected an integer"),
        ([None, None, 3, 1], TypeError, "argument 2 (float*): expected device memory, got int"),
        ([None, None, None, 2**40], OverflowError, "argument 3 (int): 1099511627776 is outside"),
    ],
)
def test_a_bad_argument_never_reaches_the_runtime(
    fake_hip: FakeHip, compile_once: Compile, arguments: list[object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        compile_once(ADD, "add").launch(1, 1, arguments)
    assert words in str(caught.value)
    assert fake_hip.launches() == []


def test_limits_of_the_code_object_are_kept(fake_hip: FakeHip, compile_once: Compile) -> None:
    kernel = compile_once(MANY, "several")
    arguments = [None, 1.0, 1]
    with pytest.raises(ValueError, match="has 256 threads, it was compiled for at most 128"):
        kernel.launch(1, 256, arguments, kernel="plain")
    with pytest.raises(ValueError, match="256 bytes of static and 65536 of dynamic LDS are more than the 65536 bytes"):
        kernel.launch(1, 128, arguments, kernel="plain", shared_bytes=65536)
    kernel.launch(1, 128, arguments, kernel="plain", shared_bytes=65536 - 256)
    assert len(fake_hip.launches()) == 1


def test_a_code_object_for_another_gpu_is_explained(fake_hip: FakeHip, compile_once: Compile) -> None:
    fake_hip.setenv("FAKE_HIP_FAIL", "hipModuleLoadData:209")
    with pytest.raises(AMDDeviceError, match="built for another GPU than device 0") as caught:
        compile_once(ADD, "add").launch(1, 1, [None, None, None, 1])
    assert "hipErrorNoBinaryForGpu (209): no kernel image is available" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).details == {"function": "hipModuleLoadData", "status": 209}


@pytest.mark.parametrize("call", ["hipModuleLoadData", "hipModuleGetFunction", "hipModuleLaunchKernel", "hipGetDevice"])
def test_a_refusal_of_the_runtime_is_an_error_with_its_words(
    fake_hip: FakeHip, compile_once: Compile, call: str
) -> None:
    fake_hip.setenv("FAKE_HIP_FAIL", f"{call}:1")
    kernel = compile_once(ADD, "add")
    with pytest.raises(AMDDeviceError, match=rf"{call} failed: hipErrorInvalidValue \(1\): invalid argument"):
        kernel.launch(1, 1, [None, None, None, 1])
    fake_hip.setenv("FAKE_HIP_FAIL", "")
    kernel.launch(1, 1, [None, None, None, 1])
    assert fake_hip.launches()[-1].startswith("hipModuleLaunchKernel 0x2000"), "a failure is not remembered"


def test_a_runtime_without_a_gpu_is_named(fake_hip: FakeHip, compile_once: Compile) -> None:
    fake_hip.setenv("FAKE_HIP_DEVICES", "0")
    with pytest.raises(AMDDeviceError, match=r"no AMD GPU: the HIP runtime .* sees no device"):
        compile_once(ADD, "add").launch(1, 1, [None, None, None, 1])


def test_without_a_runtime_the_error_says_what_remains(compile_once: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hip_driver, "_found", {})
    monkeypatch.setattr(hip_driver, "hip_library_candidates", lambda: iter(()))
    with pytest.raises(AMDDeviceError, match=r"libamdhip64\.so was not found") as caught:
        compile_once(ADD, "add").launch(1, 1, [None, None, None, 1])
    assert "separate, explicit step (kpt emulate)" in str(caught.value)


def test_a_library_that_is_no_hip_runtime_is_skipped(compile_once: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hip_driver, "_found", {})
    monkeypatch.setattr(hip_driver, "hip_library_candidates", lambda: iter(["libc.so.6", "/nowhere/libamdhip64.so"]))
    with pytest.raises(AMDDeviceError, match=r"lacks hipInit; .*cannot open shared object"):
        compile_once(ADD, "add").launch(1, 1, [None, None, None, 1])
