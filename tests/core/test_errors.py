from __future__ import annotations

import pickle

import pytest

from kernel_pytorch.core import errors

SAMPLES = [
    errors.AMDBackendError("x", {"a": 1}),
    errors.ROCmNotAvailableError("no ROCm"),
    errors.AMDDeviceError("gone", {"index": 3}),
    errors.HIPCompilationError("add", "line 1: error", {"target": "gfx942"}),
    errors.ROCmMemoryError("a training step", 2048.0, 512.5, {"device": "cuda:0"}),
    errors.MatrixCoreError("none"),
    errors.AMDOptimizationError("no"),
    errors.AMDConfigurationError("device_id", -1, "0 or more"),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_errors_pickle_with_all_they_know(error: errors.AMDBackendError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def test_a_second_string_is_part_of_the_message() -> None:
    error = errors.ROCmNotAvailableError("no ROCm", "libamdhip64.so is missing")
    assert str(error) == "no ROCm: libamdhip64.so is missing"
    assert error.details == {"detail": "libamdhip64.so is missing"}


def test_hierarchy() -> None:
    assert all(isinstance(error, errors.AMDBackendError) for error in SAMPLES)
    assert isinstance(SAMPLES[-1], ValueError)


def test_memory_error_has_its_figures() -> None:
    error = errors.ROCmMemoryError("a training step", 2048.0, 512.5, {"device": "cuda:0"})
    assert (error.operation, error.required_mb, error.available_mb) == ("a training step", 2048.0, 512.5)
    assert error.details == {
        "operation": "a training step",
        "required_mb": 2048.0,
        "available_mb": 512.5,
        "device": "cuda:0",
    }
    assert str(error).startswith("a training step needs 2048.0 MB and 512.5 MB are available: ")
    assert str(errors.ROCmMemoryError("loading")) == "loading: out of memory"
    assert str(errors.ROCmMemoryError("loading", available_mb=3.0)).startswith(
        "loading needs more memory than there is"
    )
    assert str(errors.ROCmMemoryError("loading", 1.0, 0.0, reason="the device says no")) == "the device says no"


def test_compilation_error_has_the_compilers_words() -> None:
    error = errors.HIPCompilationError("add", "line 1: error")
    assert error.kernel_name == "add"
    assert error.error_message == "line 1: error"
    assert "line 1: error" in str(error)


@pytest.mark.parametrize(
    "kind", [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.AMDBackendError)]
)
def test_every_error_can_be_made_of_two_strings(kind: type[errors.AMDBackendError]) -> None:
    made = kind("first", "second")
    assert "first" in str(made) and "second" in str(made)
    assert str(pickle.loads(pickle.dumps(made))) == str(made)
