"""Variables of RCCL and NCCL against this node

What: Variables that switch off links which this node has, and documented variables for its topology that are not set.
    `prepare_model(..., parallel=...)` sets the second kind itself where the environment has none.
Why: NCCL_P2P_DISABLE=1 or NCCL_SHM_DISABLE=1, left over from a search for a fault, sends everything through the
    network stack or host memory. AMD documents NCCL_MIN_NCHANNELS=112 for eight MI300X that are all linked, and
    fine-grained memory (HSA_FORCE_FINE_GRAIN_PCIE=1) for peer access over PCIe.
Fix: Unset the first kind. Export the second kind before the program starts, unless it uses our back ends.
Source: https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html
    (NCCL_MIN_NCHANNELS); https://rocm.docs.amd.com/projects/rccl/en/docs-7.14.0/how-to/rccl-usage-tips.html
    (fine-grained memory); NCCL documentation, "Environment Variables".
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.backends.topology import collective_variables, missing_variables
from kernel_pytorch.backends.topology_tools import LINKED
from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import NOT_APPLICABLE, Check
from kernel_pytorch.doctor.environment import is_on
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.node import NAMES, ONE_GPU, computing_devices

CHECK = Check("KP129", "collective-variables", "environment")
SWITCHES = {
    "NCCL_P2P_DISABLE": "peer-to-peer copies",
    "NCCL_SHM_DISABLE": "copies through shared memory",
}


def check(machine: Machine) -> Iterator[CheckResult]:
    devices = computing_devices(machine)
    if len(devices) < 2:
        yield CHECK.not_run(NOT_APPLICABLE + ONE_GPU)
        return
    node, env = machine.node, machine.probe.env
    direct = next((NAMES[link.kind] for link in node.links if link.kind in LINKED), "")
    found = False
    for name, what in SWITCHES.items():
        if is_on(env.get(name)):
            found = True
            unused = f", and with them the {direct} links" if direct and name == "NCCL_P2P_DISABLE" else ""
            yield CHECK.warn(f"{name}={env[name]} switches off {what}{unused}", f"unset {name}")
    if env.get("NCCL_P2P_LEVEL", "").upper() in ("LOC", "0") and direct:
        found = True
        yield CHECK.warn(f"NCCL_P2P_LEVEL={env['NCCL_P2P_LEVEL']} keeps {direct} links unused", "unset NCCL_P2P_LEVEL")
    vendor = "amd" if machine.is_amd else "nvidia"
    every = collective_variables(vendor, devices[0].target, node.links, len(devices), None)
    wanted = tuple(item for item in every if item.by_topology)
    missing = missing_variables(wanted, env)
    if missing:
        found = True
        why = {item.name: item.why for item in wanted}
        shown = "; ".join(f"{name}={value} ({why[name]})" for name, value in missing.items())
        yield CHECK.note(f"documented for this node and not set: {shown}", *_exports(missing))
    if not found:
        yield CHECK.ok("nothing switches links off, and what is documented for this node is set")


def _exports(missing: dict[str, str]) -> list[str]:
    return [f"export {name}={value}" for name, value in missing.items()]
