"""Which driver serves which ROCm, and which ROCm first served a GPU.

AMD's table ("User and AMD GPU Driver (amdgpu) support matrix", ROCm install-on-linux documentation, September
2025; 30.30 from the amdgpu driver documentation) names releases; a running driver only tells the version of its
module, so that is the key. A release whose list we could not read is kept as not complete: then a ROCm that is
not listed is unknown, not unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.core.hardware import UnknownTargetError, target
from kernel_pytorch.doctor.versions import minor, release


@dataclass(frozen=True)
class DriverRelease:
    """One driver release: the version its module reports, and the ROCm releases AMD supports on it."""

    name: str
    module: str
    rocm: tuple[str, ...]
    complete: bool = True


DRIVER_RELEASES = (
    DriverRelease("6.1", "6.7.0", ("5.7", "6.0", "6.1", "6.2", "6.3", "6.4")),
    DriverRelease("6.2", "6.8.5", ("6.0", "6.1", "6.2", "6.3", "6.4", "7.0")),
    DriverRelease("6.3", "6.10.5", ("6.1", "6.2", "6.3", "6.4", "7.0")),
    DriverRelease("6.4", "6.12.12", ("6.1", "6.2", "6.3", "6.4", "7.0")),
    DriverRelease("30.10", "6.14.14", ("6.2", "6.3", "6.4", "7.0")),
    DriverRelease("30.20", "6.16.6", ("7.0", "7.1"), complete=False),
    DriverRelease("30.30", "6.16.13", ("6.3", "6.4", "7.0", "7.1", "7.2")),
    DriverRelease("31.40", "6.19.14", ("7.14",), complete=False),
)
NEWEST_KNOWN_ROCM = (7, 2)


def driver_release(module_version: str | None) -> DriverRelease | None:
    """The release behind a module version such as 6.14.14; None for a kernel's own driver or an unknown one."""
    return next((row for row in DRIVER_RELEASES if row.module == (module_version or "").strip()), None)


def driver_serves(row: DriverRelease, rocm_version: str) -> bool | None:
    """Whether AMD lists this pair. None where the table cannot tell."""
    wanted = minor(rocm_version)
    if not wanted:
        return None
    if wanted in row.rocm:
        return True
    if not row.complete or release(wanted) > NEWEST_KNOWN_ROCM:
        return None  # the table was made before that ROCm: not listed proves nothing
    return False


def first_rocm(target_name: str) -> str | None:
    """The first ROCm release whose compiler and libraries know a target; None where the table does not say."""
    try:
        return target(target_name).first_rocm
    except UnknownTargetError:
        return None


def rocm_knows(target_name: str, rocm_version: str) -> bool | None:
    """Whether a ROCm release knows a target. None where the table has no entry."""
    first = first_rocm(target_name)
    return None if first is None or not release(rocm_version) else release(rocm_version)[:2] >= release(first)
