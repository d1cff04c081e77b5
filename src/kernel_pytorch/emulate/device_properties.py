"""Describes one GPU of the hardware table to the emulated runtime, as hipGetDeviceProperties shows it.

Figures that the table does not have are those every ROCm device of the family reports (grid limits, texture sizes).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernel_pytorch.core.hardware import GIB, GPU, MIB, Target

_INT_MAX = 2147483647
# Bus width by memory type and device: bits of one stack or chip times how many; HBM stacks are 1024 bits wide.
_BUS_BITS = {
    "mi250x": 4096,
    "mi250": 4096,
    "mi210": 4096,
    "mi300x": 8192,
    "mi300a": 8192,
    "mi325x": 8192,
    "mi355x": 8192,
}
# hipDeviceArch_t, in the order of its bit field: everything but warp voting by vote instructions and surfaces.
_ARCH_FEATURES = (
    "global int32 atomics", "global float exchange", "shared int32 atomics", "shared float exchange",
    "float add", "global int64 atomics", "shared int64 atomics", "doubles", "vote", "ballot", "shuffle",
    "funnel shift", "thread fence", "sync threads ext", "surfaces", "3D grid", "dynamic parallelism",
)  # fmt: skip
_ARCH_MISSING = ("funnel shift", "surfaces", "dynamic parallelism", "sync threads ext")


def write_device_properties(gpu: GPU, path: Path, devices: int = 1) -> None:
    """Write the description of `devices` GPUs like this one for KPT_EMULATE_GPU."""
    path.write_text(json.dumps(device_description(gpu, devices), indent=1) + "\n", encoding="utf-8")


def device_description(gpu: GPU, devices: int = 1) -> dict[str, Any]:
    """What `write_device_properties` writes."""
    if gpu.vendor != "amd":
        raise ValueError(f"{gpu.name} is not an AMD GPU: only those are emulated")
    if not 1 <= devices <= 64:
        raise ValueError(f"{devices} devices: 1 to 64 can be emulated")
    properties = _properties(gpu)
    return {
        "schema": 1,
        "name": properties["name"],
        "target": gpu.target.name,
        "devices": devices,
        "memory_bytes": int(gpu.memory_gib * GIB),
        "occupancy": _occupancy(gpu),
        "properties": properties,
        "attributes": {str(number): value for number, value in _attributes(properties, gpu).items()},
    }


def _occupancy(gpu: GPU) -> dict[str, int]:
    target = gpu.target
    return {
        "wave_size": target.wave_size,
        "simds_per_cu": target.simds_per_cu,
        "vgprs_per_simd": target.vgprs_per_simd,
        "vgpr_granule": target.vgpr_granule,
        "sgprs_per_simd": target.sgprs_per_simd,
        "sgpr_granule": target.sgpr_granule,
        "max_waves_per_simd": target.max_waves_per_simd,
        "barriers_per_cu": target.barriers_per_cu,
        "lds_bytes_per_cu": target.lds_bytes_per_cu,
        "lds_granule": target.lds_granule_bytes,
        "max_lds_per_workgroup": target.max_lds_bytes_per_workgroup,
        "max_threads_per_workgroup": target.max_threads_per_workgroup,
        "compute_units": gpu.compute_units,
    }


def version_of(target: Target) -> tuple[int, int]:
    """Major and minor number as HIP gives them: gfx942 is 9, 4; gfx1100 is 11, 0."""
    digits = target.name.removeprefix("gfx")
    wide = 2 if len(digits) > 3 else 1
    return int(digits[:wide]), int(digits[wide], 16)


def _properties(gpu: GPU) -> dict[str, Any]:
    target = gpu.target
    major, minor = version_of(target)
    rdna = major >= 10
    # ROCm counts workgroup processors, pairs of compute units, as multiprocessors on RDNA.
    multiprocessors = gpu.compute_units // 2 if rdna else gpu.compute_units
    threads = target.max_waves_per_simd * target.simds_per_cu * target.wave_size
    features = "" if rdna else ":sramecc+:xnack-"
    registers = target.vgprs_per_simd * target.simds_per_cu * target.wave_size
    bus = _BUS_BITS.get(gpu.alias, 256)
    return {
        "name": f"AMD {'Radeon' if rdna else 'Instinct'} {gpu.name}",
        "gcnArchName": target.name + features,
        "totalGlobalMem": int(gpu.memory_gib * GIB),
        "sharedMemPerBlock": target.max_lds_bytes_per_workgroup,
        "sharedMemPerBlockOptin": target.max_lds_bytes_per_workgroup,
        "sharedMemPerMultiprocessor": target.lds_bytes_per_cu,
        "maxSharedMemoryPerMultiProcessor": target.lds_bytes_per_cu,
        "regsPerBlock": min(registers, 65536 if not rdna else registers),
        "regsPerMultiprocessor": registers,
        "warpSize": target.wave_size,
        "memPitch": _INT_MAX,
        "maxThreadsPerBlock": target.max_threads_per_workgroup,
        "maxThreadsDim": [1024, 1024, 1024],
        "maxGridSize": [_INT_MAX, 65536, 65536],
        "clockRate": int(gpu.boost_mhz * 1000),
        "totalConstMem": _INT_MAX,
        "major": major,
        "minor": minor,
        "textureAlignment": 256,
        "texturePitchAlignment": 256,
        "surfaceAlignment": 256,
        "multiProcessorCount": multiprocessors,
        "maxTexture1D": 16384,
        "maxTexture1DLinear": 134217728,
        "maxTexture2D": [16384, 16384],
        "maxTexture3D": [16384, 16384, 8192],
        "concurrentKernels": 1,
        "ECCEnabled": 0 if rdna else 1,
        "memoryBusWidth": bus,
        "memoryClockRate": int(gpu.bandwidth_gbs * 8e6 / bus / 2),
        "l2CacheSize": int(gpu.l2_mib * MIB),
        "maxThreadsPerMultiProcessor": threads,
        "maxBlocksPerMultiProcessor": threads // target.max_threads_per_workgroup,
        "clockInstructionRate": 100000,
        "canMapHostMemory": 1,
        "cooperativeLaunch": 1,
        "cooperativeMultiDeviceLaunch": 0,
        "isLargeBar": 1,
        "managedMemory": 1,
        "directManagedMemAccessFromHost": 0,
        "concurrentManagedAccess": 1,
        "pageableMemoryAccess": 0,
        "pageableMemoryAccessUsesHostPageTables": 0,
        "asyncEngineCount": 8,
        "deviceOverlap": 1,
        "unifiedAddressing": 1,
        "streamPrioritiesSupported": 1,
        "globalL1CacheSupported": 1,
        "localL1CacheSupported": 1,
        "hostNativeAtomicSupported": 0,
        "canUseHostPointerForRegisteredMem": 1,
        "hostRegisterSupported": 1,
        "memoryPoolsSupported": 1,
        "arch": sum(1 << index for index, name in enumerate(_ARCH_FEATURES) if name not in _ARCH_MISSING),
    }


def _attributes(properties: dict[str, Any], gpu: GPU) -> dict[int, int]:
    """hipDeviceGetAttribute by the number of hipDeviceAttribute_t."""
    named = {
        0: "ECCEnabled", 2: "asyncEngineCount", 3: "canMapHostMemory", 4: "canUseHostPointerForRegisteredMem",
        5: "clockRate", 8: "concurrentKernels", 9: "concurrentManagedAccess", 10: "cooperativeLaunch",
        11: "cooperativeMultiDeviceLaunch", 12: "deviceOverlap", 13: "directManagedMemAccessFromHost",
        14: "globalL1CacheSupported", 15: "hostNativeAtomicSupported", 19: "l2CacheSize",
        20: "localL1CacheSupported", 23: "major", 24: "managedMemory", 25: "maxBlocksPerMultiProcessor",
        39: "maxTexture1D", 41: "maxTexture1DLinear", 56: "maxThreadsPerBlock", 57: "maxThreadsPerMultiProcessor",
        58: "memPitch", 59: "memoryBusWidth", 60: "memoryClockRate", 61: "minor", 63: "multiProcessorCount",
        65: "pageableMemoryAccess", 66: "pageableMemoryAccessUsesHostPageTables", 71: "regsPerBlock",
        72: "regsPerMultiprocessor", 74: "sharedMemPerBlock", 75: "sharedMemPerBlockOptin",
        76: "sharedMemPerMultiprocessor", 78: "streamPrioritiesSupported", 79: "surfaceAlignment",
        81: "textureAlignment", 82: "texturePitchAlignment", 83: "totalConstMem", 84: "totalGlobalMem",
        85: "unifiedAddressing", 87: "warpSize", 88: "memoryPoolsSupported", 90: "hostRegisterSupported",
        10000: "clockInstructionRate", 10002: "maxSharedMemoryPerMultiProcessor", 10011: "isLargeBar",
    }  # fmt: skip
    values = {number: int(properties[name]) for number, name in named.items()}
    for first, name in ((26, "maxThreadsDim"), (29, "maxGridSize"), (49, "maxTexture3D")):
        values |= {first + axis: int(value) for axis, value in enumerate(properties[name])}
    values |= {43 + axis: int(value) for axis, value in enumerate(properties["maxTexture2D"])}
    values |= {55: 1024, 67: 1, 10013: 1, 10015: gpu.compute_units, 10016: 1, 10017: 100000, 92: 0}
    values[10018] = 8 if gpu.target.name in ("gfx942", "gfx950") else 1
    values[10019] = gpu.target.max_vgprs_per_wave
    # Known, and nothing there: compute mode, preemption, integrated, boards, timeouts, PCI ids, textures, handles.
    for number in (6, 7, 16, 17, 18, 62, 68, 69, 70, 73, 77, 80, 89, 91, 10005, 10006, 10007, 10008, 10009, 10010):
        values.setdefault(number, 0)
    for number in (10012, 10014, 10020, 1, 21, 22, *range(32, 39), 40, 42, 45, 46, 47, 48, 52, 53, 54):
        values.setdefault(number, 0)
    return values
