"""The few calls of AMD's HIP runtime (libamdhip64) that loading and launching a code object takes."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernel_pytorch.backends.shared_library import library_candidates, open_library
from kernel_pytorch.core.errors import AMDDeviceError
from kernel_pytorch.toolchain.kernel_arguments import PackedArguments

_NO_GPU_HINT = (
    "The code object is real and can be copied to a machine with an AMD GPU; running its machine code on the CPU "
    "is a separate, explicit step (kpt emulate)"
)
_NO_BINARY_FOR_GPU = 209  # hipErrorNoBinaryForGpu

_SIGNATURES = {
    "hipInit": (ctypes.c_uint,),
    "hipGetDeviceCount": (ctypes.c_void_p,),
    "hipGetDevice": (ctypes.c_void_p,),
    "hipSetDevice": (ctypes.c_int,),
    "hipModuleLoadData": (ctypes.c_void_p, ctypes.c_void_p),
    "hipModuleGetFunction": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p),
    "hipModuleLaunchKernel": (
        ctypes.c_void_p,
        *([ctypes.c_uint] * 7),
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ),
}
_COOPERATIVE = (ctypes.c_void_p, *([ctypes.c_uint] * 7), ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class HipRuntime:
    """An open libamdhip64. Modules are loaded once per device and stay loaded: a launch is asynchronous, and
    unloading code that still runs is undefined."""

    path: str
    library: ctypes.CDLL
    _modules: dict[tuple[int, str], ctypes.c_void_p] = field(default_factory=dict)
    _functions: dict[tuple[int, str, str], ctypes.c_void_p] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def device_count(self) -> int:
        """How many AMD GPUs this process sees."""
        count = ctypes.c_int(0)
        status = self.library.hipGetDeviceCount(ctypes.byref(count))
        return count.value if status == 0 else 0

    def current_device(self) -> int:
        """The device new work of this thread goes to."""
        device = ctypes.c_int(0)
        self.call("hipGetDevice", ctypes.byref(device))
        return device.value

    def function(self, image: bytes, digest: str, symbol: str, device: int) -> ctypes.c_void_p:
        """The handle of kernel `symbol` in the code object `image`, loaded on `device`.

        `digest` identifies the image, so that a second launch need not look at its bytes.
        """
        key = (device, digest, symbol)
        with self._lock:
            if key not in self._functions:
                function = ctypes.c_void_p()
                with self._on(device):
                    module = self._module(image, digest, device)
                    self.call("hipModuleGetFunction", ctypes.byref(function), module, symbol.encode())
                self._functions[key] = function
            return self._functions[key]

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: PackedArguments,
        *,
        shared_bytes: int,
        stream: int,
        device: int,
        cooperative: bool = False,
    ) -> None:
        """Queue the kernel; it has not run when this returns. A cooperative one runs all its blocks at once."""
        with self._on(device):
            if cooperative:
                self._cooperatively(function, *grid, *block, shared_bytes, stream, arguments.pointers)
                return
            self.call("hipModuleLaunchKernel", function, *grid, *block, shared_bytes, stream, arguments.pointers, None)

    def call(self, name: str, *arguments: object) -> None:
        """Call one function of the runtime. Raises AMDDeviceError with the runtime's own words."""
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise AMDDeviceError(f"{name} failed: {self._error_text(status)}", {"function": name, "status": status})

    def _cooperatively(self, *arguments: object) -> None:
        name = "hipModuleLaunchCooperativeKernel"
        function = getattr(self.library, name, None)
        if function is None:
            raise AMDDeviceError(f"this HIP runtime ({self.path}) has no {name}", {"function": name})
        function.argtypes, function.restype = _COOPERATIVE, ctypes.c_int
        self.call(name, *arguments)

    @contextmanager
    def _on(self, device: int) -> Iterator[None]:
        previous = self.current_device()
        if previous == device:
            yield
            return
        self.call("hipSetDevice", device)
        try:
            yield
        finally:
            self.call("hipSetDevice", previous)

    def _module(self, image: bytes, digest: str, device: int) -> ctypes.c_void_p:
        key = (device, digest)
        if key not in self._modules:
            module = ctypes.c_void_p()
            try:
                self.call("hipModuleLoadData", ctypes.byref(module), image)
            except AMDDeviceError as error:
                if error.details.get("status") == _NO_BINARY_FOR_GPU:
                    raise AMDDeviceError(
                        f"{error.message}. The code object was built for another GPU than device {device}: "
                        "compile it with that device's gfx target",
                        error.details,
                    ) from None
                raise
            self._modules[key] = module
        return self._modules[key]

    def _error_text(self, status: int) -> str:
        return f"{_string(self.library, 'hipGetErrorName', status)} ({status}): " + _string(
            self.library, "hipGetErrorString", status
        )


def _string(library: ctypes.CDLL, name: str, status: int) -> str:
    function = getattr(library, name)
    function.restype = ctypes.c_char_p
    text = function(ctypes.c_int(status))
    return text.decode(errors="replace") if text else "unknown error"


def hip_library_candidates() -> Iterator[str]:
    """Where libamdhip64 may lie, best first."""
    named = [os.environ.get(name, "") for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")]
    roots = [root for root in (*named, "/opt/rocm") if root]
    return library_candidates(
        "amdhip64", roots=roots, package_folders=("torch/lib", "_rocm_sdk_core/lib", "_rocm_sdk_*/lib")
    )


_found: dict[int, HipRuntime] = {}
"""By process: handles of a parent are worthless in its fork."""
_found_lock = threading.Lock()


def hip_runtime() -> HipRuntime:
    """The HIP runtime with at least one GPU, looked for once. Raises AMDDeviceError where there is none."""
    process = os.getpid()
    if process not in _found:
        with _found_lock:
            if process not in _found:
                _found[process] = _search()
    return _found[process]


def _search() -> HipRuntime:
    problems: list[str] = []
    for path in hip_library_candidates():
        try:
            runtime = open_runtime(path)
        except OSError as error:
            problems.append(f"{Path(path).name}: {error}")
            continue
        if runtime.device_count() == 0:
            raise AMDDeviceError(
                f"no AMD GPU: the HIP runtime ({path}) sees no device, so the kernel cannot be launched. "
                + _NO_GPU_HINT
            )
        return runtime
    tried = f" ({'; '.join(problems)})" if problems else ""
    raise AMDDeviceError(
        f"no AMD GPU: libamdhip64.so was not found{tried}, so the kernel cannot be launched. {_NO_GPU_HINT}"
    )


def open_runtime(path: str) -> HipRuntime:
    """Open and initialise a libamdhip64. Raises OSError if it is not one."""
    library = open_library(path, _SIGNATURES)
    library.hipInit(0)  # its failure shows as a device count of 0
    return HipRuntime(path, library)
