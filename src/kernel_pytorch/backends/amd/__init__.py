"""The AMD side: prepare models, manage memory and streams, compile HIP kernels and launch them.

Names are imported on use, so that a cached kernel does not wait for parts it does not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "AMDBackend": "backend",
    "AMDMemoryManager": "memory_manager",
    "AMDOptimizer": "optimizer",
    "CompiledKernel": "compiled_kernel",
    "HIPUtilities": "hip_utilities",
    "ROCmCompiler": "rocm_compiler",
}

__all__ = ["AMDBackend", "AMDMemoryManager", "AMDOptimizer", "CompiledKernel", "HIPUtilities", "ROCmCompiler"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
