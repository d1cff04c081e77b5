"""KP120-KP125: GPUs, driver, tools, device nodes, containers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.core.probe import CommandResult, NodeStat, Probe
from kernel_pytorch.core.stand_in import RENDER_GID
from tests.doctor.machines import Site, diagnose, statuses

Build = Callable[..., Probe]
RECORDINGS = Path(__file__).parent.parent / "core" / "recordings"
PCI_ONLY = {
    "/sys/bus/pci/devices/0000:03:00.0/vendor": "0x1002\n",
    "/sys/bus/pci/devices/0000:03:00.0/class": "0x030000\n",
}


def recording(name: str) -> str:
    return (RECORDINGS / name).read_text(encoding="utf-8")


def test_kp120_gpu_without_driver(machine_with: Build, amd: Build) -> None:
    (result,) = diagnose(machine_with(files=PCI_ONLY), "KP120")
    assert result.status is Status.FAIL
    assert "0000:03:00.0" in result.detail
    assert "sudo modprobe amdgpu" in result.fix
    assert statuses(diagnose(amd(), "KP120")) == [Status.PASS]
    assert statuses(diagnose(machine_with(), "KP120")) == [Status.INFO]


def test_kp120_rocm_torch_without_a_gpu_is_a_warning(machine_with: Build, site: Site) -> None:
    site.rocm_torch()
    assert statuses(diagnose(machine_with(), "KP120")) == [Status.WARN]


@pytest.mark.parametrize(
    ("result", "status", "words"),
    [
        (CommandResult(("rocminfo",), "hangs"), Status.FAIL, "rocminfo hangs"),
        (
            CommandResult(("rocminfo",), "ran", 1, "", "Unable to open /dev/kfd read-write: Permission denied"),
            Status.WARN,
            "Permission denied",
        ),
        (CommandResult(("rocminfo",), "ran", 0, "}{ nonsense", ""), Status.WARN, "not its format"),
    ],
)
def test_kp121_tool_trouble(machine_with: Build, result: CommandResult, status: Status, words: str) -> None:
    probe = machine_with(commands={"rocminfo": result}, files=PCI_ONLY)
    found = diagnose(probe, "KP121")
    assert found[0].status is status
    assert words in found[0].detail


def test_kp121_tools_that_answer(amd: Build) -> None:
    (result,) = diagnose(amd(count=8), "KP121")
    assert (result.status, result.detail.endswith("rocminfo (8)")) == (Status.PASS, True)


def test_kp121_missing_tools_are_a_note(machine_with: Build, amd: Build) -> None:
    assert statuses(diagnose(machine_with(), "KP121")) == [Status.INFO]
    (result,) = diagnose(amd(tools=False), "KP121")
    assert (result.status, "driver's own files" in result.detail) == (Status.INFO, True)


def test_kp121_amd_tool_that_fails_on_an_nvidia_machine_is_a_note(machine_with: Build) -> None:
    commands = {
        "rocminfo": CommandResult(("rocminfo",), "ran", 1, "", "ROCk module is NOT loaded"),
        "nvidia-smi": recording("nvidia_smi_h200_2.csv"),
    }
    assert statuses(diagnose(machine_with(commands=commands), "KP121")) == [Status.INFO, Status.PASS]


def test_kp122_integrated_gpu_beside_a_card(machine_with: Build) -> None:
    commands = {"rocminfo": recording("rocminfo_rx7900xtx_igpu.txt")}
    (result,) = diagnose(machine_with(commands=commands), "KP122")
    assert result.status is Status.WARN
    assert result.fix == ("export HIP_VISIBLE_DEVICES=0",)
    masked = machine_with(commands=commands, env={"HIP_VISIBLE_DEVICES": "0"})
    assert statuses(diagnose(masked, "KP122")) == [Status.INFO]


def test_kp122_two_kinds_of_cards(machine_with: Build) -> None:
    text = recording("rocminfo_rx7900xtx_igpu.txt").replace("gfx1036", "gfx1030")
    (result,) = diagnose(machine_with(commands={"rocminfo": text}), "KP122")
    assert (result.status, result.fix) == (Status.WARN, ())


def test_kp122_equal_gpus_pass(machine_with: Build) -> None:
    commands = {"rocminfo": recording("rocminfo_mi300x_8.txt")}
    (result,) = diagnose(machine_with(commands=commands), "KP122")
    assert (result.status, result.detail) == (Status.PASS, "8 x gfx942")


def without_nodes(probe: Probe) -> Probe:
    from dataclasses import replace

    hidden = ("/dev/kfd", "/dev/dri")
    return replace(
        probe,
        stat=lambda path: None if path.startswith(hidden) else probe.stat(path),
        list_dir=lambda path: () if path.startswith(hidden) else probe.list_dir(path),
        open_error=lambda path: "No such file or directory",
    )


def inside(probe: Probe, marker: str) -> Probe:
    from dataclasses import replace

    stat = probe.stat
    return replace(probe, stat=lambda path: NodeStat(0, 0, 0o644) if path == marker else stat(path))


def test_kp123_nodes_present(amd: Build) -> None:
    assert statuses(diagnose(amd(), "KP123")) == [Status.PASS]


@pytest.mark.parametrize(("marker", "command"), [("/.dockerenv", "docker run"), ("/run/.containerenv", "podman run")])
def test_kp123_container_started_without_the_flags(amd: Build, marker: str, command: str) -> None:
    (result,) = diagnose(inside(without_nodes(amd()), marker), "KP123")
    assert result.status is Status.FAIL
    assert "the host has an AMD GPU" in result.detail
    (line,) = result.fix
    assert line.startswith(command)
    for flag in ("--device /dev/kfd", "--device /dev/dri", "--group-add", "--security-opt seccomp=unconfined"):
        assert flag in line


def test_kp123_container_kinds_from_the_environment_and_cgroup(machine_with: Build, site: Site) -> None:
    site.rocm_torch()
    (result,) = diagnose(machine_with(env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}), "KP123")
    assert "amd.com/gpu" in result.fix[0]
    (result,) = diagnose(machine_with(env={"APPTAINER_CONTAINER": "/x.sif"}), "KP123")
    assert "--rocm" in result.fix[0]
    (result,) = diagnose(machine_with(files={"/proc/1/cgroup": "0::/docker/4fe\n"}), "KP123")
    assert result.status is Status.WARN  # a ROCm image, but nothing shows that the host has a GPU
    assert result.fix[0].startswith("docker run")


def test_kp123_bare_machine(amd: Build) -> None:
    (result,) = diagnose(without_nodes(amd()), "KP123")
    assert result.status is Status.FAIL
    assert "dmesg" in result.fix[0]


def test_kp124_user_outside_the_group(amd: Build) -> None:
    locked = {"/dev/kfd": "Permission denied", "/dev/dri/renderD128": "Permission denied"}
    from dataclasses import replace

    probe = amd(gids=frozenset({1000}))
    probe = replace(probe, open_error=lambda path: locked.get(path, ""))
    (result,) = diagnose(probe, "KP124")
    assert result.status is Status.FAIL
    assert "ada is not in group render (109)" in result.detail
    assert result.fix[0] == "sudo usermod -aG render ada"
    (result,) = diagnose(inside(probe, "/.dockerenv"), "KP124")
    assert "--group-add 109" in result.fix[0]  # the number: names differ between host and image


def test_kp124_right_group_but_locked_all_the_same(amd: Build) -> None:
    from dataclasses import replace

    probe = replace(amd(), open_error=lambda path: "Operation not permitted" if path == "/dev/kfd" else "")
    (result,) = diagnose(probe, "KP124")
    assert result.status is Status.FAIL
    assert "Operation not permitted" in result.detail


def test_kp124_nodes_that_open(amd: Build) -> None:
    (result,) = diagnose(amd(count=2), "KP124")
    assert (result.status, result.detail) == (Status.PASS, "3 nodes of group render open for ada")
    assert statuses(diagnose(without_nodes(amd()), "KP124")) == [Status.NOT_RUN]
    assert RENDER_GID == 109


def test_kp125_counts(amd: Build) -> None:
    assert statuses(diagnose(amd(count=8), "KP125")) == [Status.PASS]
    assert statuses(diagnose(amd(count=8, tools=False), "KP125")) == [Status.NOT_RUN]
    (result,) = diagnose(amd("mi250x", 2), "KP125")
    assert result.detail == "every source lists 4 (two devices are one MI250X board)"


def test_kp125_a_lost_gpu(amd: Build, machine_with: Build) -> None:
    from dataclasses import replace

    probe = amd(count=8)
    seven = recording("rocminfo_mi300x_8.txt")
    seven = seven[: seven.index("Agent 10")]
    run = probe.run
    answer = CommandResult(("rocminfo",), "ran", 0, seven)
    lost = replace(probe, run=lambda argv, t: answer if argv[0] == "rocminfo" else run(argv, t))
    (result,) = diagnose(lost, "KP125")
    assert (result.status, result.detail) == (Status.WARN, "GPUs seen: rocminfo 7, driver 8")
    masked = replace(lost, env={"ROCR_VISIBLE_DEVICES": "0,1,2,3,4,5,6"})
    assert statuses(diagnose(masked, "KP125")) == [Status.INFO]


def test_kp122_without_any_list_is_not_run(machine_with: Build) -> None:
    assert statuses(diagnose(machine_with(files=PCI_ONLY), "KP122")) == [Status.NOT_RUN]


def test_kp123_rocm_torch_on_a_bare_machine_without_a_gpu_is_a_note(machine_with: Build, site: Site) -> None:
    site.rocm_torch()
    assert statuses(diagnose(machine_with(), "KP123")) == [Status.INFO]
