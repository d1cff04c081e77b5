"""Every exception of the package.

They live in the room that imports nothing, so that any other room may raise them. The names of AMDBackend's
interface are re-exported from `kernel_pytorch.backends.amd.amd_exceptions`, where its users expect them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class UsageError(ValueError):
    """Bad input from the person at the keyboard: `kpt` prints the message and exits 2."""


class AMDBackendError(Exception):
    """Base of all device and back-end errors. `details` holds machine-readable facts about the failure.

    A string as second argument becomes part of the message, and `details["detail"]`.
    """

    def __init__(self, message: str, details: Mapping[str, Any] | str | None = None) -> None:
        if isinstance(details, str):
            message, details = (f"{message}: {details}" if details else message), {"detail": details}
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # The default reduce replays `args`, which is only the message: subclasses with other signatures
        # (HIPCompilationError) could not be sent between processes.
        return (_rebuild, (type(self), self.__dict__.copy()))


def _rebuild(kind: type[AMDBackendError], state: dict[str, Any]) -> AMDBackendError:
    error = kind.__new__(kind)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


class ROCmNotAvailableError(AMDBackendError):
    """No ROCm device or no ROCm build of torch, and the caller asked for strictness."""


class AMDDeviceError(AMDBackendError):
    """A device is missing, unsupported, or answered with an error."""


class HIPCompilationError(AMDBackendError):
    """A kernel did not compile. `error_message` is the compiler's own words."""

    def __init__(self, kernel_name: str, error_message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"HIP kernel {kernel_name!r} did not compile:\n{error_message}", details)
        self.kernel_name = kernel_name
        self.error_message = error_message


class ROCmMemoryError(AMDBackendError):
    """`operation` needs more memory than there is, or ran out of it.

    `required_mb` and `available_mb` are None where they are not known; `reason` is what the device or the search said,
    in place of the sentence made of the figures. A string as second argument is a detail, as for the other errors.
    """

    def __init__(
        self,
        operation: str,
        required_mb: float | str | None = None,
        available_mb: float | None = None,
        details: Mapping[str, Any] | None = None,
        *,
        reason: str = "",
    ) -> None:
        if isinstance(required_mb, str):
            reason, required_mb, details = reason or f"{operation}: {required_mb}", None, {"detail": required_mb}
        figures = {"operation": operation, "required_mb": required_mb, "available_mb": available_mb}
        super().__init__(
            reason or _memory_sentence(operation, required_mb, available_mb), {**figures, **(details or {})}
        )
        self.operation = operation
        self.required_mb = required_mb
        self.available_mb = available_mb


def _memory_sentence(operation: str, required_mb: float | None, available_mb: float | None) -> str:
    if required_mb is None and available_mb is None:
        return f"{operation}: out of memory"
    needs = f" needs {required_mb:.1f} MB" if required_mb is not None else " needs more memory than there is"
    has = f" and {available_mb:.1f} MB are available" if available_mb is not None else ""
    return f"{operation}{needs}{has}: use a smaller batch or model, free memory, or raise max_memory_fraction"


class MatrixCoreError(AMDBackendError):
    """Matrix cores were demanded where the device has none, or for a type they do not take."""


class AMDOptimizationError(AMDBackendError):
    """An optimisation could not be applied."""


class AMDConfigurationError(AMDBackendError, ValueError):
    """A configuration value is not allowed. Names the parameter, the value and what is allowed.

    Without `allowed`, the first two are a message and its detail, as for the other errors.
    """

    def __init__(
        self, parameter: str, value: object = None, allowed: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        if allowed:
            super().__init__(f"{parameter}={value!r} is not allowed: {allowed}", details)
        else:
            super().__init__(parameter, details if value is None else str(value))
        self.parameter = parameter
        self.value = value
        self.allowed = allowed
