"""What `torch.cuda.get_device_properties` gives: the figures that the emulated runtime has of the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# torch's name -> the runtime's.
_NAMES = {
    "name": "name",
    "major": "major",
    "minor": "minor",
    "multi_processor_count": "multiProcessorCount",
    "max_threads_per_multi_processor": "maxThreadsPerMultiProcessor",
    "max_threads_per_block": "maxThreadsPerBlock",
    "regs_per_multiprocessor": "regsPerMultiprocessor",
    "shared_memory_per_block": "sharedMemPerBlock",
    "shared_memory_per_block_optin": "sharedMemPerBlockOptin",
    "shared_memory_per_multiprocessor": "sharedMemPerMultiprocessor",
    "warp_size": "warpSize",
    "gcnArchName": "gcnArchName",
    "L2_cache_size": "l2CacheSize",
    "clock_rate": "clockRate",
    "memory_clock_rate": "memoryClockRate",
    "memory_bus_width": "memoryBusWidth",
}


class CudaDeviceProperties:
    """torch._C._CudaDeviceProperties of a ROCm build."""

    is_integrated = False
    is_multi_gpu_board = False
    pci_domain_id = 0
    pci_device_id = 0

    def __init__(self, described: Mapping[str, Any], device: int, total_memory: int) -> None:
        for ours, theirs in _NAMES.items():
            setattr(self, ours, described[theirs])
        self.total_memory = total_memory
        self.pci_bus_id = device + 1
        self.uuid = f"emulated-{device:04d}"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the properties of an emulated GPU have no {name}")

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"gcnArchName='{self.gcnArchName}', total_memory={self.total_memory // 2**20}MB, "
            f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, "
            f"pci_bus_id={self.pci_bus_id}, pci_device_id=0, pci_domain_id=0, "
            f"L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )
