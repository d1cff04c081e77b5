"""The hardware table: what a target can do, and which product a device is.

Three data files. `data/targets.csv` holds facts of an instruction set (wave width, registers, LDS, libraries), one row
per gfx or sm target. `data/gpus.csv` holds facts of a product (clock, bandwidth, peak rates), one row per GPU, each
figure for one device as torch sees it: an MI250X board is two devices. Both carry their sources.
`data/processors.csv` holds what LLVM's AMDGPU usage guide says about every processor, old and new: its number in an
ELF file, the register fields of a kernel descriptor, and whether it exists only inside a CPU.

Code asks this table, never "AMD means 64", and keeps no list of gfx names of its own.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.errors import UsageError

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class UnknownTargetError(UsageError):
    """A gfx or sm target, or a GPU alias, that the hardware table does not have."""


@dataclass(frozen=True)
class Target:
    """What the instruction set of one gfx (or sm) target fixes, whatever the product.

    `vgprs_per_simd` counts registers of one lane: a wave that uses 128 of 512 leaves room for four.
    `sgprs_per_simd` is 0 where scalar registers never limit occupancy (RDNA, NVIDIA).
    On RDNA the figures are those of one compute unit; a workgroup in WGP mode has two of them.
    """

    name: str
    vendor: str
    arch: str
    wave_size: int
    simds_per_cu: int
    vgprs_per_simd: int
    vgpr_granule: int
    max_vgprs_per_wave: int
    agprs: str  # "none", "separate" (gfx908: a file of their own) or "unified" (gfx90a on: out of the VGPR file)
    sgprs_per_simd: int
    sgpr_granule: int
    max_waves_per_simd: int
    barriers_per_cu: int
    lds_bytes_per_cu: int
    lds_granule_bytes: int
    max_lds_bytes_per_workgroup: int
    max_threads_per_workgroup: int
    matrix: str  # "mfma", "wmma", "tensor" or "none"
    fp8_format: str | None
    image_units: str  # "full", "no-float-filter" (HIP refuses linear filtering of floats and in 3D) or "none"; AMD only
    stands_for_arch: bool  # the target meant where only the architecture is named
    default_build: bool  # built for where nobody names a target
    first_rocm: str | None  # the first ROCm release whose compiler and libraries know it
    rccl_min_channels: int | None  # what AMD documents for eight such GPUs that are all linked
    libraries: tuple[str, ...]  # "aiter", "aotriton", "hipblaslt", "cudnn-attention": those that serve it by default
    source: str

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor number as HIP gives them: gfx942 is 9, 4; gfx90a is 9, 0; gfx1100 is 11, 0."""
        digits = self.name.removeprefix("gfx").removeprefix("sm_")
        wide = 2 if len(digits) > 3 else 1
        return int(digits[:wide]), int(digits[wide], 16)

    @property
    def has_matrix_units(self) -> bool:
        return self.matrix != "none"

    @property
    def amd_architecture(self) -> AMDArchitecture:
        """The configuration family of an AMD target."""
        if self.vendor != "amd":
            raise UnknownTargetError(f"{self.name} is an {self.vendor} target: it has no AMD architecture")
        return AMDArchitecture[self.arch]


@dataclass(frozen=True)
class Processor:
    """What the ELF format and the kernel descriptor fix for a processor, whether or not kpt has other facts of it.

    `vgpr_step_wave32` is None where the processor has no waves of 32 lanes.
    """

    name: str
    elf_machine: int | None
    is_integrated: bool
    vgpr_step_wave64: int
    vgpr_step_wave32: int | None
    has_wgp_mode: bool
    has_accum_offset: bool


@dataclass(frozen=True)
class GPU:
    """One product. Rates are dense TFLOP/s (TOP/s for int8) at boost clock; None where the unit is missing.

    `achievable` holds measured ceilings (vendor or third party, see `source`) where someone published them.
    """

    name: str
    alias: str
    vendor: str
    target: Target
    name_hint: str
    devices_per_board: int
    memory_gib: float
    memory_type: str
    bandwidth_gbs: float
    compute_units: int
    boost_mhz: float
    l2_mib: float
    mall_mib: float
    peak: Mapping[str, float] = field(hash=False)  # "fp64_vector", "fp16_matrix", ... -> TFLOP/s
    matrix_units: int
    achievable: Mapping[str, float] = field(hash=False)  # "fp16", "bf16", "fp8" -> TFLOP/s
    bus_bits: int
    xccs: int  # dies with compute units in one device; 1 where the vendor has no such word
    links_gbs: float  # what a device can send to its peers of one machine, all links together; 0 where it has none
    link_peers: int  # between how many peers that is shared out; 0 where a switch gives all of it to any of them
    usual: bool  # the product meant where only its target is named
    source: str
    confidence: str

    @property
    def cache_flush_bytes(self) -> int:
        """How much to touch so that nothing of a previous run is left in L2 or MALL: more than twice both."""
        return int(2 * (self.l2_mib + self.mall_mib) * MIB) + MIB

    def peak_tflops(self, dtype: str, *, matrix: bool = True) -> float | None:
        """Dense peak for a dtype such as "bf16"; matrix units if it has them, vector units otherwise."""
        if matrix and f"{dtype}_matrix" in self.peak:
            return self.peak[f"{dtype}_matrix"]
        return self.peak.get(f"{dtype}_vector")


