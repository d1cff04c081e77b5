"""The few calls of NVIDIA's driver (libcuda) that loading and launching a module takes.

Written to the same shape as the HIP driver: the packing and launching of a kernel is one path, and on NVIDIA
hardware it can be watched at work.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kernel_pytorch.backends.shared_library import library_candidates, open_library
from kernel_pytorch.toolchain.kernel_arguments import PackedArguments
from kernel_pytorch.toolchain.kernel_parameters import UNKNOWN, VALUE, Parameter, scalar

_INVALID_VALUE = 1
_MAX_THREADS_PER_BLOCK = 0
_SHARED_SIZE_BYTES = 1
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76
_DEFAULT_SHARED_LIMIT = 48 * 1024  # above it, the driver wants an explicit opt-in per kernel

_POINTER = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[type, ...]] = {
    "cuInit": (ctypes.c_uint,),
    "cuDeviceGetCount": (_POINTER,),
    "cuDeviceGet": (_POINTER, ctypes.c_int),
    "cuDeviceGetAttribute": (_POINTER, ctypes.c_int, ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (_POINTER, ctypes.c_int),
    "cuCtxPushCurrent_v2": (_POINTER,),
    "cuCtxPopCurrent_v2": (_POINTER,),
    "cuModuleLoadData": (_POINTER, _POINTER),
    "cuModuleGetFunction": (_POINTER, _POINTER, ctypes.c_char_p),
    "cuFuncGetAttribute": (_POINTER, ctypes.c_int, _POINTER),
    "cuFuncSetAttribute": (_POINTER, ctypes.c_int, ctypes.c_int),
    "cuLaunchKernel": (_POINTER, *([ctypes.c_uint] * 7), _POINTER, _POINTER, _POINTER),
}


class CudaDeviceError(RuntimeError):
    """No NVIDIA GPU, or its driver answered with an error."""


@dataclass(frozen=True)
class CudaFunction:
    """A kernel on a device, with what the driver says about it."""

    handle: ctypes.c_void_p
    parameters: tuple[Parameter, ...]
    max_threads: int
    static_shared_bytes: int


@dataclass
class CudaDriver:
    """An open libcuda with a GPU. Modules stay loaded: a launch is asynchronous."""

    library: ctypes.CDLL
    _contexts: dict[int, ctypes.c_void_p] = field(default_factory=dict)
    _modules: dict[tuple[int, str], ctypes.c_void_p] = field(default_factory=dict)
    _kernels: dict[tuple[int, str, str], CudaFunction] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def device_count(self) -> int:
        """How many NVIDIA GPUs this process sees."""
        count = ctypes.c_int(0)
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def architecture(self, device: int) -> str:
        """The `sm_` name of a device."""
        major, minor = (
            self._device_attribute(device, attribute)
            for attribute in (_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR)
        )
        return f"sm_{major}{minor}"

    def kernel(
        self, image: bytes, digest: str, symbol: str, device: int, types: tuple[str, ...] | None
    ) -> CudaFunction:
        """Kernel `symbol` of the module `image`, loaded on `device`; its parameter `types` if its symbol tells.

        `digest` identifies the image, so that a second launch need not look at its bytes.
        """
        key = (device, digest, symbol)
        with self._lock:
            if key not in self._kernels:
                handle = ctypes.c_void_p()
                with self._on(device):
                    module = self._module(image, digest, device)
                    self.call("cuModuleGetFunction", ctypes.byref(handle), module, symbol.encode())
                    self._kernels[key] = CudaFunction(
                        handle,
                        self._parameters(handle, types),
                        self._function_attribute(handle, _MAX_THREADS_PER_BLOCK),
                        self._function_attribute(handle, _SHARED_SIZE_BYTES),
                    )
            return self._kernels[key]

    def launch(
        self,
        kernel: CudaFunction,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: PackedArguments,
        *,
        shared_bytes: int,
        stream: int,
        device: int,
    ) -> None:
        """Queue the kernel; it has not run when this returns."""
        with self._on(device):
            if shared_bytes + kernel.static_shared_bytes > _DEFAULT_SHARED_LIMIT:
                self.call("cuFuncSetAttribute", kernel.handle, _MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
            self.call("cuLaunchKernel", kernel.handle, *grid, *block, shared_bytes, stream, arguments.pointers, None)

    def call(self, name: str, *arguments: object) -> None:
        """Call one function of the driver. Raises CudaDeviceError with the driver's own words."""
        self._check(name, getattr(self.library, name)(*arguments))

    def _parameters(self, function: ctypes.c_void_p, types: tuple[str, ...] | None) -> tuple[Parameter, ...]:
        """The parameters of a loaded kernel as the driver lays them out."""
        try:
            get_info = self.library.cuFuncGetParamInfo
        except AttributeError:
            raise CudaDeviceError(
                "this NVIDIA driver cannot describe kernel parameters (cuFuncGetParamInfo, driver 550 or newer)"
            ) from None
        get_info.argtypes = (_POINTER, ctypes.c_size_t, _POINTER, _POINTER)
        get_info.restype = ctypes.c_int
        found: list[Parameter] = []
        while True:
            offset, size = ctypes.c_size_t(), ctypes.c_size_t()
            status = get_info(function, len(found), ctypes.byref(offset), ctypes.byref(size))
            if status == _INVALID_VALUE:
                break  # the documented answer past the last parameter
            self._check("cuFuncGetParamInfo", status)
            found.append(Parameter(len(found), offset.value, size.value, UNKNOWN))
        if types is None or len(types) != len(found):
            return tuple(found)
        return tuple(
            Parameter(p.index, p.offset, p.size, _kind(type_name), type=type_name)
            for p, type_name in zip(found, types, strict=True)
        )

    def _check(self, name: str, status: int) -> None:
        if status != 0:
            words = [_string(self.library, getter, status) for getter in ("cuGetErrorName", "cuGetErrorString")]
            raise CudaDeviceError(f"{name} failed: {words[0]} ({status}): {words[1]}")

    def _device_attribute(self, device: int, attribute: int) -> int:
        value, handle = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, handle)
        return value.value

    def _function_attribute(self, function: ctypes.c_void_p, attribute: int) -> int:
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), attribute, function)
        return value.value

    @contextmanager
    def _on(self, device: int) -> Iterator[None]:
        self.call("cuCtxPushCurrent_v2", self._context(device))
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _context(self, device: int) -> ctypes.c_void_p:
        # The primary context is the one torch and the CUDA runtime use: its pointers and streams are valid here.
        with self._lock:
            if device not in self._contexts:
                handle, context = ctypes.c_int(), ctypes.c_void_p()
                self.call("cuDeviceGet", ctypes.byref(handle), device)
                self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
                self._contexts[device] = context
            return self._contexts[device]

    def _module(self, image: bytes, digest: str, device: int) -> ctypes.c_void_p:
        key = (device, digest)
        if key not in self._modules:
            module = ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(module), image)
            self._modules[key] = module
        return self._modules[key]


