from __future__ import annotations

import pytest

from kernel_pytorch.core import hardware
from kernel_pytorch.core.architecture import AMDArchitecture

# Dense FLOP per clock and compute unit, from the vendors' architecture documents. Times clock and units this must
# give the table's peak: an independent check of every row, not a copy of it.
FLOPS_PER_CLOCK = {
    "gfx906": {"fp64_vector": 64, "fp32_vector": 128},
    "gfx908": {"fp64_vector": 64, "fp32_vector": 128, "fp32_matrix": 256, "fp16_matrix": 1024, "bf16_matrix": 512},
    "gfx90a": {"fp64_vector": 128, "fp64_matrix": 256, "fp32_vector": 128, "fp16_matrix": 1024, "bf16_matrix": 1024},
    "gfx942": {
        "fp64_vector": 128,
        "fp64_matrix": 256,
        "fp32_vector": 256,
        "tf32_matrix": 1024,
        "fp16_matrix": 2048,
        "bf16_matrix": 2048,
        "fp8_matrix": 4096,
        "int8_matrix": 4096,
    },
    "gfx950": {"fp64_vector": 128, "fp64_matrix": 128, "fp32_vector": 256, "fp16_matrix": 4096, "fp8_matrix": 8192},
    "gfx1030": {"fp64_vector": 8, "fp32_vector": 128},
    "gfx1100": {"fp64_vector": 8, "fp32_vector": 256, "fp16_matrix": 512, "bf16_matrix": 512, "int8_matrix": 512},
    "gfx1201": {"fp64_vector": 8, "fp32_vector": 256, "fp16_matrix": 1024, "fp8_matrix": 2048},
    "sm_80": {"fp64_vector": 64, "fp32_vector": 128, "fp16_matrix": 2048, "tf32_matrix": 1024, "int8_matrix": 4096},
}


# NVIDIA quotes Hopper and Blackwell rates at clocks of their own, not at the boost clock of the table.
CHECKED_BY_CLOCK = [gpu for gpu in hardware.gpus() if gpu.target.name in FLOPS_PER_CLOCK]


@pytest.mark.parametrize("gpu", CHECKED_BY_CLOCK, ids=lambda gpu: gpu.alias)
def test_peak_rates_follow_from_units_and_clock(gpu: hardware.GPU) -> None:
    for unit, flops in FLOPS_PER_CLOCK[gpu.target.name].items():
        expected = gpu.compute_units * flops * gpu.boost_mhz / 1e6
        assert gpu.peak[unit] == pytest.approx(expected, rel=0.05), f"{gpu.name} {unit}"


@pytest.mark.parametrize("gpu", hardware.gpus(), ids=lambda gpu: gpu.alias)
def test_every_row_is_complete_and_sourced(gpu: hardware.GPU) -> None:
    assert gpu.source
    assert gpu.confidence in ("high", "med")
    assert gpu.bandwidth_gbs > 100
    assert (gpu.matrix_units > 0) == gpu.target.has_matrix_units
    assert ("fp8_matrix" in gpu.peak) == (gpu.target.fp8_format is not None)
    assert hardware.gpu_by_alias(gpu.name) is gpu


@pytest.mark.parametrize("target", hardware.targets(), ids=lambda target: target.name)
def test_target_numbers_are_consistent(target: hardware.Target) -> None:
    assert target.wave_size in (32, 64)
    assert target.vgprs_per_simd % target.vgpr_granule == 0
    assert target.vgprs_per_simd >= target.max_vgprs_per_wave
    assert target.max_lds_bytes_per_workgroup <= target.lds_bytes_per_cu
    assert target.lds_bytes_per_cu % target.lds_granule_bytes == 0
    assert target.source


