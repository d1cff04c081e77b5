"""The NVIDIA side: prepare models, compile CUDA source with NVRTC, launch it through the driver."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "CudaCompilationError": "nvrtc",
    "CudaDeviceError": "cuda_driver",
    "CudaKernel": "nvrtc",
    "NVIDIABackend": "backend",
    "compile_cuda": "nvrtc",
}

__all__ = ["CudaCompilationError", "CudaDeviceError", "CudaKernel", "NVIDIABackend", "compile_cuda"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
