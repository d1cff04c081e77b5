"""Whether an environment marker can hold on a machine that ROCm runs on."""

from __future__ import annotations

from itertools import product

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

_SYSTEMS = (
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
)
_MACHINES = ("x86_64", "AMD64", "aarch64")


def may_apply_on_rocm(marker: str) -> bool:
    """False only where no Linux or Windows machine meets the marker. What cannot be read may apply."""
    if not any(name in marker for name in ("sys_platform", "platform_system", "os_name")):
        return True
    try:
        parsed = Marker(marker)
        return any(
            parsed.evaluate(
                {
                    **system,
                    "platform_machine": machine,
                    "python_version": f"3.{minor}",
                    "python_full_version": f"3.{minor}.0",
                    "implementation_version": f"3.{minor}.0",
                    "extra": "",
                }
            )
            for system, machine, minor in product(_SYSTEMS, _MACHINES, range(8, 16))
        )
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return True
