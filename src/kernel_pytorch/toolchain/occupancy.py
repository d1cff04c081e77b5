"""How many waves of a kernel fit on a SIMD of a GPU at once, and which resource sets the limit.

The rules are those of the hardware as LLVM's AMDGPU back end states them (`; Occupancy:` in its assembly), with two
refinements LLVM leaves out: LDS and, on gfx9, scalar registers are handed out in steps, as ROCm's runtime counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernel_pytorch.core.hardware import Target
from kernel_pytorch.toolchain.code_object import KernelResources


@dataclass(frozen=True)
class Occupancy:
    """Waves per SIMD a kernel reaches, and why not more.

    `unit` is what the waves of one workgroup share: a compute unit, or on RDNA in workgroup-processor mode two of
    them. `limits` gives, per resource, the waves per SIMD that resource alone would allow; `limiter` is the resource
    with the smallest one, or "wave slots" where the kernel reaches what the hardware can hold.
    `workgroup_size` is the size this holds for: the caller's, the one the kernel demands, or else the best one
    up to the kernel's maximum.
    """

    waves_per_simd: int
    max_waves_per_simd: int
    workgroups_per_unit: int
    unit: str  # "CU" or "WGP"
    workgroup_size: int
    limiter: str  # "VGPRs", "SGPRs", "LDS", "workgroup slots", "workgroup size" or "wave slots"
    limits: Mapping[str, int]

    @property
    def workgroups_per_cu(self) -> float:
        """Workgroups per compute unit; half of those of a WGP in workgroup-processor mode."""
        return self.workgroups_per_unit / 2 if self.unit == "WGP" else float(self.workgroups_per_unit)

    @property
    def percent(self) -> float:
        """Share of the wave slots that are filled."""
        return 100.0 * self.waves_per_simd / self.max_waves_per_simd


@dataclass(frozen=True)
class _Unit:
    """What the waves of one workgroup share, for one wave width."""

    name: str
    simds: int
    lds_bytes: int
    barriers: int
    vgprs_per_simd: int
    vgpr_granule: int


def occupancy(
    kernel: KernelResources,
    target: Target,
    workgroup_size: int | None = None,
    dynamic_lds_bytes: int = 0,
) -> Occupancy:
    """The occupancy of a kernel on a target.

    Without `workgroup_size` it is the size the kernel demands, or else the best one it allows: what the resources
    permit. `dynamic_lds_bytes` is added to the LDS the kernel declares. `waves_per_simd` is 0 when not even one
    workgroup fits. Raises ValueError for a size the kernel or the target does not take.
    """
    if target.vendor != "amd":
        raise ValueError(f"{target.name} is not an AMD target")
    if dynamic_lds_bytes < 0:
        raise ValueError(f"dynamic_lds_bytes is {dynamic_lds_bytes}")
    unit = _unit(kernel, target)
    registers = _register_limits(kernel, target, unit)
    lds_bytes = kernel.lds_bytes + dynamic_lds_bytes
    if workgroup_size is None and kernel.required_workgroup_size is not None:
        x, y, z = kernel.required_workgroup_size
        workgroup_size = x * y * z
    if workgroup_size is not None:
        most = min(kernel.max_workgroup_size, target.max_threads_per_workgroup)
        if not 0 < workgroup_size <= most:
            raise ValueError(f"workgroup size {workgroup_size}: {kernel.name} takes 1 to {most}")
        return _for_size(workgroup_size, kernel.wave_size, lds_bytes, target, unit, registers)
    largest = min(kernel.max_workgroup_size, target.max_threads_per_workgroup)
    sizes = sorted({*range(kernel.wave_size, largest + 1, kernel.wave_size), largest}, reverse=True)
    candidates = [_for_size(size, kernel.wave_size, lds_bytes, target, unit, registers) for size in sizes]
    return max(candidates, key=lambda one: (one.waves_per_simd, one.workgroups_per_unit * one.workgroup_size))


def _unit(kernel: KernelResources, target: Target) -> _Unit:
    # On RDNA a wave64 takes two lanes' worth of each register: half as many fit, in steps half as large.
    halves = kernel.wave_size // target.wave_size if kernel.wave_size > target.wave_size else 1
    cus = 2 if kernel.workgroup_processor_mode else 1
    return _Unit(
        name="WGP" if cus == 2 else "CU",
        simds=target.simds_per_cu * cus,
        lds_bytes=target.lds_bytes_per_cu * cus,
        barriers=target.barriers_per_cu * cus,
        vgprs_per_simd=target.vgprs_per_simd // halves,
        vgpr_granule=target.vgpr_granule // halves,
    )


def _register_limits(kernel: KernelResources, target: Target, unit: _Unit) -> dict[str, int]:
    """Waves per SIMD that each kind of register allows."""
    most = target.max_waves_per_simd
    # One count covers both kinds: the metadata's is their sum where they share a file (gfx90a on), and the larger of
    # the two where AGPRs have a file of their own (gfx908).
    vgprs = max(kernel.vgprs, kernel.agprs)
    limits = {"VGPRs": min(most, unit.vgprs_per_simd // _round_up(max(vgprs, 1), unit.vgpr_granule))}
    if target.sgprs_per_simd:
        limits["SGPRs"] = min(most, target.sgprs_per_simd // _round_up(max(kernel.sgprs, 1), target.sgpr_granule))
    return limits


def _for_size(
    workgroup_size: int, wave_size: int, lds_bytes: int, target: Target, unit: _Unit, registers: Mapping[str, int]
) -> Occupancy:
    waves = -(-workgroup_size // wave_size)
    most = target.max_waves_per_simd
    limits = dict(registers)
    groups = {name: limit * unit.simds // waves for name, limit in registers.items()}
    groups["workgroup size"] = most * unit.simds // waves
    if lds_bytes:
        allocated = _round_up(lds_bytes, target.lds_granule_bytes)
        groups["LDS"] = unit.lds_bytes // allocated if lds_bytes <= target.max_lds_bytes_per_workgroup else 0
    if waves > 1:  # a workgroup of one wave needs no barrier
        groups["workgroup slots"] = unit.barriers
    for name in ("LDS", "workgroup slots", "workgroup size"):
        if name in groups:
            limits[name] = min(most, _on_fullest_simd(groups[name] * waves, unit.simds))
    fitting = min(groups.values())
    reached = min(most, *registers.values(), _on_fullest_simd(fitting * waves, unit.simds))
    return Occupancy(
        waves_per_simd=reached,
        max_waves_per_simd=most,
        workgroups_per_unit=fitting,
        unit=unit.name,
        workgroup_size=workgroup_size,
        limiter=_limiter(reached, most, groups, limits),
        limits=limits,
    )


def _limiter(reached: int, most: int, groups: Mapping[str, int], limits: Mapping[str, int]) -> str:
    if reached >= most:
        return "wave slots"
    fitting = min(groups.values())
    # The resource that allows the fewest workgroups; between equals the one that allows the fewest waves.
    tightest = [name for name, count in groups.items() if count == fitting]
    return min(tightest, key=lambda name: (limits.get(name, most), list(groups).index(name)))


def _on_fullest_simd(waves: int, simds: int) -> int:
    return -(-waves // simds)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step
