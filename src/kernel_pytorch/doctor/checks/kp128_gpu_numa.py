"""GPUs on several NUMA nodes

What: Which NUMA node (socket) each GPU is attached to.
Why: A process whose memory is on the other socket feeds its GPU through the link between the sockets. With one process
    per GPU, keep each process on its GPU's node. If the system does not say which node (a virtual machine often hides
    it), the line says so.
Fix: Start ranks on their GPU's node: `numactl --cpunodebind=N --membind=N`, or `torchrun --numa-binding node` with
    torch 2.9 and newer.
Source: torchrun --help (torch 2.9 and newer); https://huggingface.co/docs/optimum/amd/amdgpu/perf_hardware (NUMA nodes
    of MI200 machines).
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
        yield CHECK.not_run("the system does not say on which NUMA nodes the GPUs are")
    elif len(places) == 1:
        yield CHECK.ok(f"all GPUs are on NUMA node {next(iter(places))}")
    else:
        summary = "; ".join(f"GPUs {listed(gpus)} on node {numa}" for numa, gpus in sorted(places.items()))
        yield CHECK.note(f"{summary}: keep each rank on its GPU's node", "torchrun --numa-binding node ...")
