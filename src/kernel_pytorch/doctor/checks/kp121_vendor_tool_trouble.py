"""A vendor tool that hangs, fails or prints nonsense

What: rocminfo, amd-smi, rocm-smi or nvidia-smi is installed, but it did not answer, ended with an error, or printed
    something that is not its format.
Why: A tool that hangs usually waits for a GPU that no longer responds; reset the GPU or reboot. A tool that fails
    points at permissions or a missing driver. If all tools are missing but torch sees the GPU, it is only a nuisance.
Fix: Read the message. `sudo dmesg | tail` shows what the kernel reports. `amd-smi reset --gpureset` resets a GPU.
Source: https://rocm.docs.amd.com/projects/amdsmi/en/develop/how-to/amdsmi-cli-tool.html
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.core.vendor_tools import tool_names
from kernel_pytorch.doctor.check import Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP121", "vendor-tool-trouble", "gpu")


def check(machine: Machine) -> Iterator[CheckResult]:
    working = []
    for name, reading in machine.readings.items():
        concerns = machine.is_amd if name in tool_names("amd") else machine.is_nvidia_only
        if reading.outcome == "ok":
            working.append(f"{name} ({len(reading.devices)})")
        elif reading.outcome == "hangs":
            yield CHECK.red(f"{name} hangs: {reading.detail}", "sudo dmesg | tail -50")
        elif reading.outcome in ("failed", "garbage"):
            verb = "failed" if reading.outcome == "failed" else "wrote something that is not its format"
            detail = f"{name} {verb} ({reading.detail})"
            yield CHECK.warn(detail) if concerns else CHECK.note(detail)
    if working:
        yield CHECK.ok(f"answered, with the number of GPUs seen: {', '.join(working)}")
    elif machine.is_amd and all(machine.readings[name].outcome == "missing" for name in tool_names("amd")):
        yield CHECK.note("rocminfo, amd-smi and rocm-smi are not installed: the driver's own files were read instead")
    elif all(reading.outcome == "missing" for reading in machine.readings.values()):
        yield CHECK.note("no vendor tool is installed")
