"""Makes this process look, to torch and Triton, as if the GPU were here. Only ever called in a child process.

Nothing is launched and no memory is held on a device: tensors are fake, and what is asked of the device (properties,
random state, streams) is answered from the hardware table.
"""

from __future__ import annotations

import ctypes
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.hardware import GIB, GPU, MIB
from kernel_pytorch.toolchain.rocm_folder import HIP_VERSION

if TYPE_CHECKING:
    import torch
    from torch import Tensor

CUDA_SLOT, META_SLOT, SLOTS = 1, 14, 22  # c10::DeviceType
GUARD_TABLE = "_ZN3c104impl26device_guard_impl_registryE"
CUDA_VERSION = "12.8"
# What a multiprocessor of the vendor reports to torch, which the hardware table does not hold.
THREADS_PER_CU = 2048
REGISTERS_PER_CU = 65536


class Silent:
    """Stands for torch's device guards and contexts: enters, leaves, does nothing."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *args: object) -> None:
        return None


def device_properties(gpu: GPU) -> types.SimpleNamespace:
    """What torch.cuda.get_device_properties would say."""
    target = gpu.target
    amd = target.vendor == "amd"
    digits = target.name.removeprefix("gfx").removeprefix("sm_")
    major, minor = (int(digits[:-2]), int(digits[-2], 16)) if amd else (int(digits[:-1]), int(digits[-1]))
    return types.SimpleNamespace(
        name=f"AMD {gpu.name}" if amd else f"NVIDIA {gpu.name}",
        gcnArchName=f"{target.name}:sramecc+:xnack-" if amd and target.wave_size == 64 else target.name,
        major=major,
        minor=minor,
        total_memory=int(gpu.memory_gib * GIB),
        # A workgroup processor, two compute units, is what HIP counts on RDNA.
        multi_processor_count=gpu.compute_units // 2 if amd and target.wave_size == 32 else gpu.compute_units,
        warp_size=target.wave_size,
        regs_per_multiprocessor=REGISTERS_PER_CU,
        max_threads_per_multi_processor=THREADS_PER_CU,
        max_threads_per_block=target.max_threads_per_workgroup,
        shared_memory_per_block=target.max_lds_bytes_per_workgroup if amd else 48 << 10,
        shared_memory_per_block_optin=target.max_lds_bytes_per_workgroup,
        shared_memory_per_multiprocessor=target.lds_bytes_per_cu,
        L2_cache_size=int(gpu.l2_mib * MIB),
        clock_rate=int(gpu.boost_mhz * 1000),
        memory_clock_rate=1,
        memory_bus_width=8192,
        is_integrated=0,
        is_multi_gpu_board=0,
        pci_bus_id=0,
        pci_device_id=0,
        pci_domain_id=0,
        uuid="00000000-0000-0000-0000-000000000000",
    )


def stand_in(gpu: GPU) -> None:
    """Patch torch and Triton of this process for good: the GPU seems to be there."""
    import torch

    amd = gpu.target.vendor == "amd"
    torch.version.hip, torch.version.cuda = (HIP_VERSION, None) if amd else (None, CUDA_VERSION)
    _cuda_module(torch, gpu)
    _device_guard(torch)
    # Fake tensors must never try to start the device.
    import torch._subclasses.fake_tensor as fake

    fake.FakeTensorMode.avoid_device_init = property(lambda self: True)
    fake.init_gpu_context = lambda device: None
    torch._C._set_only_lift_cpu_tensors(True)
    _small_constants(torch)
    _convolution_layout(torch)
    _triton_driver(torch, gpu)


def triton_target(gpu: GPU) -> Any:
    """Triton's name for the target."""
    import triton.backends.compiler as compiler

    if gpu.target.vendor == "amd":
        return compiler.GPUTarget("hip", gpu.target.name, gpu.target.wave_size)
    return compiler.GPUTarget("cuda", int(gpu.target.name.removeprefix("sm_")), 32)


