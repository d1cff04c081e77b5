"""Describes one GPU of the hardware table to the emulated runtime, as hipGetDeviceProperties shows it.

Figures that the table does not have are those every ROCm device of the family reports (grid limits, texture sizes).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from kernel_pytorch.core.gpu_to_emulate import stated_figures
from kernel_pytorch.core.hardware import GIB, GPU, MIB, processor

_INT_MAX = 2147483647
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
        "images": gpu.target.image_units,
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


def _properties(gpu: GPU) -> dict[str, Any]:
    target = gpu.target
    major, minor = target.version
    rdna = major >= 10
    facts = processor(target.name)
    # ROCm counts workgroup processors, pairs of compute units, as multiprocessors on RDNA.
    multiprocessors = gpu.compute_units // 2 if facts.has_wgp_mode else gpu.compute_units
    threads = target.max_waves_per_simd * target.simds_per_cu * target.wave_size
    features = "" if rdna else ":sramecc+:xnack-"
    registers = target.vgprs_per_simd * target.simds_per_cu * target.wave_size
    return {
        "name": f"AMD {gpu.name}" if stated_figures(gpu) else f"AMD {'Radeon' if rdna else 'Instinct'} {gpu.name}",
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
        **_image_sizes(target.image_units != "none"),
        "concurrentKernels": 1,
        "ECCEnabled": 0 if rdna else 1,
        "memoryBusWidth": gpu.bus_bits,
        "memoryClockRate": int(gpu.bandwidth_gbs * 8e6 / gpu.bus_bits / 2),
        "l2CacheSize": int(gpu.l2_mib * MIB),
        "maxThreadsPerMultiProcessor": threads,
        "maxBlocksPerMultiProcessor": threads // target.max_threads_per_workgroup,
        "clockInstructionRate": 100000,
        "canMapHostMemory": 1,
        "cooperativeLaunch": 1,
        "cooperativeMultiDeviceLaunch": 1,
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


def _image_sizes(has_images: bool) -> dict[str, Any]:
    """The largest textures and surfaces, as ROCr's image library answers for every GPU with image units."""
    side, layers = (16384, 8192) if has_images else (0, 0)
    shapes = {"1D": side, "2D": [side, side], "3D": [side, side, layers], "1DLayered": [side, layers],
              "2DLayered": [side, side, layers]}  # fmt: skip
    linear = _INT_MAX if has_images else 0
    sizes = {f"max{kind}{shape}": size for kind in ("Texture", "Surface") for shape, size in shapes.items()}
    return {**sizes, "maxTexture1DLinear": linear, "maxTexture1DMipmap": linear}


def _attributes(properties: Mapping[str, Any], gpu: GPU) -> dict[int, int]:
    """hipDeviceGetAttribute by the number of hipDeviceAttribute_t.

    data/hip_attributes.csv has every attribute of ROCm 7.2 with its name and where its value comes from: a property,
    one entry of a property, or a number. 0 is "known, and nothing there": textures, PCI ids, shared handles.
    """
    known = {**properties, "computeUnits": gpu.compute_units, "xccs": gpu.xccs}
    known["maxVgprs"] = gpu.target.max_vgprs_per_wave
    known["hasImages"] = int(gpu.target.image_units != "none")
    values = {}
    for number, value in _attribute_table():
        name, _, index = value.rstrip("]").partition("[")
        entry = known[name][int(index)] if index else known.get(name, name)
        values[number] = int(entry)
    return values


@cache
def _attribute_table() -> tuple[tuple[int, str], ...]:
    text = resources.files("kernel_pytorch.emulate").joinpath("data").joinpath("hip_attributes.csv").read_text("utf-8")
    return tuple((int(row["number"]), row["value"]) for row in csv.DictReader(text.splitlines()))