@pytest.mark.parametrize(
    ("name", "wave"),
    [("gfx906", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1201", 32)],
)
def test_wave_width_is_of_the_target_not_of_the_vendor(name: str, wave: int) -> None:
    assert hardware.target(name).wave_size == wave


@pytest.mark.parametrize(
    "spelling",
    [
        "gfx942",
        "gfx942:sramecc+:xnack-",
        "GFX942",
        " gfx942 ",
        "amdgcn-amd-amdhsa--gfx942",
        "hip-amdgcn--gfx942:xnack+",
    ],
)
def test_feature_suffixes_and_triples_are_tolerated(spelling: str) -> None:
    assert hardware.target(spelling).name == "gfx942"


def test_fp8_formats_differ_by_architecture() -> None:
    assert hardware.target("gfx942").fp8_format == "e4m3fnuz"
    assert hardware.target("gfx950").fp8_format == "e4m3fn"
    assert hardware.target("gfx1201").fp8_format == "e4m3fn"
    assert hardware.target("gfx90a").fp8_format is None


@pytest.mark.parametrize("bad", ["gfx9999", "", "mi300x", "sm_999", "x" * 5000])
def test_unknown_target_says_what_is_known(bad: str) -> None:
    with pytest.raises(hardware.UnknownTargetError, match="gfx942"):
        hardware.target(bad)


def test_unknown_alias_suggests() -> None:
    with pytest.raises(hardware.UnknownTargetError, match="did you mean mi300x"):
        hardware.gpu_by_alias("mi300xx")


@pytest.mark.parametrize(
    ("target", "units", "memory", "expected"),
    [
        ("gfx942:sramecc+:xnack-", 304, 191.98, "MI300X"),
        ("gfx942", 304, 255.9, "MI325X"),
        ("gfx942", 228, 127.5, "MI300A"),
        ("gfx90a", 110, 63.98, "MI250X"),
        ("gfx90a", 104, 63.98, "MI210"),
        ("gfx1100", 96, 23.98, "RX 7900 XTX"),
        ("gfx1100", 96, 47.98, "Radeon PRO W7900"),
        ("sm_90", 132, 139.8, "H200-SXM-141GB"),
        ("sm_90", 132, 79.1, "H100-SXM5-80GB"),
        ("gfx906", 60, 31.9, "MI50"),
    ],
)
def test_product_is_found_by_target_units_and_memory(target: str, units: int, memory: float, expected: str) -> None:
    match = hardware.find_gpu(target, units, memory)
    assert match is not None
    assert match.gpu.name == expected
    assert match.certain
    assert match.share == 1.0


def test_a_wrong_marketing_name_does_not_mislead() -> None:
    match = hardware.find_gpu("gfx942", 304, 192.0, name="AMD Instinct MI325X VF")
    assert match is not None
    assert match.gpu.name == "MI300X"


def test_twins_need_clock_or_name_and_say_so() -> None:
    unsure = hardware.find_gpu("gfx950", 256, 287.9)
    assert unsure is not None
    assert not unsure.certain
    by_clock = hardware.find_gpu("gfx950", 256, 287.9, clock_mhz=2400)
    assert by_clock is not None
    assert (by_clock.gpu.name, by_clock.certain) == ("MI355X", True)
    by_name = hardware.find_gpu("gfx950", 256, 287.9, name="AMD Instinct MI355X")
    assert by_name is not None
    assert (by_name.gpu.name, by_name.certain) == ("MI355X", True)


def test_partition_of_an_mi300x_is_a_share_of_it() -> None:
    match = hardware.find_gpu("gfx942", 38, 24.0)
    assert match is not None
    assert match.gpu.name == "MI300X"
    assert match.share == pytest.approx(38 / 304)
    assert not match.certain


def test_product_without_a_row_is_not_certain() -> None:
    match = hardware.find_gpu("gfx1100", 84, 19.98, name="Radeon RX 7900 XT")
    assert match is not None
    assert not match.certain
    assert hardware.find_gpu("gfx1036", 2, 0.5) is None


def test_mi250x_is_two_devices() -> None:
    die = hardware.gpu_by_alias("mi250x")
    assert die.devices_per_board == 2
    assert die.compute_units == 110
    assert die.memory_gib == 64


def test_architectures() -> None:
    assert hardware.target("gfx906").amd_architecture is AMDArchitecture.GCN5
    assert hardware.target("gfx908").amd_architecture is AMDArchitecture.CDNA
    assert hardware.target("gfx1151").amd_architecture is AMDArchitecture.RDNA3
    with pytest.raises(hardware.UnknownTargetError, match="nvidia"):
        _ = hardware.target("sm_90").amd_architecture


def test_flush_size_covers_the_last_level_cache_twice() -> None:
    assert hardware.gpu_by_alias("mi300x").cache_flush_bytes > 2 * (32 + 256) * hardware.MIB


def test_peak_falls_back_to_vector_units() -> None:
    navi21 = hardware.gpu_by_alias("rx6900xt")
    assert navi21.peak_tflops("fp32") == 23.0
    assert navi21.peak_tflops("bf16") is None
    assert hardware.gpu_by_alias("mi300x").peak_tflops("fp64", matrix=False) == 81.7
