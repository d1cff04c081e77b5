"""The names that a ROCm build of torch has in torch._C and a CPU build has not: what torch.cuda's Python code calls."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from kernel_pytorch.emulate.torch_device.comm import comm_names
from kernel_pytorch.emulate.torch_device.cuda_only import register_kernels
from kernel_pytorch.emulate.torch_device.missing_names import refused_names
from kernel_pytorch.emulate.torch_device.native import Native
from kernel_pytorch.emulate.torch_device.pools import pool_names
from kernel_pytorch.emulate.torch_device.properties import CudaDeviceProperties
from kernel_pytorch.emulate.torch_device.streams import event_base, stream_base

_CUDA = 1  # c10::DeviceType::CUDA
_RCCL = 2 << 32 | 22 << 16 | 3  # what ROCm 7's RCCL says its version is
_PINNED = 16  # where the C++ part counts pinned host memory, after the devices


def cuda_names(native: Native, described: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> function or class, for torch._C. `described` is what the emulated runtime knows of the GPU."""
    return {
        "_has_cuda": True,
        "_CudaDeviceProperties": CudaDeviceProperties,
        "_CudaStreamBase": stream_base(native),
        "_CudaEventBase": event_base(native),
        "_cudart": _cudart(native),
        "_nvtx": _nvtx(),
        **_devices(native, described),
        **_streams(native),
        **_memory(native),
        **_settings(native),
        **comm_names(),
        **pool_names(),
        **refused_names(),
    }


