"""Everything doctor knows about a machine, gathered once; the checks only look at this."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from kernel_pytorch.backends.topology import Node, node_topology
from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.platform import Platform, current_probe, platform_from
from kernel_pytorch.core.probe import Probe, TorchFacts
from kernel_pytorch.core.python_child import python_code
from kernel_pytorch.core.vendor_kfd import KFD_NODES, amd_gpus_on_pci, read_kfd
from kernel_pytorch.core.vendor_tools import TIMEOUT_S, ToolReading, read_tools, tool_names
from kernel_pytorch.doctor.caches import Cache, find_caches
from kernel_pytorch.doctor.containers import Container, find_container
from kernel_pytorch.doctor.distributions import Distribution, read_distributions
from kernel_pytorch.doctor.torch_install import TorchInstall, find_torch
from kernel_pytorch.doctor.torch_probe import TorchProbe, ask_torch


@dataclass(frozen=True)
class Machine:
    """What was seen. Every field is data except `probe`, which answers the few questions a check asks itself."""

    probe: Probe
    platform: Platform
    readings: dict[str, ToolReading]
    kfd: tuple[DeviceInfo, ...]
    pci: tuple[str, ...]
    distributions: tuple[Distribution, ...]
    torch: TorchInstall | None
    torch_probe: TorchProbe
    container: Container | None
    caches: tuple[Cache, ...]

    @cached_property
    def amd_devices(self) -> tuple[DeviceInfo, ...]:
        """AMD GPUs as the best working source lists them, whatever torch thinks."""
        for name in tool_names("amd"):
            if self.readings[name].devices:
                return self.readings[name].devices
        return self.kfd

    @property
    def nvidia_devices(self) -> tuple[DeviceInfo, ...]:
        return self.readings["nvidia-smi"].devices

    @cached_property
    def node(self) -> Node:
        """What lies between the GPUs this machine computes on. Asks a tool, on first use."""
        return node_topology("amd" if self.is_amd else "nvidia", self.probe)

    @property
    def has_amd_gpu(self) -> bool:
        """A GPU of AMD's is in this machine, with or without a working driver."""
        return bool(self.amd_devices or self.pci)

    @property
    def has_amd_driver(self) -> bool:
        return bool(self.kfd or self.probe.list_dir(KFD_NODES) or self.probe.list_dir("/sys/module/amdgpu"))

    @property
    def is_amd(self) -> bool:
        """AMD is what this machine computes on: an AMD GPU, beside which a processor's own does not count if
        there is an NVIDIA one, or a torch built for ROCm."""
        if self.torch is not None and self.torch.build == "rocm":
            return True
        if self.nvidia_devices:
            return any(not device.is_integrated for device in self.amd_devices)
        return self.has_amd_gpu

    @property
    def is_nvidia_only(self) -> bool:
        return bool(self.nvidia_devices) and not self.is_amd

    def distribution(self, name: str) -> Distribution | None:
        return next((item for item in self.distributions if item.name == name), None)


def examine(
    probe: Probe | None = None, *, with_torch: bool = True, python: str | None = None, tool_timeout_s: float = TIMEOUT_S
) -> Machine:
    """Looks at the machine. Vendor tools and torch are asked side by side; `with_torch=False` starts no torch."""
    probe = probe or current_probe()
    if python:
        probe = for_python(probe, python)
    distributions = read_distributions(probe.python_path)
    torch = find_torch(probe.python_path, distributions)
    with ThreadPoolExecutor(max_workers=2) as pool:
        asked = pool.submit(_ask_torch, probe, torch, with_torch)
        readings = read_tools(probe, tool_timeout_s)
        kfd = read_kfd(probe)
        caches = find_caches(probe, _aiter_folder(distributions))
        torch_probe = asked.result()
    facts = TorchFacts(torch.version, torch.hip, torch.cuda, torch.rocm) if torch else None
    return Machine(
        probe=probe,
        platform=platform_from(facts, readings, kfd, probe),
        readings=readings,
        kfd=kfd,
        pci=amd_gpus_on_pci(probe),
        distributions=distributions,
        torch=torch,
        torch_probe=torch_probe,
        container=find_container(probe),
        caches=caches,
    )


def _ask_torch(probe: Probe, torch: TorchInstall | None, wanted: bool) -> TorchProbe:
    if torch is None:
        return TorchProbe("skipped", "torch is not installed")
    return ask_torch(probe) if wanted else TorchProbe("skipped", "not asked (--quick)")


def _aiter_folder(distributions: tuple[Distribution, ...]) -> Path | None:
    """aiter compiles into its own folder. Its distribution is called amd-aiter or aiter."""
    item = next((item for item in distributions if item.name in ("amd-aiter", "aiter")), None)
    return item.path.parent / "aiter" if item else None


def for_python(probe: Probe, python: str) -> Probe:
    """The same machine, seen by another Python: its packages, its version."""
    source = "import json,sys;print(json.dumps([sys.executable,list(sys.version_info[:3]),[p for p in sys.path if p]]))"
    result = probe.run(python_code(source, python=python), 20.0)
    try:
        executable, version, path = json.loads(result.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError) as error:
        reason = result.stderr.strip().splitlines()[-1:] or [result.outcome]
        raise UsageError(f"--python {python}: not a working Python ({reason[0]}); give the path of one") from error
    return replace(probe, python=executable, python_version=tuple(version), python_path=tuple(path))
