"""KP130-KP139: environment variables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.core.probe import Probe
from kernel_pytorch.doctor.environment import variables
from tests.doctor.machines import Site, diagnose, statuses, torch_answer

Build = Callable[..., Probe]
SEED_VARIABLES = [
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "HIP_LAUNCH_BLOCKING",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "GPU_MAX_HW_QUEUES",
    "HIP_FORCE_DEV_KERNARG",
    "HSA_NO_SCRATCH_RECLAIM",
    "AMD_LOG_LEVEL",
    "PYTORCH_TUNABLEOP_ENABLED",
    "TORCH_BLAS_PREFER_HIPBLASLT",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "HIP_CACHE_ENABLED",
    "ROCM_PATH",
    "HIP_PLATFORM",
    "GPU_TARGETS",
    "TORCHINDUCTOR_CACHE_DIR",
    "PYTORCH_TUNABLEOP_FILENAME",
]


def test_every_variable_of_the_seeds_is_in_the_table_with_a_source() -> None:
    table = {row.name: row for row in variables()}
    assert set(SEED_VARIABLES) <= set(table)
    assert all(row.what and row.source and row.default for row in table.values())
    assert len(table) == len(variables())


@pytest.mark.parametrize(
    ("code", "env", "fix"),
    [
        ("KP130", {"TORCHINDUCTOR_MAX_AUTOTUNE": "1"}, "unset TORCHINDUCTOR_MAX_AUTOTUNE"),
        ("KP130", {"TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE": "1"}, "unset TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE"),
        ("KP131", {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128"}, "unset PYTORCH_CUDA_ALLOC_CONF"),
        (
            "KP131",
            {"PYTORCH_HIP_ALLOC_CONF": "expandable_segments:True, max_split_size_mb:64"},
            "export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True",
        ),
        (
            "KP131",
            {"PYTORCH_ALLOC_CONF": "garbage_collection_threshold:0.8,max_split_size_mb:64"},
            "export PYTORCH_ALLOC_CONF=garbage_collection_threshold:0.8",
        ),
        ("KP132", {"HIP_LAUNCH_BLOCKING": "1"}, "unset HIP_LAUNCH_BLOCKING"),
        ("KP132", {"AMD_SERIALIZE_KERNEL": "3"}, "unset AMD_SERIALIZE_KERNEL"),
        ("KP132", {"CUDA_LAUNCH_BLOCKING": "1"}, "unset CUDA_LAUNCH_BLOCKING"),
        ("KP133", {"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, "unset CUDA_VISIBLE_DEVICES"),
        ("KP133", {"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "2,3"}, "unset HIP_VISIBLE_DEVICES"),
        ("KP134", {"HSA_OVERRIDE_GFX_VERSION": "9.4.2"}, "unset HSA_OVERRIDE_GFX_VERSION"),
        ("KP134", {"HSA_OVERRIDE_GFX_VERSION_1": "10.3.0"}, "unset HSA_OVERRIDE_GFX_VERSION_1"),
    ],
)
def test_red_flags(amd: Build, machine_with: Build, code: str, env: dict[str, str], fix: str) -> None:
    for probe in (amd(env=env), machine_with(env=env)):
        (result,) = diagnose(probe, code)
        assert result.status is Status.FAIL
        assert fix in result.fix
    nvidia = machine_with(env=env, commands={"nvidia-smi": "0, NVIDIA H200, 9.0, 143771, 570.133.20\n"})
    (result,) = diagnose(nvidia, code)
    assert result.status is Status.NOT_RUN


@pytest.mark.parametrize(
    ("code", "env"),
    [
        ("KP130", {}),
        ("KP130", {"TORCHINDUCTOR_MAX_AUTOTUNE": "0"}),
        ("KP131", {"PYTORCH_CUDA_ALLOC_CONF": "garbage_collection_threshold:0.8"}),
        ("KP132", {"HIP_LAUNCH_BLOCKING": "0"}),
        ("KP133", {"HIP_VISIBLE_DEVICES": "0,1", "CUDA_VISIBLE_DEVICES": "0, 1"}),
        ("KP133", {"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "0,1"}),
        ("KP134", {}),
        ("KP136", {"AMD_COMGR_CACHE": "1"}),
        ("KP138", {"AMD_LOG_LEVEL": "0"}),
    ],
)
def test_environments_that_are_fine(amd: Build, code: str, env: dict[str, str]) -> None:
    assert statuses(diagnose(amd(env=env), code)) == [Status.PASS]


@pytest.mark.parametrize("value", ["", "-1"])
def test_kp133_a_list_that_hides_every_gpu(amd: Build, value: str) -> None:
    (result,) = diagnose(amd(env={"HIP_VISIBLE_DEVICES": value}), "KP133")
    assert (result.status, "hides every GPU" in result.detail) == (Status.WARN, True)


def test_kp134_names_what_the_driver_says(amd: Build, site: Site) -> None:
    site.rocm_torch()
    (result,) = diagnose(amd(env={"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}), "KP134")
    assert "(gfx1100), the GPU is gfx942" in result.detail


def test_kp134_known_workaround_is_a_warning(amd: Build, site: Site) -> None:
    site.rocm_torch()
    probe = amd("rx9070xt", env={"HSA_OVERRIDE_GFX_VERSION": "11.0.0"})
    (result,) = diagnose(probe, "KP134", torch=torch_answer(arch_list=("gfx1100",)))
    assert result.status is Status.WARN


@pytest.mark.parametrize(
    ("torch", "hip", "status"),
    [
        ("2.9.1+rocm6.4", "6.4.43484", Status.WARN),
        ("2.10.0+rocm7.1", "7.1.52802", Status.WARN),
        ("2.11.0+rocm7.2", "7.2.53211", Status.INFO),
    ],
)
def test_kp135_expandable_segments_by_version(amd: Build, site: Site, torch: str, hip: str, status: Status) -> None:
    site.rocm_torch(torch, hip)
    probe = amd(env={"PYTORCH_HIP_ALLOC_CONF": "expandable_segments:True"})
    assert statuses(diagnose(probe, "KP135")) == [status]
    assert statuses(diagnose(amd(), "KP135")) == [Status.PASS]


def test_kp135_unknown_torch_is_a_note(amd: Build) -> None:
    probe = amd(env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
    assert statuses(diagnose(probe, "KP135")) == [Status.INFO]


def test_kp136_flag_that_does_not_exist(amd: Build) -> None:
    (result,) = diagnose(amd(env={"HIP_CACHE_ENABLED": "1"}), "KP136")
    assert result.status is Status.WARN
    assert "AMD_COMGR_CACHE" in result.detail


def test_kp137_recommended_for_this_gpu_only(amd: Build) -> None:
    (result,) = diagnose(amd("mi300x"), "KP137")
    assert result.status is Status.INFO
    assert "HSA_NO_SCRATCH_RECLAIM=1" in result.detail
    assert "HIP_FORCE_DEV_KERNARG" not in result.detail  # already the default
    (result,) = diagnose(amd("rx7900xtx"), "KP137")
    assert "HSA_NO_SCRATCH_RECLAIM" not in result.detail


def test_kp137_all_set(amd: Build) -> None:
    env = {row.name: row.value for row in variables("recommended")}
    assert statuses(diagnose(amd(env=env), "KP137")) == [Status.PASS]
    other = diagnose(amd(env={**env, "GPU_MAX_HW_QUEUES": "8"}), "KP137")
    assert [result.detail.split(":")[0] for result in other] == ["GPU_MAX_HW_QUEUES=8, recommended is 2"]
    assert statuses(other) == [Status.INFO]


def test_kp138_logging(amd: Build) -> None:
    (result,) = diagnose(amd(env={"AMD_LOG_LEVEL": "4"}), "KP138")
    assert (result.status, result.fix) == (Status.WARN, ("export AMD_LOG_LEVEL=0",))


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"ROCM_PATH": "/opt/rocm-5.7"}, "does not exist"),
        ({"HIP_PLATFORM": "nvidia"}, "does not build for AMD"),
        ({"GPU_TARGETS": "gfx90a;gfx1100"}, "leaves out this machine's gfx942"),
        ({"PYTORCH_ROCM_ARCH": "gfx90a"}, "leaves out this machine's gfx942"),
    ],
)
def test_kp139_build_variables_that_do_not_fit(amd: Build, env: dict[str, str], words: str) -> None:
    (result,) = diagnose(amd(env=env), "KP139")
    assert result.status is Status.WARN
    assert words in result.detail


@pytest.mark.parametrize(
    "env", [{}, {"GPU_TARGETS": "gfx942:xnack-"}, {"PYTORCH_ROCM_ARCH": "native"}, {"HIP_PLATFORM": "amd"}]
)
def test_kp139_build_variables_that_fit(amd: Build, env: dict[str, str]) -> None:
    assert statuses(diagnose(amd(env=env), "KP139")) == [Status.PASS]