def _devices(native: Native, described: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    def properties(device: int) -> CudaDeviceProperties:
        return CudaDeviceProperties(described["properties"], device, native.free_and_total()[1])

    kernels: list[Any] = []

    def init() -> None:
        import torch

        if not kernels:
            kernels.append(register_kernels())

        native.mark_initialized()
        cuda: Any = torch.cuda
        cuda.default_generators = tuple(native.default_generator(index) for index in range(native.device_count()))
        cuda._get_device_properties = properties

    def exchange(device: int) -> int:
        before: int = native.current_device()
        if device >= 0 and device != before:
            native.check(native.set_device(device))
        return -1 if device < 0 else before

    def set_device(device: int) -> None:
        native.check(native.set_device(device))

    def synchronize() -> None:
        native.check(native.synchronize())

    return {
        "_cuda_init": init,
        "_cuda_getDeviceCount": native.device_count,
        "_cuda_getDevice": native.current_device,
        "_cuda_setDevice": set_device,
        "_cuda_exchangeDevice": exchange,
        "_cuda_maybeExchangeDevice": lambda device: exchange(device),  # a function of its own: Dynamo tells them apart
        "_cuda_isInBadFork": lambda: bool(native.in_bad_fork()),
        "_cuda_hasPrimaryContext": lambda device: True,
        "_cuda_canDeviceAccessPeer": lambda device, peer: device != peer,
        "_cuda_getArchFlags": lambda: described["target"],
        "_cuda_synchronize": synchronize,
        "_cuda_sleep": lambda cycles: time.sleep(cycles / (described["properties"]["clockRate"] * 1000)),
    }


def _streams(native: Native) -> dict[str, Callable[..., Any]]:
    def current(device: int) -> tuple[int, int, int]:
        return native.current_stream(device), device, _CUDA

    def set_stream(stream_id: int, device_index: int, device_type: int) -> None:
        if device_index != native.current_device():
            native.check(native.set_device(device_index))
        native.set_stream(stream_id, device_index)

    return {
        "_cuda_getCurrentStream": current,
        "_cuda_getDefaultStream": lambda device: (0, device, _CUDA),
        "_cuda_getCurrentRawStream": native.current_stream,
        "_cuda_getStreamFromExternal": lambda pointer, device: (pointer, device, _CUDA),
        "_cuda_setStream": set_stream,
    }


def _memory(native: Native) -> dict[str, Callable[..., Any]]:
    def raw_allocate(size: int, stream: int) -> int:
        import torch

        found = native.raw_allocate(size)
        if not found:
            raise torch.OutOfMemoryError(f"HIP out of memory. Tried to allocate {size} bytes.")
        return int(found)

    def set_fraction(fraction: float, device: int) -> None:
        native.set_memory_fraction(device, fraction)

    return {
        "_cuda_memoryStats": lambda device: memory_stats(native.figures(device)),
        "_cuda_resetPeakMemoryStats": native.reset_peaks,
        "_cuda_resetAccumulatedMemoryStats": native.reset_totals,
        "_cuda_emptyCache": native.empty_cache,
        "_cuda_setMemoryFraction": set_fraction,
        "_cuda_getMemoryFraction": native.memory_fraction,
        "_cuda_memorySnapshot": lambda *_: {"segments": [], "device_traces": [], "allocator_settings": {}},
        "_cuda_record_memory_history": lambda *_, **__: None,
        "_cuda_record_memory_history_legacy": lambda *_, **__: None,
        "_cuda_isHistoryEnabled": lambda: False,
        "_cuda_allocationTraceback": lambda pointer: None,
        "_cuda_setMemoryMetadata": lambda text: None,
        "_cuda_getMemoryMetadata": lambda: "",
        "_cuda_cudaCachingAllocator_enable": lambda on: None,
        "_cuda_attach_out_of_memory_observer": lambda observer: None,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_cudaCachingAllocator_raw_alloc": raw_allocate,
        "_cuda_cudaCachingAllocator_raw_delete": native.raw_free,
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
        "_cuda_ipc_collect": lambda: None,
        "_host_emptyCache": lambda: None,
        "_cuda_hostMemoryStats": lambda: memory_stats(native.figures(_PINNED)),
        "_cuda_resetPeakHostMemoryStats": lambda: native.reset_peaks(_PINNED),
        "_cuda_resetAccumulatedHostMemoryStats": lambda: native.reset_totals(_PINNED),
    }


def memory_stats(figures: Mapping[str, int]) -> dict[str, Any]:
    """The nested dictionary that torch.cuda.memory_stats flattens. All blocks are of one kind: "all" is all of them."""

    def of(current: str, peak: str, taken: str, freed: str) -> dict[str, dict[str, int]]:
        every = {
            "current": figures[current],
            "peak": figures[peak],
            "allocated": figures[taken],
            "freed": figures[freed],
        }
        nothing = dict.fromkeys(every, 0)
        return {"all": every, "small_pool": dict(nothing), "large_pool": every}

    counts = of("count", "peak_count", "total_count", "freed_count")
    allocated = of("allocated", "peak_allocated", "total_allocated", "total_freed")
    segments = of("segments", "peak_segments", "device_allocations", "device_frees")
    none = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
    split = {"all": dict(none), "small_pool": dict(none), "large_pool": dict(none)}
    return {
        "num_alloc_retries": figures["retries"],
        "num_ooms": figures["out_of_memory"],
        "num_sync_all_streams": 0,
        "num_device_alloc": figures["device_allocations"],
        "num_device_free": figures["device_frees"],
        "max_split_size": -1,
        "allocation": counts,
        "segment": segments,
        "active": counts,
        "inactive_split": split,
        "allocated_bytes": allocated,
        "reserved_bytes": of("reserved", "peak_reserved", "reserved", "freed_count"),
        "active_bytes": allocated,
        "inactive_split_bytes": split,
        "requested_bytes": of("requested", "peak_requested", "total_allocated", "total_freed"),
        "oversize_allocations": dict(none),
        "oversize_segments": dict(none),
    }


def _settings(native: Native) -> dict[str, Callable[..., Any]]:
    """Settings of the GPU's libraries. There are none here: a setting changes nothing but what it reads back."""

    def setting(value: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
        kept = [value]
        return (lambda: kept[0]), (lambda new: kept.__setitem__(0, new))

    filename = ["tunableop_results0.csv"]
    freeing = threading.Lock()
    names: dict[str, Callable[..., Any]] = {}
    for get, put, value in (
        ("_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit", 10),
        ("_cuda_get_conv_benchmark_empty_cache", "_cudnn_set_conv_benchmark_empty_cache", True),
        ("_cuda_getCublasWorkspaceSize", "_cuda_setCublasWorkspaceSize", 0),
        ("_cuda_getCublasLtWorkspaceSize", "_cuda_setCublasLtWorkspaceSize", 0),
        ("_cuda_tunableop_is_enabled", "_cuda_tunableop_enable", False),
        ("_cuda_tunableop_tuning_is_enabled", "_cuda_tunableop_tuning_enable", False),
        ("_cuda_record_untuned_is_enabled", "_cuda_record_untuned_enable", False),
        ("_cuda_tunableop_get_max_tuning_duration", "_cuda_tunableop_set_max_tuning_duration", 30),
        ("_cuda_tunableop_get_max_tuning_iterations", "_cuda_tunableop_set_max_tuning_iterations", 100),
        ("_cuda_tunableop_get_rotating_buffer_size", "_cuda_tunableop_set_rotating_buffer_size", 0),
    ):
        names[get], names[put] = setting(value)
    return {
        **names,
        "_cuda_get_sync_debug_mode": native.sync_debug_mode,
        "_cuda_set_sync_debug_mode": native.set_sync_debug_mode,
        "_cuda_tunableop_get_filename": lambda: filename[0],
        "_cuda_tunableop_set_filename": lambda name, insert_device_ordinal=False: filename.__setitem__(0, name),
        "_cuda_tunableop_get_results": lambda: (),
        "_cuda_tunableop_get_validators": lambda: (),
        "_cuda_tunableop_read_file": lambda name: False,
        # Up to torch 2.9.
        "_cuda_tunableop_write_file": lambda name=None: False,
        "_cuda_tunableop_write_file_on_exit": lambda enabled: None,
        "_cuda_cudaCachingAllocator_set_allocator_settings": lambda settings: None,
        "_cuda_lock_mutex": freeing.acquire,
        "_cuda_unlock_mutex": freeing.release,
        "_cuda_tunableop_set_numerical_check_tolerances": lambda enabled, atol=1e-5, rtol=1e-5: None,
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_cuda_getCompiledVersion": lambda: 0,
        "_cuda_getHipblasltVersion": lambda: 0,
        "_rocm_is_backward_pass": lambda: False,
        "_nccl_version": lambda: _RCCL,
        "_nccl_version_suffix": lambda: b"",
    }


class _HipError(enum.IntEnum):
    success = 0


def _cudart(native: Native) -> ModuleType:
    module = ModuleType("torch._C._cudart")

    def memory_info(device: int) -> tuple[int, int]:
        before = native.current_device()
        native.check(native.set_device(device))
        try:
            return native.free_and_total()
        finally:
            native.check(native.set_device(before))

    described: dict[str, Any] = {
        "cudaError": _HipError,
        "cudaGetErrorString": lambda error: f"HIP error {int(error)}",
        "cudaMemGetInfo": memory_info,
        "cudaProfilerStart": lambda: _HipError.success,
        "cudaProfilerStop": lambda: _HipError.success,
        "cudaHostRegister": lambda pointer, size, flags: native.runtime.hipHostRegister(pointer, size, flags),
        "cudaHostUnregister": lambda pointer: native.runtime.hipHostUnregister(pointer),
    }
    for name, value in described.items():
        setattr(module, name, value)
    return module


def _nvtx() -> ModuleType:
    """Ranges for a profiler of the GPU: there is none, so that they only count their depth."""
    module = ModuleType("torch._C._nvtx")
    depth = [0]

    def push(message: str) -> int:
        depth[0] += 1
        return depth[0] - 1

    def pop() -> int:
        depth[0] -= 1
        return depth[0]

    functions: dict[str, Callable[..., Any]] = {
        "rangePushA": push,
        "rangePop": pop,
        "rangeStartA": lambda message: 0,
        "rangeEnd": lambda number: None,
        "markA": lambda message: None,
        "deviceRangeStart": lambda message, stream: 0,
        "deviceRangeEnd": lambda number, stream: None,
    }
    for name, function in functions.items():
        setattr(module, name, function)
    return module
