"""Text, JSON, the list of commands and the shell block."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable

import pytest

from kernel_pytorch.core.findings import CheckResult, Status, from_json, to_json
from kernel_pytorch.core.probe import Probe
from kernel_pytorch.doctor import report
from kernel_pytorch.doctor.run import run_checks
from kernel_pytorch.doctor.shell_block import BlockTarget, shell_block
from tests.doctor.machines import Site, look

Build = Callable[..., Probe]
MI300X = BlockTarget("gfx942", "mi300x")


def test_text_begins_with_the_machine_then_problems_then_counts(amd: Build, site: Site) -> None:
    site.rocm_torch()
    machine = look(amd(count=8, env={"HIP_LAUNCH_BLOCKING": "1"}))
    results = list(run_checks(machine))
    lines = report.as_text(machine, results, verbose=False).splitlines()
    assert lines[0] == "machine  8 x MI300X (gfx942, 304 CU, 192 GiB), driver 6.14.14"
    assert lines[1] == "python   3.11.0, torch 2.10.0+rocm7.1 (rocm build)"
    assert lines[3].startswith("red     KP132  HIP_LAUNCH_BLOCKING=1")
    assert lines[-2].startswith("1 red")
    assert "kpt explain KP132" in lines[-1]
    assert all(len(line) <= 100 for line in lines)
    assert report.exit_status(results) == 1


def test_verbose_shows_every_result(amd: Build, site: Site) -> None:
    site.rocm_torch()
    machine = look(amd())
    results = list(run_checks(machine))
    text = report.as_text(machine, results, verbose=True)
    assert all((result.code or "") in text for result in results)
    assert len(report.shown(results, True)) == len(results)
    assert report.exit_status(results) == 0


def test_both_gpus_of_a_mixed_machine_are_in_the_first_line(amd: Build, machine_with: Build) -> None:
    probe = machine_with(commands={"nvidia-smi": "0, NVIDIA H200, 9.0, 143771, 570.133.20\n"})
    machine = look(probe)
    assert next(report.machine_lines(machine)) == "machine  1 x NVIDIA H200 (sm_90, 132 SM, 140 GiB), driver 570.133.20"
    assert next(report.machine_lines(look(machine_with()))) == f"machine  no GPU: {report.NO_GPU}"


def test_json_holds_everything_and_the_results_survive_a_round_trip(amd: Build, site: Site) -> None:
    site.torch("2.9.1+cu128", cuda="12.8")
    machine = look(amd(count=2))
    results = list(run_checks(machine))
    data = json.loads(report.as_json(machine, results))
    assert data["schema"] == 1
    assert data["exit"] == 1
    assert data["torch_build"] == "cuda"
    assert [device["target"] for device in data["platform"]["devices"]] == ["gfx942", "gfx942"]
    assert len(data["checks"]) == len(results) == sum(data["counts"].values())
    red = [row for row in data["checks"] if row["status"] == "fail"]
    assert {row["code"] for row in red} == {"KP102"}
    assert red[0]["area"] == "torch"
    assert {row["applicable"] for row in data["checks"]} == {True}
    assert from_json(CheckResult, to_json(results[0])) == results[0]


def test_not_applicable_is_told_apart_from_not_run(machine_with: Build) -> None:
    machine = look(machine_with())
    results = list(run_checks(machine))
    data = json.loads(report.as_json(machine, results))
    assert data["counts"]["n/a"] > 10
    assert {row["status"] for row in data["checks"] if not row["applicable"]} == {"not_run"}
    assert data["exit"] == 0


def test_fix_prints_the_commands_of_problems_and_is_shell(amd: Build, site: Site) -> None:
    site.torch("2.9.1+cu128", cuda="12.8")
    env = {"HIP_LAUNCH_BLOCKING": "1", "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,a:$(touch /tmp/x)'"}
    text = "\n".join(report.fix_lines(list(run_checks(look(amd(env=env))))))
    assert "unset HIP_LAUNCH_BLOCKING" in text
    assert "pip uninstall -y torch" in text
    assert_is_shell(text)
    assert list(report.fix_lines([])) == ["# kpt doctor --fix: nothing to do"]


def assert_is_shell(text: str) -> None:
    shell = shutil.which("dash") or shutil.which("sh")
    assert shell is not None
    subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_block_for_mi300x_sets_what_the_seeds_recommend(machine_with: Build) -> None:
    text = shell_block(look(machine_with()), MI300X)
    assert_is_shell(text)
    for line in (
        "export GPU_MAX_HW_QUEUES=2",
        "export HIP_FORCE_DEV_KERNARG=1",
        "export HSA_NO_SCRATCH_RECLAIM=1",
        "export AMD_LOG_LEVEL=0",
        "export PYTORCH_TUNABLEOP_ENABLED=1",
        "export TORCH_BLAS_PREFER_HIPBLASLT=1",
    ):
        assert line in text.splitlines()
    assert "export PYTORCH_HIP_ALLOC_CONF" not in [line for line in text.splitlines() if not line.startswith("#")]


def test_block_for_rdna_leaves_out_what_is_for_instinct(machine_with: Build) -> None:
    text = shell_block(look(machine_with()), BlockTarget("gfx1100", "rx7900xtx"))
    assert "HSA_NO_SCRATCH_RECLAIM" not in text
    assert "export PYTORCH_TUNABLEOP_ENABLED=1" in text


@pytest.mark.parametrize(("version", "hip", "there"), [("2.11.0", "7.2.1", True), ("2.10.0", "7.1.1", False)])
def test_block_has_expandable_segments_only_where_they_work(
    amd: Build, site: Site, version: str, hip: str, there: bool
) -> None:
    site.rocm_torch(version, hip)
    lines = shell_block(look(amd()), MI300X).splitlines()
    assert ("export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True" in lines) is there


def test_block_removes_red_flags_and_really_does_when_sourced(amd: Build) -> None:
    env = {
        "TORCHINDUCTOR_MAX_AUTOTUNE": "1",
        "HIP_LAUNCH_BLOCKING": "0",
        "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,garbage_collection_threshold:0.8",
    }
    text = shell_block(look(amd(env=env)), MI300X)
    assert "unset HIP_LAUNCH_BLOCKING" not in text
    done = subprocess.run(
        ["sh", "-c", 'eval "$1"; env', "sh", text], env=env, capture_output=True, text=True, check=True
    )
    after = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert "TORCHINDUCTOR_MAX_AUTOTUNE" not in after
    assert after["PYTORCH_CUDA_ALLOC_CONF"] == "garbage_collection_threshold:0.8"
    assert after["GPU_MAX_HW_QUEUES"] == "2"


def test_block_without_a_gpu_is_comments_only(machine_with: Build) -> None:
    text = shell_block(look(machine_with()), None)
    assert "no AMD GPU" in text
    assert all(line.startswith("#") for line in text.splitlines())


def test_status_words_cover_every_status() -> None:
    assert set(report.WORDS) == set(Status) == set(report.ORDER)