def _kind(type_name: str) -> str:
    if type_name.rstrip().endswith(("*", "* const")):
        return "pointer"
    return VALUE if scalar(type_name) is not None else UNKNOWN


def _string(library: ctypes.CDLL, getter: str, status: int) -> str:
    text = ctypes.c_char_p()
    getattr(library, getter)(ctypes.c_int(status), ctypes.byref(text))
    return text.value.decode(errors="replace") if text.value else "unknown error"


def cuda_library_candidates() -> Iterator[str]:
    """Where libcuda may lie, best first."""
    yield "libcuda.so.1"
    yield from library_candidates("cuda", roots=[])


_found: dict[int, CudaDriver] = {}
"""By process: handles of a parent are worthless in its fork."""
_found_lock = threading.Lock()


def cuda_driver() -> CudaDriver:
    """The NVIDIA driver with at least one GPU, looked for once. Raises CudaDeviceError where there is none."""
    process = os.getpid()
    if process not in _found:
        with _found_lock:
            if process not in _found:
                _found[process] = _search()
    return _found[process]


def _search() -> CudaDriver:
    for path in cuda_library_candidates():
        try:
            driver = open_driver(path)
        except OSError:
            continue
        if driver.device_count() == 0:
            raise CudaDeviceError("no NVIDIA GPU: the driver sees no device, so the kernel cannot be launched")
        return driver
    raise CudaDeviceError("no NVIDIA GPU: libcuda.so.1 was not found, so the kernel cannot be launched")


def open_driver(path: str) -> CudaDriver:
    """Open and initialise a libcuda. Raises OSError if it is not one."""
    library = open_library(path, _SIGNATURES)
    driver = CudaDriver(library)
    driver.call("cuInit", 0)
    return driver
