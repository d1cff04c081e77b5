"""Sources disagree on the number of GPUs

What: The driver, rocminfo and the management tools do not list the same number of AMD GPUs.
Why: A GPU dropped off the bus, a container got only some of the device nodes, or a variable hides devices (rocminfo
    follows ROCR_VISIBLE_DEVICES, the driver's files do not). An MI250X board is two devices everywhere.
Fix: Compare with `ls /dev/dri/renderD*`. `sudo dmesg | grep -i amdgpu` shows a lost GPU.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html (what each variable hides);
    https://rocm.docs.amd.com/projects/amdsmi/en/develop/how-to/amdsmi-cli-tool.html
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.hardware import GPUMatch, find_gpu
from kernel_pytorch.core.vendor_tools import tool_names
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP125", "gpu-count", "gpu", Applies.AMD_GPU)


def check(machine: Machine) -> Iterator[CheckResult]:
    counts = {name: len(machine.readings[name].devices) for name in tool_names("amd") if _works(machine, name)}
    if machine.kfd:
        counts["driver"] = len(machine.kfd)
    listed = ", ".join(f"{name} {count}" for name, count in counts.items())
    if len(counts) < 2:
        yield CHECK.not_run(f"fewer than two sources ({listed or 'none'})")
    elif len(set(counts.values())) > 1:
        masked = machine.probe.env.get("ROCR_VISIBLE_DEVICES")
        if masked is not None:
            yield CHECK.note(f"{listed}; ROCR_VISIBLE_DEVICES={masked} explains a difference")
        else:
            yield CHECK.warn(f"GPUs seen: {listed}", "ls -l /dev/dri", "sudo dmesg | grep -i amdgpu | tail -30")
    else:
        halves = {match.gpu.name for device in machine.amd_devices if (match := _board(device))}
        extra = f" (two devices are one {halves.pop()} board)" if halves else ""
        yield CHECK.ok(f"every source lists {next(iter(counts.values()))}{extra}")


def _works(machine: Machine, name: str) -> bool:
    return machine.readings[name].outcome == "ok"


def _board(device: DeviceInfo) -> GPUMatch | None:
    """The product of a device that is one of several on its board."""
    match = find_gpu(device.target, device.compute_units or None, name=device.name)
    return match if match and match.gpu.devices_per_board > 1 and match.share == 1.0 else None
