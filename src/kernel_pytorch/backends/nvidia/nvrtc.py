"""Compiles CUDA source with NVRTC, NVIDIA's compiler as a library, into a kernel that can be launched."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernel_pytorch.backends.launch import (
    Dimensions,
    check_block,
    check_shared_bytes,
    dimensions,
    keep_until_done,
    stream_handle,
    tensor_device,
)
from kernel_pytorch.backends.nvidia.cuda_driver import cuda_driver
from kernel_pytorch.backends.shared_library import library_candidates
from kernel_pytorch.toolchain.kernel_arguments import pack_arguments
from kernel_pytorch.toolchain.kernel_parameters import parameter_types
from kernel_pytorch.toolchain.kernel_symbols import choose_kernel, readable_name

_ENTRY = re.compile(r"^\s*(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)", re.MULTILINE)


class CudaCompilationError(RuntimeError):
    """CUDA source did not compile, or there is no NVRTC. `error_message` holds the compiler's words."""

    def __init__(self, kernel_name: str, error_message: str) -> None:
        super().__init__(kernel_name, error_message)
        self.kernel_name = kernel_name
        self.error_message = error_message

    def __str__(self) -> str:
        return f"CUDA kernel {self.kernel_name!r} did not compile:\n{self.error_message}"


@dataclass(frozen=True)
class CudaKernel:
    """A compiled CUDA source: the cubin and the symbols of the kernels in it."""

    name: str
    source_hash: str
    binary: bytes
    architecture: str
    optimization_flags: tuple[str, ...]
    compile_time_ms: float
    symbols: tuple[str, ...]

    def launch(
        self,
        grid: Dimensions,
        block: Dimensions,
        args: Sequence[object],
        stream: object = None,
        shared_bytes: int = 0,
        *,
        kernel: str | None = None,
        device: int | None = None,
    ) -> None:
        """Queue one kernel on an NVIDIA GPU; the arguments are packed as the loaded module describes them.

        `kernel` names the kernel where the source has several. Raises CudaDeviceError without a GPU, TypeError,
        ValueError or OverflowError for arguments that do not fit.
        """
        if kernel not in self._choices:
            readable = {symbol: readable_name(symbol) for symbol in self.symbols}
            symbol = choose_kernel(self.name, readable, kernel)
            self._choices[kernel] = (symbol, readable[symbol])
        symbol, signature = self._choices[kernel]
        grid_size, block_size = dimensions(grid, "grid"), dimensions(block, "block")
        shared = check_shared_bytes(shared_bytes)
        driver = cuda_driver()
        chosen = tensor_device(args)
        where = device if device is not None else (chosen if chosen is not None else 0)
        if chosen is not None and where != chosen:
            raise ValueError(f"the tensors lie on GPU {chosen}, the launch asks for GPU {where}")
        loaded = driver.kernel(self.binary, self._digest, symbol, where, parameter_types(signature))
        check_block(signature, block_size, loaded.max_threads)
        packed = pack_arguments(signature, loaded.parameters, args)
        handle = stream_handle(stream, args, where)
        driver.launch(loaded, grid_size, block_size, packed, shared_bytes=shared, stream=handle, device=where)
        keep_until_done(handle, args, where)

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.binary).hexdigest()

    @cached_property
    def _choices(self) -> dict[str | None, tuple[str, str]]:
        # A launch is to take microseconds: names are resolved once.
        return {}


def compile_cuda(
    source: str,
    name: str,
    architecture: str | None = None,
    options: Sequence[str] = (),
) -> CudaKernel:
    """Compile CUDA `source` for `architecture` ("sm_90"; the GPU's own if None).

    Raises CudaCompilationError with NVRTC's log, or saying that NVRTC or kernels are missing.
    """
    target = architecture if architecture is not None else cuda_driver().architecture(0)
    library, path = _open_nvrtc(name)
    flags = (f"--gpu-architecture={target}", "--std=c++17", *options)
    includes = tuple(f"--include-path={folder}" for folder in _include_dirs(path))
    started = time.perf_counter()
    binary, ptx = _compile(library, source, name, (*flags, *includes))
    elapsed_ms = (time.perf_counter() - started) * 1e3
    symbols = tuple(_ENTRY.findall(ptx))
    if not symbols:
        raise CudaCompilationError(name, "the source compiles, but has no __global__ function")
    return CudaKernel(name, hashlib.sha256(source.encode()).hexdigest(), binary, target, flags, elapsed_ms, symbols)


def nvrtc_candidates() -> Iterator[str]:
    """Where libnvrtc may lie, best first."""
    return library_candidates("nvrtc", roots=_toolkit_roots(), package_folders=("nvidia/*/lib", "torch/lib"))


def _toolkit_roots() -> list[str]:
    named = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    return [root for root in (*named, "/usr/local/cuda") if root]


def _open_nvrtc(name: str) -> tuple[ctypes.CDLL, str]:
    for path in nvrtc_candidates():
        try:
            library = ctypes.CDLL(path)
            library.nvrtcGetErrorString.restype = ctypes.c_char_p
        except (OSError, AttributeError):
            continue
        return library, path
    raise CudaCompilationError(name, "NVRTC was not found: install the CUDA toolkit, or pip install nvidia-cuda-nvrtc")


def _include_dirs(library_path: str) -> list[str]:
    """The headers that belong to the library, beside it in a wheel or in its toolkit; else a toolkit's."""
    above = Path(library_path).resolve().parents
    places = [parent / "include" for parent in above[1:3]]
    if len(above) > 2:
        places += sorted(above[2].glob("*/include"))  # wheels of CUDA 12 keep headers in a package of their own
    places += [Path(root) / "include" for root in _toolkit_roots()]
    place = next((place for place in places if (place / "cuda_fp16.h").is_file()), None)
    if place is None:
        return []
    # CUDA 13 moved the C++ core libraries, which cuda_fp16.h includes, one level down.
    return [str(folder) for folder in (place, place / "cccl") if folder.is_dir()]


def _compile(library: ctypes.CDLL, source: str, name: str, flags: Sequence[str]) -> tuple[bytes, str]:
    program = ctypes.c_void_p()
    if "\0" in source:
        raise CudaCompilationError(name, "the source holds a NUL character")
    status = library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), f"{name}.cu".encode(), 0, None, None)
    _check(library, name, status)
    try:
        options = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        status = library.nvrtcCompileProgram(program, len(flags), options)
        if status != 0:
            log = _output(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
            raise CudaCompilationError(name, log or library.nvrtcGetErrorString(status).decode())
        ptx = _output(library, program, "PTX").rstrip(b"\0").decode(errors="replace")
        binary = _output(library, program, "CUBIN")
        # A virtual architecture (compute_90) yields PTX only; the driver compiles that on loading.
        return binary or ptx.encode() + b"\0", ptx
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _output(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) != 0 or size.value == 0:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    if getattr(library, f"nvrtcGet{what}")(program, buffer) != 0:
        return b""
    return buffer.raw


def _check(library: ctypes.CDLL, name: str, status: int) -> None:
    if status != 0:
        raise CudaCompilationError(name, library.nvrtcGetErrorString(status).decode())
