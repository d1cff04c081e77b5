"""KP101-KP110: the torch that is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.core.probe import CommandResult, Probe
from kernel_pytorch.doctor.machine import examine
from kernel_pytorch.doctor.run import all_checks, run_checks
from tests.doctor.machines import NOON, Site, diagnose, statuses, torch_answer

Build = Callable[..., Probe]


def test_kp101_no_torch_is_a_note_with_the_command_for_amd(amd: Build, machine_with: Build) -> None:
    (result,) = diagnose(amd(), "KP101")
    assert result.status is Status.INFO
    assert any("download.pytorch.org/whl/rocm" in line for line in result.fix)
    (result,) = diagnose(machine_with(), "KP101")
    assert (result.status, result.fix) == (Status.INFO, ())


def test_kp101_names_the_build(amd: Build, site: Site) -> None:
    site.rocm_torch()
    (result,) = diagnose(amd(), "KP101")
    assert result.status is Status.PASS
    assert "rocm build, HIP 7.1.52802" in result.detail


@pytest.mark.parametrize(("version", "cuda"), [("2.9.1+cu128", "12.8"), ("2.9.1+cpu", None)])
def test_kp102_torch_without_rocm_on_amd_is_red(amd: Build, site: Site, version: str, cuda: str | None) -> None:
    site.torch(version, cuda=cuda)
    (result,) = diagnose(amd(), "KP102")
    assert result.status is Status.FAIL
    assert version in result.detail
    assert "pip uninstall -y torch" in result.fix[0]


def test_kp102_integrated_gpu_alone_is_a_warning(machine_with: Build, site: Site) -> None:
    site.torch("2.9.1+cpu")
    node = "/sys/class/kfd/kfd/topology/nodes/1/properties"
    properties = "simd_count 4\nsimd_per_cu 2\nwave_front_size 32\ngfx_target_version 100306\n"
    (result,) = diagnose(machine_with(files={node: properties}), "KP102")
    assert (result.status, "gfx1036" in result.detail) == (Status.WARN, True)


def test_kp102_rocm_torch_passes(amd: Build, site: Site) -> None:
    site.rocm_torch()
    assert statuses(diagnose(amd(), "KP102")) == [Status.PASS]


def test_kp102_does_not_apply_to_a_cuda_machine(machine_with: Build, site: Site) -> None:
    site.torch("2.9.1+cu128", cuda="12.8")
    commands = {"nvidia-smi": "0, NVIDIA H200, 9.0, 143771, 570.133.20\n"}
    (result,) = diagnose(machine_with(commands=commands), "KP102")
    assert result.status is Status.NOT_RUN
    assert result.detail.startswith("not applicable")


def test_kp102_index_follows_the_installed_rocm(amd: Build, site: Site, machine_with: Build) -> None:
    site.torch("2.9.1", cuda="12.8")
    probe = machine_with(
        files={"/opt/rocm/.info/version": "6.4.1-83", "/sys/bus/pci/devices/0/vendor": "0x1002\n",
               "/sys/bus/pci/devices/0/class": "0x120000\n"},
    )  # fmt: skip
    (result,) = diagnose(probe, "KP102")
    assert "https://download.pytorch.org/whl/rocm6.4" in " ".join(result.fix)


def overwritten(site: Site) -> None:
    """A ROCm image in which `pip install -e .` of an NVIDIA project brought a CUDA torch a day later."""
    site.add("torchvision", "0.24.0+rocm6.4", requires=("torch==2.9.0",), at=NOON)
    site.add("pytorch-triton-rocm", "3.5.0", at=NOON)
    site.add("numpy", "2.1.0", at=NOON, requested=True)
    later = NOON + 86_400
    site.add("nvidia-cublas-cu12", "12.8.4.1", at=later)
    site.torch(
        "2.8.0+cu128", cuda="12.8", requires=("nvidia-cublas-cu12==12.8.4.1",), at=later + 60,
        leftovers=("lib/libtorch_hip.so",),
    )  # fmt: skip
    site.add("xformers", "0.0.32", requires=("torch==2.8.0", "numpy"), at=later + 70)
    site.add("openpi", "0.1.0", requires=("xformers>=0.0.30", "jax[cuda12]"), requested=True, at=later + 75)
    site.add("requests", "2.32.0", requested=True, at=later + 76)


def test_kp103_names_what_overwrote_the_rocm_torch(amd: Build, site: Site) -> None:
    overwritten(site)
    (result,) = diagnose(amd(), "KP103")
    assert result.status is Status.FAIL
    assert "2.8.0+cu128 replaced a ROCm torch" in result.detail
    assert "openpi -> xformers -> torch" in result.detail
    assert "asks for `torch==2.8.0`" in result.detail
    assert "requests" not in result.detail
    assert "pytorch-triton-rocm 3.5.0" in result.detail
    assert any("whl/rocm6.4" in line for line in result.fix)  # the ROCm that was there, from torchvision
    assert any("--no-deps openpi" in line for line in result.fix)


def test_kp103_blames_torch_itself_when_it_was_asked_for(amd: Build, site: Site) -> None:
    site.add("triton-rocm", "3.6.0")
    site.torch("2.10.0", cuda="12.8", requested=True, at=NOON + 1000)
    (result,) = diagnose(amd(), "KP103")
    assert "torch itself, asked for by name" in result.detail


def test_kp103_says_so_when_the_records_tell_nothing(amd: Build, site: Site) -> None:
    site.add("pytorch-triton-rocm", "3.5.0", at=NOON)
    site.torch("2.10.0", cuda="12.8", at=NOON + 1000)
    (result,) = diagnose(amd(), "KP103")
    assert "records do not say" in result.detail


def test_kp103_passes_without_leftovers_and_with_a_rocm_torch(amd: Build, site: Site) -> None:
    site.torch("2.9.1+cpu")
    assert statuses(diagnose(amd(), "KP103")) == [Status.PASS]


def test_kp103_passes_with_the_rocm_torch_in_place(amd: Build, site: Site) -> None:
    site.rocm_torch(requires=("pytorch-triton-rocm==3.5.0",))
    site.add("pytorch-triton-rocm", "3.5.0")
    assert statuses(diagnose(amd(), "KP103")) == [Status.PASS]


def test_kp104_files_and_record_disagree(amd: Build, site: Site) -> None:
    site.torch("2.9.1+cu128", cuda="12.8", record_version="2.10.0+rocm7.1")
    (result,) = diagnose(amd(), "KP104")
    assert result.status is Status.FAIL
    assert "2.9.1+cu128" in result.detail
    assert "2.10.0+rocm7.1" in result.detail


def test_kp104_record_of_a_pypi_wheel_has_no_local_part(machine_with: Build, site: Site) -> None:
    site.torch("2.11.0+cu130", cuda="13.0", record_version="2.11.0")
    assert statuses(diagnose(machine_with(), "KP104")) == [Status.PASS]


def test_kp104_builds_of_one_release_mixed(machine_with: Build, site: Site) -> None:
    site.torch("2.11.0+cu130", cuda="13.0", record_version="2.11.0+rocm7.2")
    assert statuses(diagnose(machine_with(), "KP104")) == [Status.FAIL]


def test_kp104_two_records(amd: Build, site: Site) -> None:
    site.rocm_torch()
    site.add("torch", "2.9.1+cu128")
    (result,) = diagnose(amd(), "KP104")
    assert result.status is Status.FAIL
    assert "2 records" in result.detail


def test_kp104_agreement_and_source_builds(amd: Build, site: Site) -> None:
    site.rocm_torch()
    assert statuses(diagnose(amd(), "KP104")) == [Status.PASS]
    for entry in site.folder.glob("torch-*.dist-info/METADATA"):
        entry.unlink()
    assert statuses(diagnose(amd(), "KP104")) == [Status.INFO]


@pytest.mark.parametrize(
    ("system", "status"),
    [("7.1.1-38", Status.PASS), ("7.0.2-56", Status.INFO), ("6.4.1-83", Status.WARN), (None, Status.INFO)],
)
def test_kp105_torch_and_system_rocm(machine_with: Build, site: Site, system: str | None, status: Status) -> None:
    site.rocm_torch()
    files = {"/opt/rocm/.info/version": system} if system else {}
    assert statuses(diagnose(machine_with(files=files), "KP105")) == [status]


def test_kp105_rocm_too_old_for_the_gpu_is_red(amd: Build, site: Site) -> None:
    site.rocm_torch("2.8.0+rocm6.4", "6.4.43484")
    results = diagnose(amd("mi355x"), "KP105")
    assert results[0].status is Status.FAIL
    assert "does not know gfx950 (first in 7.0)" in results[0].detail


@pytest.mark.parametrize(
    ("driver", "torch", "hip", "status"),
    [
        ("6.14.14", "2.9.1+rocm7.0", "7.0.51831", Status.PASS),
        ("6.8.5", "2.10.0+rocm7.1", "7.1.52802", Status.WARN),
        ("6.7.0", "2.10.0+rocm7.0", "7.0.51831", Status.WARN),
        ("6.16.6", "2.11.0+rocm7.2", "7.2.53211", Status.INFO),  # that row of the table is not complete
        ("6.14.14", "2.14.0+rocm8.0", "8.0.1", Status.INFO),  # newer than the table
        ("6.99.1", "2.10.0+rocm7.1", "7.1.52802", Status.INFO),
        ("6.7.0-arch1-1", "2.10.0+rocm7.1", "7.1.52802", Status.INFO),  # a kernel's version, not a driver's
    ],
)
def test_kp106_driver_pairs(amd: Build, site: Site, driver: str, torch: str, hip: str, status: Status) -> None:
    site.rocm_torch(torch, hip)
    assert statuses(diagnose(amd(driver=driver), "KP106")) == [status]


def test_kp106_nothing_to_compare(amd: Build) -> None:
    assert statuses(diagnose(amd(), "KP106")) == [Status.NOT_RUN]


TRITON_PIN = 'pytorch-triton-rocm==3.5.1; platform_system == "Linux"'


@pytest.mark.parametrize(
    ("present", "status", "words"),
    [
        ((("pytorch-triton-rocm", "3.5.1"),), Status.PASS, "is what torch asks for"),
        ((("pytorch-triton-rocm", "3.5.1+gitabc"),), Status.PASS, "is what torch asks for"),
        ((("pytorch-triton-rocm", "3.4.0"),), Status.FAIL, "installed is pytorch-triton-rocm 3.4.0"),
        ((("triton", "3.5.1"),), Status.FAIL, "installed is triton 3.5.1"),
        ((), Status.WARN, "not installed"),
        ((("triton", "3.5.1"), ("pytorch-triton-rocm", "3.5.1")), Status.FAIL, "several Tritons"),
    ],
)
def test_kp107_triton(amd: Build, site: Site, present: tuple[tuple[str, str], ...], status: Status, words: str) -> None:
    site.rocm_torch(requires=("filelock", TRITON_PIN))
    for name, version in present:
        site.add(name, version)
    (result,) = diagnose(amd(), "KP107")
    assert result.status is status
    assert words in result.detail
    if status is Status.FAIL:
        assert any("pytorch-triton-rocm==3.5.1" in line for line in result.fix)


def test_kp107_cpu_torch_pins_nothing(machine_with: Build, site: Site) -> None:
    site.torch("2.13.0+cpu")
    assert statuses(diagnose(machine_with(), "KP107")) == [Status.PASS]
    site.add("triton", "3.9.0")
    assert statuses(diagnose(machine_with(), "KP107")) == [Status.INFO]


@pytest.mark.parametrize(
    ("tag", "python", "status"),
    [
        ("cp311-cp311-manylinux_2_28_x86_64", ">=3.10", Status.PASS),
        ("cp312-cp312-manylinux_2_28_x86_64", ">=3.10", Status.FAIL),
        ("py3-none-any", ">=3.12", Status.FAIL),
        ("py3-none-any", "", Status.PASS),
    ],
)
def test_kp108_python_version(machine_with: Build, site: Site, tag: str, python: str, status: Status) -> None:
    site.rocm_torch(tag=tag, python=python)
    assert statuses(diagnose(machine_with(python_version=(3, 11, 7)), "KP108")) == [status]


def test_kp109_torch_lacks_the_target(amd: Build, site: Site) -> None:
    site.rocm_torch()
    assert statuses(diagnose(amd("mi300x"), "KP109")) == [Status.PASS]
    (result,) = diagnose(amd("rx9070xt"), "KP109")
    assert result.status is Status.FAIL
    assert "not for gfx1201" in result.detail
    assert statuses(diagnose(amd(), "KP109", torch=torch_answer(arch_list=()))) == [Status.NOT_RUN]


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (torch_answer(), Status.PASS, "imports"),
        (CommandResult(("p",), "hangs"), Status.FAIL, "did not finish within"),
        (
            CommandResult(("p",), "ran", 1, "", "Traceback ...\nImportError: libamdhip64.so.7: cannot open\n"),
            Status.FAIL,
            "ImportError: libamdhip64.so.7",
        ),
        (CommandResult(("p",), "ran", -11, "", ""), Status.FAIL, "exit status -11"),
    ],
)
def test_kp110_import(machine_with: Build, site: Site, answer: CommandResult, status: Status, words: str) -> None:
    site.rocm_torch()
    (result,) = diagnose(machine_with(), "KP110", torch=answer)
    assert result.status is status
    assert words in result.detail


def test_kp105_without_a_rocm_torch_there_is_nothing_to_compare(amd: Build) -> None:
    assert statuses(diagnose(amd(), "KP105")) == [Status.NOT_RUN]


def test_kp109_integrated_gpu_that_torch_has_no_code_for_is_a_note(amd: Build, site: Site) -> None:
    site.rocm_torch()
    node = "/sys/class/kfd/kfd/topology/nodes/2/properties"
    igpu = "simd_count 4\nsimd_per_cu 2\nwave_front_size 32\ngfx_target_version 100306\n"
    probe = amd("rx7900xtx", tools=False)
    list_dir, read_text = probe.list_dir, probe.read_text
    both = replace(
        probe,
        read_text=lambda path: igpu if path == node else read_text(path),
        list_dir=lambda path: ("0", "1", "2") if path.endswith("topology/nodes") else list_dir(path),
    )
    (result,) = diagnose(both, "KP109")
    assert (result.status, "gfx1036" in result.detail) == (Status.INFO, True)


def test_kp110_is_not_run_when_torch_was_not_asked(machine_with: Build, site: Site) -> None:
    site.rocm_torch()
    machine = examine(machine_with(), with_torch=False)
    (result,) = run_checks(machine, [item for item in all_checks() if item.check.code == "KP110"])
    assert (result.status, "--quick" in result.detail) == (Status.NOT_RUN, True)