def _cuda_module(torch: ModuleType, gpu: GPU) -> None:
    properties = device_properties(gpu)
    random_state = torch.get_rng_state()
    answers: dict[str, Callable[..., object]] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "_lazy_init": lambda: None,
        "is_initialized": lambda: True,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "get_device_name": lambda device=None: properties.name,
        "is_bf16_supported": lambda *args, **kwargs: True,
        "synchronize": lambda *args, **kwargs: None,
        "set_device": lambda device: None,
        "current_stream": lambda device=None: types.SimpleNamespace(cuda_stream=0, device=torch.device("cuda", 0)),
        "get_rng_state": lambda *args, **kwargs: random_state,
        "set_rng_state": lambda *args, **kwargs: None,
        "mem_get_info": lambda device=None: (properties.total_memory, properties.total_memory),
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "empty_cache": lambda: None,
        "device": Silent,
        "_DeviceGuard": Silent,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
    }
    replaced = {id(getattr(torch.cuda, name, None)): answer for name, answer in answers.items()}
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    # Dynamo keeps some of these functions from the time it was imported, which the user's code may have done.
    import torch._dynamo.device_interface as interfaces

    interface = interfaces.CudaInterface

    for name, kept in list(vars(interface).items()):
        function = kept.__func__ if isinstance(kept, staticmethod) else kept
        if id(function) in replaced and function is not None:
            setattr(interface, name, staticmethod(replaced[id(function)]))
    interface.get_raw_stream = staticmethod(lambda device=0: 0)
    import torch.cuda.random as random

    random.get_rng_state, random.set_rng_state = answers["get_rng_state"], answers["set_rng_state"]
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    torch._C._cuda_getDevice = lambda: 0
    torch._C._cuda_setDevice = lambda device: None


def _device_guard(torch: ModuleType) -> None:
    """Slicing a fake "cuda" tensor asks for the device's guard. A CPU build has none, a CUDA build's wants a driver:
    the one of "meta", which does nothing, serves both."""
    assert torch.__file__ is not None
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    slots = (ctypes.c_void_p * SLOTS).in_dll(library, GUARD_TABLE)
    slots[CUDA_SLOT] = slots[META_SLOT]


_kept: list[object] = []  # a torch.library registration ends when its object is collected


def _small_constants(torch: ModuleType) -> None:
    """Inductor folds constants by computing them in a one-element tensor on the device: let it be a CPU tensor.

    Fake tensors do not come here, they are dispatched before.
    """
    library = torch.library.Library("aten", "IMPL")

    def empty(
        size: Sequence[int],
        dtype: object = None,
        layout: object = None,
        device: object = None,
        **rest: object,
    ) -> Tensor:
        return torch.empty(size, dtype=dtype, device="cpu")

    def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: object = None, **rest: object) -> Tensor:
        return torch.empty_strided(size, stride, dtype=dtype, device="cpu")

    library.impl("empty.memory_format", empty, "CUDA")
    library.impl("empty_strided", empty_strided, "CUDA")
    _kept.append(library)


def _convolution_layout(torch: ModuleType) -> None:
    """cuDNN, and MIOpen since ROCm 7, keep channels last where the input or the weight has it. A build of torch that
    has neither library would answer "contiguous", and every kernel after the convolution would be another one."""
    import torch._prims_common as common

    without_library = torch._C._conv_determine_backend_memory_format

    def layout(x: Tensor, weight: Tensor, backend: Any) -> Any:
        if x.device.type != "cuda" or x.dtype == torch.float64:
            return without_library(x, weight, backend)
        formats = {common.suggest_memory_format(one) for one in (x, weight)}
        last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.ndim)
        return last if last in formats else torch.contiguous_format

    torch._C._conv_determine_backend_memory_format = layout


class StandInDriver:
    """Triton's active driver: knows the target, and nothing that needs a device."""

    def __init__(self, torch: ModuleType, gpu: GPU) -> None:
        self._torch, self._target = torch, triton_target(gpu)
        properties = {
            "max_shared_mem": gpu.target.max_lds_bytes_per_workgroup,
            "multiprocessor_count": gpu.compute_units,
            "warpSize": gpu.target.wave_size,
            "max_num_regs": REGISTERS_PER_CU,
            "sm_clock_rate": int(gpu.boost_mhz * 1000),
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
        }
        self.utils = types.SimpleNamespace(get_device_properties=lambda device: properties)

    def get_current_target(self) -> Any:
        """The target kernels are compiled for."""
        return self._target

    def get_current_device(self) -> int:
        """The only device."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """As torch names it."""
        return self._torch.device("cuda", 0)

    def get_current_stream(self, device: int = 0) -> int:
        """No stream."""
        return 0

    def get_device_interface(self) -> Any:
        """torch.cuda, which is stood in for as well."""
        return self._torch.cuda

    def get_benchmarker(self) -> Any:
        """Nothing can be timed here."""
        raise RuntimeError("nothing can be timed: the GPU is not here")


def _triton_driver(torch: ModuleType, gpu: GPU) -> None:
    import triton.runtime as runtime

    runtime.driver.set_active(StandInDriver(torch, gpu))
    import torch._inductor.runtime.triton_helpers as helpers

    # Generated kernels call this on import; it would look for the vendor's driver library.
    helpers.set_driver_to_gpu = lambda: None
