"""KP140-KP170: system, packages, Inductor, compiler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernel_pytorch.backends.amd.inductor_table import SETTINGS
from kernel_pytorch.core.findings import Status
from kernel_pytorch.core.hardware import GIB
from kernel_pytorch.core.probe import CommandResult, NodeStat, Probe
from kernel_pytorch.doctor import caches
from kernel_pytorch.doctor.inductor import code_for, differences
from kernel_pytorch.toolchain import find
from tests.doctor.machines import Site, diagnose, look, statuses, torch_answer

Build = Callable[..., Probe]
NUMA = "/proc/sys/kernel/numa_balancing"


@pytest.mark.parametrize(("value", "status"), [("1\n", Status.WARN), ("2\n", Status.WARN), ("0\n", Status.PASS)])
def test_kp140_numa_balancing(amd: Build, value: str, status: Status) -> None:
    probe = amd()
    with_file = replace(probe, read_text=lambda path: value if path == NUMA else probe.read_text(path))
    (result,) = diagnose(with_file, "KP140")
    assert result.status is status
    assert result.fix == ((f"sudo sh -c 'echo 0 > {NUMA}'",) if status is Status.WARN else ())


def test_kp140_unreadable_or_not_amd(amd: Build, machine_with: Build) -> None:
    assert statuses(diagnose(amd(), "KP140")) == [Status.NOT_RUN]
    (result,) = diagnose(machine_with(files={NUMA: "1\n"}), "KP140")
    assert result.detail.startswith("not applicable")


def test_kp141_sizes_and_first_run_times(amd: Build, tmp_path: Path) -> None:
    inductor, triton = tmp_path / "inductor", tmp_path / "home" / ".triton" / "cache"
    (inductor / "aa").mkdir(parents=True)
    (inductor / "aa" / "kernel.py").write_bytes(b"x" * 3 * 2**20)
    (inductor / "aa" / "kernel.so").write_bytes(b"x" * 2**20)
    triton.mkdir(parents=True)
    results = diagnose(amd(env={"TORCHINDUCTOR_CACHE_DIR": str(inductor)}), "KP141")
    assert set(statuses(results)) == {Status.INFO}
    details = {result.detail.split(":")[0]: result.detail for result in results}
    assert details["torch.compile"] == f"torch.compile: 4.0 MiB in 2 files, {inductor}"
    assert "the first run takes 1-2 min" in details["Triton"]
    assert {"torch.compile", "Triton", "aiter", "TunableOp", "HIP compiler (comgr)"} <= details.keys()


def test_kp141_counting_is_bounded(amd: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "MAX_FILES_COUNTED", 5)
    for number in range(9):
        (tmp_path / f"{number}").write_text("x")
    results = diagnose(amd(env={"TRITON_CACHE_DIR": str(tmp_path)}), "KP141")
    assert any("more than" in result.detail and "5 files" in result.detail for result in results)


def test_kp141_aiter_compiles_into_its_own_folder(amd: Build, site: Site) -> None:
    site.add("amd-aiter", "0.1.7", files={"aiter/jit/build/module_mha/kernel.so": b"1234"})
    assert any("aiter: 0.0 MiB in 1 files" in result.detail for result in diagnose(amd(), "KP141"))


def test_kp141_says_what_a_container_loses(amd: Build) -> None:
    probe = amd()
    inside = replace(probe, stat=lambda path: NodeStat(0, 0, 0o644) if path == "/.dockerenv" else probe.stat(path))
    lost = [result for result in diagnose(inside, "KP141") if "lost when" in result.detail]
    assert statuses(lost) == [Status.INFO]
    assert any(line.startswith("export TORCHINDUCTOR_CACHE_DIR=") for line in lost[0].fix)
    assert not [result for result in diagnose(probe, "KP141") if "lost when" in result.detail]


@pytest.mark.parametrize(
    ("free", "status"), [(GIB, Status.FAIL), (10 * GIB, Status.WARN), (100 * GIB, Status.PASS), (None, Status.NOT_RUN)]
)
def test_kp142_disk_space(machine_with: Build, free: int | None, status: Status) -> None:
    assert set(statuses(diagnose(machine_with(free_bytes=free), "KP142"))) == {status}


@pytest.mark.parametrize(("free", "status"), [(64 * 2**20, Status.WARN), (16 * GIB, Status.PASS)])
def test_kp143_shared_memory(amd: Build, free: int, status: Status) -> None:
    probe = amd(free_bytes=free)
    inside = replace(probe, stat=lambda path: NodeStat(0, 0, 0o644) if path == "/.dockerenv" else probe.stat(path))
    (result,) = diagnose(inside, "KP143")
    assert result.status is status
    assert status is Status.PASS or "--shm-size" in result.fix[0]
    assert statuses(diagnose(probe, "KP143")) == [Status.PASS]
    unknown = replace(inside, free_bytes=lambda path: None)
    assert statuses(diagnose(unknown, "KP143")) == [Status.NOT_RUN]


def test_kp150_packages_made_for_cuda(amd: Build, site: Site) -> None:
    site.rocm_torch()
    site.add("nvidia-cublas-cu12", "12.8.4.1")
    site.add("pynvml", "12.0.0")
    site.add("cupy-cuda12x", "13.4.0")
    site.add("jax-cuda12-plugin", "0.6.0")
    site.add("xformers", "0.0.30", files={"xformers/_C.so": b"\x7fELF..libcudart.so.12\x00libtorch_cuda.so\x00"})
    site.add("flash-attn", "2.7.4", files={"flash_attn_2_cuda.so": b"\x7fELF..libamdhip64.so.6\x00"})
    blamed, dead = diagnose(amd(), "KP150")
    assert (blamed.status, dead.status) == (Status.WARN, Status.INFO)
    assert {word for word in blamed.fix[0].split() if word in ("pynvml", "cupy-cuda12x", "xformers")} == {
        "pynvml",
        "cupy-cuda12x",
        "xformers",
    }
    assert "jax-cuda12-plugin" in blamed.detail
    assert "flash-attn" not in blamed.detail
    assert "nvidia-cublas-cu12" in dead.detail


def test_kp150_clean_environment(amd: Build, site: Site) -> None:
    site.rocm_torch()
    site.add("numpy", "2.1.0")
    site.add("cupy-rocm-6-0", "13.4.0")
    assert statuses(diagnose(amd(), "KP150")) == [Status.PASS]


def test_kp150_does_not_apply_on_nvidia(machine_with: Build, site: Site) -> None:
    site.torch("2.9.1+cu128", cuda="12.8")
    site.add("nvidia-cublas-cu12", "12.8.4.1")
    commands = {"nvidia-smi": "0, NVIDIA H200, 9.0, 143771, 570.133.20\n"}
    assert statuses(diagnose(machine_with(commands=commands), "KP150")) == [Status.NOT_RUN]


def test_kp151_amd_packages(amd: Build, site: Site) -> None:
    (result,) = diagnose(amd(), "KP151")
    assert result.status is Status.INFO
    assert "torch's own kernels" in result.detail
    site.add("amd-aiter", "0.1.7")
    site.add("flash-attn", "2.7.4", files={"flash_attn_2_cuda.so": b"..libamdhip64.so.6\x00"})
    (result,) = diagnose(amd(), "KP151")
    assert result.status is Status.INFO
    assert result.detail == "present: amd-aiter 0.1.7, flash-attn 2.7.4 (ROCm build)"


def test_kp160_stock_settings_are_notes_only(amd: Build, site: Site) -> None:
    site.rocm_torch()
    (result,) = diagnose(amd(), "KP160")
    assert result.status is Status.INFO
    for name in ("max_autotune_gemm_backends", "cudagraph_trees", "recompile_limit"):
        assert name in result.detail
    assert "cache_size_limit" not in result.detail
    assert "# in Python: torch._dynamo.config.recompile_limit = 128" in result.fix


@pytest.mark.parametrize(
    ("key", "status"),
    [
        ("inductor.max_autotune", Status.FAIL),
        ("inductor.triton.cudagraphs", Status.WARN),
        ("inductor.memory_planning", Status.WARN),
    ],
)
def test_kp160_harmful_settings(amd: Build, site: Site, key: str, status: Status) -> None:
    site.rocm_torch()
    results = diagnose(amd(), "KP160", torch=torch_answer({key: True}))
    assert results[0].status is status
    assert key in results[0].detail


def test_kp160_settings_as_rocm_needs_them(amd: Build, site: Site) -> None:
    site.rocm_torch()
    good = {setting.key: setting.wanted for setting in SETTINGS}
    assert statuses(diagnose(amd(), "KP160", torch=torch_answer(good))) == [Status.PASS]


def test_kp160_torch_that_does_not_answer_is_not_run(amd: Build, site: Site) -> None:
    site.rocm_torch()
    assert statuses(diagnose(amd(), "KP160", torch=CommandResult(("p",), "hangs"))) == [Status.NOT_RUN]


def test_old_name_of_the_recompile_limit() -> None:
    (found,) = differences({"dynamo.cache_size_limit": 8, "dynamo.recompile_limit": None})
    assert code_for((found,)) == ("torch._dynamo.config.cache_size_limit = 128",)
    assert differences({"dynamo.cache_size_limit": 8, "dynamo.recompile_limit": 256}) == ()


def candidate(kind: str, found: bool, lacks: tuple[str, ...] = ()) -> SimpleNamespace:
    return SimpleNamespace(kind=kind, found=found, lacks=lacks, note=f"the {kind} one")


@pytest.mark.parametrize(
    ("candidates", "status", "words"),
    [
        ((candidate("rocm", False), candidate("zig", True)), Status.PASS, "zig (the zig one)"),
        ((candidate("clang", True, ("device libraries",)),), Status.INFO, "clang lacks device libraries"),
        ((), Status.INFO, "no compiler"),
    ],
)
def test_kp170_compilers(
    machine_with: Build, monkeypatch: pytest.MonkeyPatch, candidates: tuple, status: Status, words: str
) -> None:
    monkeypatch.setattr(find, "candidates", lambda: candidates)
    (result,) = diagnose(machine_with(), "KP170")
    assert result.status is status
    assert words in result.detail


def test_kp170_search_that_fails_does_not_take_doctor_with_it(
    machine_with: Build, monkeypatch: pytest.MonkeyPatch
) -> None:

    def broken() -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(find, "candidates", broken)
    (result,) = diagnose(machine_with(), "KP170")
    assert (result.status, "disk on fire" in result.detail) == (Status.NOT_RUN, True)


def test_machine_with_cards_of_both_vendors_keeps_its_cuda_torch(machine_with: Build, site: Site) -> None:
    site.torch("2.9.1+cu128", cuda="12.8")
    text = (Path(__file__).parent.parent / "core" / "recordings" / "rocminfo_mi355x.txt").read_text()
    commands = {"rocminfo": text, "nvidia-smi": "0, NVIDIA H200, 9.0, 143771, 570.133.20\n"}
    assert statuses(diagnose(machine_with(commands=commands), "KP102")) == [Status.INFO]
    assert look(machine_with(commands=commands)).is_nvidia_only is False
