"""The exceptions of the AMD back end, under the name their users import them by."""

from __future__ import annotations

from kernel_pytorch.core.errors import (
    AMDBackendError,
    AMDConfigurationError,
    AMDDeviceError,
    AMDOptimizationError,
    HIPCompilationError,
    MatrixCoreError,
    ROCmMemoryError,
    ROCmNotAvailableError,
)

__all__ = [
    "AMDBackendError",
    "AMDConfigurationError",
    "AMDDeviceError",
    "AMDOptimizationError",
    "HIPCompilationError",
    "MatrixCoreError",
    "ROCmMemoryError",
    "ROCmNotAvailableError",
]
