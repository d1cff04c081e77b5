"""The exceptions under the names seed 003 imports, across process boundaries."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from kernel_pytorch.backends.amd import ROCmCompiler, amd_exceptions
from kernel_pytorch.backends.amd.amd_exceptions import (
    AMDBackendError,
    AMDConfigurationError,
    AMDDeviceError,
    AMDOptimizationError,
    HIPCompilationError,
    MatrixCoreError,
    ROCmMemoryError,
    ROCmNotAvailableError,
)
from kernel_pytorch.core import errors
from kernel_pytorch.core.config import AMDConfig


def test_they_are_the_ones_the_package_raises() -> None:
    named = {
        AMDBackendError, AMDConfigurationError, AMDDeviceError, AMDOptimizationError, HIPCompilationError,
        MatrixCoreError, ROCmMemoryError, ROCmNotAvailableError,
    }  # fmt: skip
    assert {getattr(errors, name) for name in amd_exceptions.__all__} == named
    assert all(issubclass(one, AMDBackendError) for one in named)


def compile_nothing(directory: str) -> None:
    ROCmCompiler(AMDConfig(hip_compiler_cache_dir=directory)).compile_kernel("", "nothing")


def test_a_compile_error_of_a_worker_process_arrives_whole(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(HIPCompilationError) as caught:
        pool.submit(compile_nothing, str(tmp_path)).result()
    assert (caught.value.kernel_name, caught.value.error_message) == ("nothing", "the source is empty")
