"""Compile caches, and what a first run costs

What: Where torch.compile, Triton, aiter, TunableOp and the HIP compiler keep their results, and how much is there.
Why: On AMD each of them is slow on its first run: minutes, which look like a hang and get killed. A container with its
    cache in /tmp pays that again at every start. Do not kill a first compilation before 15 minutes.
Fix: Put the caches on a disk that stays: set TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR. Set timeouts to 600 s or
    more for first runs.
Source: https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html (the folders);
    https://skills.sh/arist12/amd-skills/amd-kernel-optimization (2-15 minutes, time limits of 600 s: its figures, not
    measured here).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.caches import Cache
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP141", "compile-caches", "system", Applies.NOT_NVIDIA_ONLY)
STAYS = ("torch.compile", "Triton")


def check(machine: Machine) -> Iterator[CheckResult]:
    for cache in machine.caches:
        yield CHECK.note(_line(cache))
    volatile = [cache for cache in machine.caches if cache.name in STAYS and _is_lost(machine, cache)]
    if machine.is_amd and volatile:
        home = machine.probe.home
        yield CHECK.note(
            "lost when this container goes: " + ", ".join(cache.name for cache in volatile),
            *(f"export {cache.variable}=/a/mounted/disk/{cache.name.lower()}" for cache in volatile),
            f"# or mount a volume over {home}",
        )


def _is_lost(machine: Machine, cache: Cache) -> bool:
    return machine.container is not None and cache.variable not in machine.probe.env


def _line(cache: Cache) -> str:
    if not cache.warm:
        return f"{cache.name}: nothing in {cache.path} yet; the first run takes {cache.first_run}"
    more = "" if cache.complete else "more than "
    return f"{cache.name}: {more}{cache.size_bytes / 2**20:.1f} MiB in {cache.files} files, {cache.path}"
