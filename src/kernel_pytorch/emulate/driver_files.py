"""The files in which a GPU's driver describes it, for programs that look there before they load HIP (JAX does).

A small library is preloaded that sends `/dev/kfd` and `/sys/class/kfd` to a folder of ours; see
native/driver/driver_files.c.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.whole_file import whole_file
from kernel_pytorch.emulate.host_compiler import find_host_compiler

_SOURCE = Path(__file__).resolve().parent / "native" / "driver" / "driver_files.c"
_AMD = 0x1002


def with_driver_files(environment: Mapping[str, str], gpu: GPU, devices: int, folder: Path) -> dict[str, str]:
    """The environment in which a program finds the emulated GPU in its driver's files, which go to `folder`."""
    write_driver_files(gpu, devices, folder)
    preloaded = ":".join(filter(None, [environment.get("LD_PRELOAD", ""), str(preloaded_library())]))
    # The address sanitizer of a program wants to be preloaded first: it is told that this library is meant.
    sanitizer = ":".join(filter(None, [environment.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]))
    return {**environment, "LD_PRELOAD": preloaded, "ASAN_OPTIONS": sanitizer, "KPT_EMULATE_DRIVER": str(folder)}


def write_driver_files(gpu: GPU, devices: int, folder: Path) -> None:
    """`/dev/kfd` and the nodes of `/sys/class/kfd`: the CPU, then the GPUs, as the driver lists them."""
    (folder / "dev").mkdir(parents=True, exist_ok=True)
    (folder / "dev" / "kfd").touch()
    nodes = folder / "sys" / "class" / "kfd" / "kfd" / "topology" / "nodes"
    cpu = {"cpu_cores_count": os.cpu_count() or 1, "simd_count": 0}
    for number, node in enumerate([cpu, *(gpu_properties(gpu, one) for one in range(devices))]):
        place = nodes / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / "properties").write_text("".join(f"{name} {value}\n" for name, value in node.items()))
        (place / "gpu_id").write_text(f"{number}\n")


def gpu_properties(gpu: GPU, number: int) -> dict[str, int]:
    """What the driver says of a GPU, as far as the hardware table knows it."""
    per_unit = gpu.target.simds_per_cu
    digits = re.fullmatch(r"gfx(\d+)(\d)([0-9a-f])", gpu.target.name)
    assert digits is not None, gpu.target.name
    return {
        "cpu_cores_count": 0,
        "simd_count": gpu.compute_units * per_unit,
        "lds_size_in_kb": gpu.target.lds_bytes_per_cu // 1024,
        "wave_front_size": gpu.target.wave_size,
        "simd_per_cu": per_unit,
        "gfx_target_version": int(digits[1]) * 10000 + int(digits[2]) * 100 + int(digits[3], 16),
        "vendor_id": _AMD,
        "location_id": (number + 1) << 8,
        "domain": 0,
        "num_xcc": gpu.xccs,
        "max_engine_clk_fcompute": int(gpu.boost_mhz),
    }


def preloaded_library() -> Path:
    """The library that sends the paths to our folder, built if the cache lacks it."""
    compiler = find_host_compiler()
    digest = hashlib.sha256(_SOURCE.read_bytes() + compiler.version.encode()).hexdigest()[:16]
    path = default_cache() / f"driver-files-{digest}.so"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as built:
            words = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o", str(built), str(_SOURCE), "-ldl"]
            done = run_child([*compiler.command, *words], timeout_s=300)
            if done.returncode != 0:
                raise UsageError(f"{_SOURCE.name} does not compile here:\n{done.stderr}")
    return path
