"""Automatic NUMA balancing is on

What: /proc/sys/kernel/numa_balancing is not 0.
Why: The kernel moves pages between sockets and unmaps them to see who uses them. A GPU that reads host memory waits
    for that. One porting guide puts the loss at 10-30 %; AMD's documentation advises to switch it off, and says that
    some workloads are better with it.
Fix: Switch it off on the host. It is a setting of the whole machine, so doctor only prints the command.
Source: https://rocm.docs.amd.com/en/docs-6.3.3/how-to/rocm-for-ai/training/prerequisite-system-validation.html
    (disable NUMA auto-balancing); https://skills.sh/arist12/amd-skills/amd-rocm-porting (10-30 %).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP140", "numa-balancing", "system", Applies.AMD_GPU)
FILE = "/proc/sys/kernel/numa_balancing"


def check(machine: Machine) -> Iterator[CheckResult]:
    value = (machine.probe.read_text(FILE) or "").strip()
    if not value:
        yield CHECK.not_run(f"{FILE} cannot be read")
    elif value == "0":
        yield CHECK.ok("NUMA balancing is off")
    else:
        where = " (on the host: a container cannot change it)" if machine.container else ""
        yield CHECK.warn(f"NUMA balancing is on{where}: host memory stalls", f"sudo sh -c 'echo 0 > {FILE}'")
