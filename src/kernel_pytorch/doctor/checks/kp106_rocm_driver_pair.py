"""A ROCm and driver pair that AMD does not list

What: The amdgpu driver of the running kernel and the ROCm in user space (torch's, or the system's) are too far apart.
Why: AMD tests a driver with the ROCm releases of about one year around it (two releases before ROCm 6.4). Outside that
    range, symptoms go from missing memory features to GPUs that do not initialise.
Fix: Update the older of the two. The driver inside the kernel tree has no release number. The pair is then unknown,
    which is not a fault.
Source: AMD, "User and kernel-space support matrix",
    https://rocm.docs.amd.com/projects/install-on-linux/en/docs-6.3.0/reference/user-kernel-space-compat-matrix.html
    and its later versions. Module versions of the driver releases 6.1, 30.20 and newer come from public issue threads;
    those of 6.2 to 6.4 and 30.10 were not confirmed a second time.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.compatibility import driver_release, driver_serves
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.versions import minor

CHECK = Check("KP106", "rocm-driver-pair", "torch", Applies.AMD_GPU)


def check(machine: Machine) -> Iterator[CheckResult]:
    built_with = machine.torch.rocm_version if machine.torch and machine.torch.build == "rocm" else None
    rocm = built_with or machine.platform.rocm_version
    driver = machine.platform.driver_version if machine.platform.vendor == "amd" else None
    if not rocm or not driver:
        yield CHECK.not_run(f"driver {driver or 'unknown'}, ROCm {rocm or 'unknown'}: nothing to compare")
        return
    row = driver_release(driver)
    serves = driver_serves(row, rocm) if row else None
    if row is None or serves is None:
        yield CHECK.note(f"driver {driver} with ROCm {minor(rocm)}: not in our copy of AMD's table, so unknown")
    elif serves:
        yield CHECK.ok(f"driver {driver} (release {row.name}) serves ROCm {minor(rocm)}")
    else:
        listed = ", ".join(row.rocm)
        yield CHECK.warn(
            f"driver {driver} (release {row.name}) is listed for ROCm {listed}, not for {minor(rocm)}",
            "# update the amdgpu driver on the host: https://instinct.docs.amd.com/projects/amdgpu-docs",
        )