@dataclass(frozen=True)
class GPUMatch:
    """Which product a device is.

    `share` is the part of the product's compute units the device shows: below 1 for a partition (CPX mode of an
    MI300X shows 38 of 304) or for a cut-down product that has no row of its own. `certain` is False where
    another product fits as well, or none fits exactly.
    """

    gpu: GPU
    share: float
    certain: bool


def base_target(name: str) -> str:
    """`gfx942:sramecc+:xnack-` and `amdgcn-amd-amdhsa--gfx942` are gfx942."""
    match = re.search(r"(gfx[0-9a-f]+|sm_[0-9]+)", name.strip().lower())
    return match.group(1) if match else name.strip().lower()


def target(name: str) -> Target:
    """The facts of a target, given with or without feature suffixes. Raises UnknownTargetError."""
    table = _target_table()
    found = table.get(base_target(name))
    if found is None:
        aliases = {row.alias: row.target.name for row in _gpu_table()}
        product = difflib.get_close_matches(base_target(name), list(aliases), n=1, cutoff=0.8)
        wanted = aliases[product[0]] if product else base_target(name)
        raise UnknownTargetError(_unknown("target", name, wanted, list(table)))
    return found


def targets(vendor: str | None = None) -> tuple[Target, ...]:
    """Every target of the table, or of one vendor."""
    return tuple(row for row in _target_table().values() if vendor in (None, row.vendor))


def processors() -> tuple[Processor, ...]:
    """Every AMD processor that LLVM knows."""
    return tuple(_processor_table().values())


def processor(name: str) -> Processor:
    """The row of a processor. One newer than the table is taken for the known one whose name is most like it."""
    table = _processor_table()
    if name in table:
        return table[name]
    return max(reversed(table.values()), key=lambda row: _shared_letters(row.name, name))


