"""GPUs on several NUMA nodes

What: which NUMA node (socket) each GPU hangs on.
Why: a process whose memory lies on the other socket feeds its GPU through the link between the sockets. With one
process per GPU each is best kept on its GPU's node. A node number the system does not tell (a virtual machine often
hides it) is said as such.
Fix: start ranks on their GPU's node: `numactl --cpunodebind=N --membind=N`, or `torchrun --numa-binding node` where
torch has it (2.9 and newer).
Source: ROCm documentation (system optimisation, NUMA), torchrun documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import NOT_APPLICABLE, Check
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.node import ONE_GPU, computing_devices, listed

CHECK = Check("KP128", "gpu-numa", "gpu")


def check(machine: Machine) -> Iterator[CheckResult]:
    if len(computing_devices(machine)) < 2:
        yield CHECK.not_run(NOT_APPLICABLE + ONE_GPU)
        return
    places: dict[int, list[int]] = {}
    for gpu, numa in enumerate(machine.node.numa_nodes):
        if numa is not None:
            places.setdefault(numa, []).append(gpu)
    if not places:
        yield CHECK.not_run("the system does not tell on which NUMA nodes the GPUs are")
    elif len(places) == 1:
        yield CHECK.ok(f"all GPUs are on NUMA node {next(iter(places))}")
    else:
        said = "; ".join(f"GPUs {listed(gpus)} on node {numa}" for numa, gpus in sorted(places.items()))
        yield CHECK.note(f"{said}: keep each rank on its GPU's node", "torchrun --numa-binding node ...")
