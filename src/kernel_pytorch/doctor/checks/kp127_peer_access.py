"""GPUs that cannot read each other's memory

What: Pairs of GPUs between which peer-to-peer access is off, as amd-smi, rocm-smi or nvidia-smi reports.
Why: RCCL and NCCL then copy through host memory, at a fraction of the bandwidth. Some programs that map a neighbour's
    memory do not start. Over PCIe, peer access needs a large BAR ("above 4G decoding"), an IOMMU in pass-through mode
    and, across switches, ACS off. In a virtual machine it is often off by design.
Fix: Boot the host with iommu=pt and enable above-4G decoding and resizable BAR in its firmware. Doctor changes
    nothing.
Source: https://rocm.docs.amd.com/projects/rccl/en/docs-7.14.0/how-to/rccl-usage-tips.html (peer-to-peer transport);
    NCCL documentation, "Troubleshooting".
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import NOT_APPLICABLE, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.node import ONE_GPU, computing_devices

CHECK = Check("KP127", "peer-access", "gpu")


def check(machine: Machine) -> Iterator[CheckResult]:
    if len(computing_devices(machine)) < 2:
        yield CHECK.not_run(NOT_APPLICABLE + ONE_GPU)
        return
    links = machine.node.links
    known = [link for link in links if link.peer_access is not None]
    closed = [link for link in known if not link.peer_access]
    if not known:
        yield CHECK.not_run("no tool says whether the GPUs can read each other's memory")
    elif not closed:
        yield CHECK.ok(f"all {len(known)} pairs of GPUs read each other's memory")
    else:
        pairs = ", ".join(f"{link.first}-{link.second}" for link in closed[:8])
        more = f" and {len(closed) - 8} more" if len(closed) > 8 else ""
        yield CHECK.warn(
            f"{len(closed)} of {len(known)} pairs of GPUs cannot read each other's memory ({pairs}{more}): collectives "
            "go through host memory",
            "cat /proc/cmdline  # iommu=pt should be there",
        )