def _shared_letters(first: str, second: str) -> int:
    """How many letters two names begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))


def is_integrated(target_name: str) -> bool:
    """Whether a target exists only inside a processor. MI300A is an APU too, but shares gfx942 with MI300X."""
    row = _processor_table().get(base_target(target_name))
    return row is not None and row.is_integrated


def gpus(vendor: str | None = None) -> tuple[GPU, ...]:
    """Every product of the table, or of one vendor."""
    return tuple(row for row in _gpu_table() if vendor in (None, row.vendor))


def gpu_by_alias(alias: str) -> GPU:
    """`mi300x`, `MI300X`, `RX 7900 XTX` and `rx7900xtx` name the same rows on a command line."""
    wanted = re.sub(r"[^a-z0-9]", "", alias.lower())
    for row in _gpu_table():
        if wanted in (row.alias, re.sub(r"[^a-z0-9]", "", row.name.lower())):
            return row
    if wanted in _target_table():
        having = ", ".join(row.alias for row in _gpu_table() if row.target.name == wanted)
        which = f"products with it: {having}" if having else "no product with it has published figures"
        raise UnknownTargetError(f"{alias!r} is an instruction set and no product; {which}")
    raise UnknownTargetError(_unknown("GPU", alias, wanted, [row.alias for row in _gpu_table()]))


def usual_gpu(target_name: str) -> GPU | None:
    """The product meant where only its target is named; None where the table has no product with that target."""
    for row in _gpu_table():
        if row.usual and row.target.name == base_target(target_name):
            return row
    match = find_gpu(target_name)
    return match.gpu if match is not None else None


def find_gpu(
    target_name: str,
    compute_units: int | None = None,
    memory_gib: float | None = None,
    *,
    clock_mhz: float | None = None,
    name: str | None = None,
) -> GPUMatch | None:
    """The product behind a device, from its target, then its size, then its clock.

    The marketing name comes last and only breaks a tie: drivers, containers and virtual machines change it.
    None where the table has no product with that target.
    """
    rows = [row for row in _gpu_table() if row.target.name == base_target(target_name)]
    if not rows:
        return None

    def distance(row: GPU) -> tuple[float, float, float, int]:
        return (
            _unit_distance(row, compute_units),
            _memory_distance(row, compute_units, memory_gib),
            _bucket(abs(row.boost_mhz - clock_mhz) / row.boost_mhz) if clock_mhz else 0.0,
            0 if name and re.search(row.name_hint, name, re.IGNORECASE) else 1,
        )

    ranked = sorted(rows, key=lambda row: (distance(row), row.bandwidth_gbs, row.boost_mhz))
    best = ranked[0]
    tied = len(ranked) > 1 and distance(ranked[1]) == distance(best)
    share = compute_units / best.compute_units if compute_units else 1.0
    exact = compute_units in (None, best.compute_units) and _memory_distance(best, compute_units, memory_gib) == 0
    return GPUMatch(best, min(share, 1.0), certain=exact and not tied)


def _unit_distance(row: GPU, compute_units: int | None) -> float:
    if not compute_units or compute_units == row.compute_units:
        return 0.0
    if row.compute_units % compute_units == 0:
        return 0.5  # a partition of this product fits better than a product of another size
    return 1.0 + abs(row.compute_units - compute_units) / row.compute_units


def _memory_distance(row: GPU, compute_units: int | None, memory_gib: float | None) -> float:
    if not memory_gib:
        return 0.0
    # A partition may see all of the memory (NPS1) or only its part of it (NPS4).
    part = compute_units / row.compute_units if compute_units else 1.0
    possible = (row.memory_gib, row.memory_gib * part)
    return min(_bucket(abs(size - memory_gib) / size) for size in possible)


def _bucket(relative: float) -> float:
    """Firmware keeps a few per cent of memory and clock for itself: such differences decide nothing."""
    return 0.0 if relative < 0.05 else round(relative, 2)


def _unknown(kind: str, given: str, normalised: str, known: list[str]) -> str:
    near = difflib.get_close_matches(normalised, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"unknown {kind} {given!r}; {hint}{'K' if near else 'k'}nown: {', '.join(known)}"


def _rows(file_name: str) -> list[dict[str, str]]:
    text = resources.files("kernel_pytorch.core").joinpath("data").joinpath(file_name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def _target_table() -> dict[str, Target]:
    return {row["target"]: _target_row(row) for row in _rows("targets.csv")}


def _target_row(row: dict[str, str]) -> Target:
    return Target(
        name=row["target"],
        vendor=row["vendor"],
        arch=row["arch"],
        wave_size=int(row["wave_size"]),
        simds_per_cu=int(row["simds_per_cu"]),
        vgprs_per_simd=int(row["vgprs_per_simd"]),
        vgpr_granule=int(row["vgpr_granule"]),
        max_vgprs_per_wave=int(row["max_vgprs_per_wave"]),
        agprs=row["agprs"],
        sgprs_per_simd=int(row["sgprs_per_simd"]),
        sgpr_granule=int(row["sgpr_granule"]),
        max_waves_per_simd=int(row["max_waves_per_simd"]),
        barriers_per_cu=int(row["barriers_per_cu"]),
        lds_bytes_per_cu=int(row["lds_kib_per_cu"]) * KIB,
        lds_granule_bytes=int(row["lds_granule_bytes"]),
        max_lds_bytes_per_workgroup=int(row["max_lds_kib_per_workgroup"]) * KIB,
        max_threads_per_workgroup=int(row["max_threads_per_workgroup"]),
        matrix=row["matrix"],
        fp8_format=row["fp8_format"] or None,
        image_units=row["image_units"] or "none",
        stands_for_arch=row["stands_for_arch"] == "yes",
        default_build=row["default_build"] == "yes",
        first_rocm=row["first_rocm"] or None,
        rccl_min_channels=int(row["rccl_min_channels"]) if row["rccl_min_channels"] else None,
        libraries=tuple(row["libraries"].split()),
        source=row["source"],
    )


@cache
def _processor_table() -> dict[str, Processor]:
    return {row["target"]: _processor_row(row) for row in _rows("processors.csv")}


def _processor_row(row: dict[str, str]) -> Processor:
    return Processor(
        name=row["target"],
        elf_machine=int(row["elf_machine"], 16) if row["elf_machine"] else None,
        is_integrated=row["integrated"] == "yes",
        vgpr_step_wave64=int(row["vgpr_step_wave64"]),
        vgpr_step_wave32=int(row["vgpr_step_wave32"]) if row["vgpr_step_wave32"] else None,
        has_wgp_mode=row["wgp_mode"] == "yes",
        has_accum_offset=row["accum_offset"] == "yes",
    )


@cache
def _gpu_table() -> tuple[GPU, ...]:
    return tuple(_gpu_row(row) for row in _rows("gpus.csv"))


def _gpu_row(row: dict[str, str]) -> GPU:
    def filled(suffixes: tuple[str, ...]) -> dict[str, float]:
        return {key: float(row[key]) for key in row if key.endswith(suffixes) and row[key]}

    return GPU(
        name=row["name"],
        alias=row["alias"],
        vendor=row["vendor"],
        target=_target_table()[row["target"]],
        name_hint=row["name_hint"],
        devices_per_board=int(row["devices_per_board"]),
        memory_gib=float(row["memory_gib"]),
        memory_type=row["memory_type"],
        bandwidth_gbs=float(row["bandwidth_gbs"]),
        compute_units=int(row["compute_units"]),
        boost_mhz=float(row["boost_mhz"]),
        l2_mib=float(row["l2_mib"]),
        mall_mib=float(row["mall_mib"] or 0),
        peak=filled(("_vector", "_matrix")),
        matrix_units=int(row["matrix_units"]),
        achievable={
            key.removeprefix("achievable_"): float(row[key])
            for key in row
            if key.startswith("achievable_") and row[key]
        },
        bus_bits=int(row["bus_bits"]),
        xccs=int(row["xccs"] or 1),
        links_gbs=float(row["links_gbs"] or 0),
        link_peers=int(row["link_peers"] or 0),
        usual=row["usual"] == "yes",
        source=row["source"],
        confidence=row["confidence"],
    )
