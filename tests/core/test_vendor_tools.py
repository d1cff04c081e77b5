"""The readers of the vendor tools, on outputs in the tools' documented shapes (recordings/)."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import MIB
from kernel_pytorch.core.probe import CommandResult, run_command
from kernel_pytorch.core.stand_in import recorded
from kernel_pytorch.core.vendor_amd_smi import parse_amd_smi, parse_rocm_smi
from kernel_pytorch.core.vendor_kfd import KFD_NODES, PCI_DEVICES, amd_gpus_on_pci, read_kfd, target_from_version
from kernel_pytorch.core.vendor_nvidia_smi import parse_nvidia_smi
from kernel_pytorch.core.vendor_rocminfo import parse_rocminfo
from kernel_pytorch.core.vendor_tools import read_tools

RECORDINGS = Path(__file__).parent / "recordings"


def recording(name: str) -> str:
    return (RECORDINGS / name).read_text(encoding="utf-8")


def facts(devices: tuple) -> list[tuple]:
    return [(d.index, d.name, d.target, d.compute_units, d.memory_bytes, d.wave_size) for d in devices]


def test_rocminfo_eight_mi300x() -> None:
    reading = parse_rocminfo(recording("rocminfo_mi300x_8.txt"))
    assert reading.understood
    assert reading.driver_version == "6.14.14"
    assert facts(reading.devices) == [(i, "AMD Instinct MI300X", "gfx942", 304, 201310208 * 1024, 64) for i in range(8)]


def test_rocminfo_card_beside_integrated_gpu() -> None:
    reading = parse_rocminfo(recording("rocminfo_rx7900xtx_igpu.txt"))
    assert facts(reading.devices) == [
        (0, "AMD Radeon RX 7900 XTX", "gfx1100", 96, 25149440 * 1024, 32),
        (1, "AMD Radeon Graphics", "gfx1036", 2, 512 * MIB, 32),
    ]
    assert [device.is_integrated for device in reading.devices] == [False, True]
    assert reading.driver_version == ""  # a kernel's own driver tells no version


def test_rocminfo_gfx950() -> None:
    (device,) = parse_rocminfo(recording("rocminfo_mi355x.txt")).devices
    assert (device.target, device.compute_units, device.wave_size) == ("gfx950", 256, 64)


def test_rocminfo_mi250x_boards_are_two_devices_each() -> None:
    devices = parse_rocminfo(recording("rocminfo_mi250x.txt")).devices
    assert [(d.target, d.compute_units) for d in devices] == [("gfx90a", 110)] * 4


@pytest.mark.parametrize(
    "text",
    ["", "Segmentation fault", "\x00\x01\x02", "ROCk module is NOT loaded, possibly no GPU devices\n", "Agent 1\n"],
)
def test_rocminfo_garbage_is_not_understood(text: str) -> None:
    reading = parse_rocminfo(text)
    assert not reading.understood
    assert reading.devices == ()


def test_rocminfo_cut_off_in_the_middle_keeps_whole_agents() -> None:
    text = recording("rocminfo_mi300x_8.txt")
    reading = parse_rocminfo(text[: text.index("Agent 5")])
    assert [device.target for device in reading.devices] == ["gfx942", "gfx942"]


def test_amd_smi_object_form_after_python_warnings() -> None:
    reading = parse_amd_smi(recording("amd_smi_mi300x_8.json"))
    assert reading.understood
    assert reading.driver_version == "6.14.14"
    assert facts(reading.devices) == [(i, "AMD Instinct MI300X", "gfx942", 304, 196592 * MIB, 64) for i in range(8)]


def test_amd_smi_list_form_with_sizes_as_text() -> None:
    reading = parse_amd_smi(recording("amd_smi_mi250x_list.json"))
    assert reading.understood
    assert [(d.name, d.memory_bytes) for d in reading.devices] == [
        ("AMD Instinct MI250X", 65520 * MIB),
        ("gfx90a", 65520 * MIB),
        ("gfx90a", 65520 * MIB),
        ("gfx90a", 65520 * MIB),
    ]


@pytest.mark.parametrize("text", ["", "{", "not json", "{}", '[{"gpu": 0}]', '["x"]', '{"gpu_data": 3}'])
def test_amd_smi_garbage_is_not_understood(text: str) -> None:
    assert not parse_amd_smi(text).understood


def test_amd_smi_values_it_could_not_get() -> None:
    row = {"gpu": 0, "asic": {"market_name": "N/A", "num_compute_units": "N/A", "target_graphics_version": "N/A"}}
    (device,) = parse_amd_smi(json.dumps([row | {"vram": "N/A", "driver": {"version": "N/A"}}])).devices
    assert (device.name, device.target, device.compute_units, device.memory_bytes) == ("AMD GPU", "", 0, 0)


def test_rocm_smi_two_cards() -> None:
    reading = parse_rocm_smi(recording("rocm_smi_rx7900xtx_igpu.json"))
    assert reading.driver_version == "6.12.12"
    assert facts(reading.devices) == [
        (0, "Radeon RX 7900 XTX", "gfx1100", 0, 25753026560, 32),
        (1, "Raphael", "gfx1036", 0, 536870912, 32),
    ]


def test_rocm_smi_of_rocm_4_has_other_keys_and_card_ten_comes_last() -> None:
    reading = parse_rocm_smi(recording("rocm_smi_old_mi100.json"))
    assert reading.understood
    assert [d.name for d in reading.devices] == ["Arcturus GL-XL [AMD Instinct MI100]"] * 2
    assert [d.target for d in reading.devices] == ["", ""]


@pytest.mark.parametrize("text", ["", "WARNING: No JSON data to report\n", "[]", "{}"])
def test_rocm_smi_garbage_is_not_understood(text: str) -> None:
    assert not parse_rocm_smi(text).understood


def test_nvidia_smi_two_h200() -> None:
    reading = parse_nvidia_smi(recording("nvidia_smi_h200_2.csv"))
    assert reading.driver_version == "570.133.20"
    assert facts(reading.devices) == [(i, "NVIDIA H200", "sm_90", 132, 143771 * MIB, 32) for i in range(2)]


@pytest.mark.parametrize(
    "text", ["", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "a,b,c,d,e\n"]
)
def test_nvidia_smi_garbage_is_not_understood(text: str) -> None:
    assert not parse_nvidia_smi(text).understood


@pytest.mark.parametrize(
    ("version", "target"),
    [(90402, "gfx942"), (90010, "gfx90a"), (90500, "gfx950"), (110000, "gfx1100"), (100306, "gfx1036"), (0, "")],
)
def test_kfd_version_numbers(version: int, target: str) -> None:
    assert target_from_version(version) == target


def test_kfd_topology() -> None:
    node = f"{KFD_NODES}/1"
    probe = recorded(
        files={
            f"{KFD_NODES}/0/properties": "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n",
            f"{node}/properties": recording("kfd_node_mi300x.txt"),
            f"{node}/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 206141652992\nflags 0\n",
            f"{KFD_NODES}/10/properties": "simd_count 192\nsimd_per_cu 2\ngfx_target_version 110000\n",
            f"{KFD_NODES}/2/properties": "garbage",
        }
    )
    assert facts(read_kfd(probe)) == [
        (0, "gfx942", "gfx942", 304, 206141652992, 64),
        (1, "gfx1100", "gfx1100", 96, 0, 32),
    ]


def test_pci_bus_counts_amd_display_and_accelerator_devices_only() -> None:
    def device(address: str, vendor: str, kind: str) -> dict[str, str]:
        return {f"{PCI_DEVICES}/{address}/vendor": vendor + "\n", f"{PCI_DEVICES}/{address}/class": kind + "\n"}

    files = {
        **device("0000:03:00.0", "0x1002", "0x030000"),
        **device("0000:03:00.1", "0x1002", "0x040300"),  # its sound device
        **device("0000:05:00.0", "0x1002", "0x120000"),
        **device("0000:01:00.0", "0x10de", "0x030200"),
        **device("0000:00:00.2", "0x1022", "0x080600"),
    }
    assert amd_gpus_on_pci(recorded(files=files)) == ("0000:03:00.0", "0000:05:00.0")


def test_tool_outcomes_are_told_apart() -> None:
    probe = recorded(
        commands={
            "rocminfo": CommandResult(("rocminfo",), "hangs"),
            "amd-smi": CommandResult(("amd-smi",), "ran", 255, "", "\x1b[31mERROR: Unable to open /dev/kfd\x1b[0m\n"),
            "rocm-smi": "WARNING: No JSON data to report\n",
        }
    )
    readings = read_tools(probe)
    assert {name: reading.outcome for name, reading in readings.items()} == {
        "rocminfo": "hangs",
        "amd-smi": "failed",
        "rocm-smi": "garbage",
        "nvidia-smi": "missing",
    }
    assert readings["amd-smi"].detail == "exit 255: ERROR: Unable to open /dev/kfd"


def test_a_tool_that_lists_gpus_and_then_fails_still_counts() -> None:
    text = recording("rocminfo_mi355x.txt")
    probe = recorded(commands={"rocminfo": CommandResult(("rocminfo",), "ran", 1, text, "late trouble")})
    assert read_tools(probe)["rocminfo"].outcome == "ok"


def test_every_tool_runs_through_one_probe() -> None:
    probe = recorded(
        commands={
            "rocminfo": recording("rocminfo_mi300x_8.txt"),
            "amd-smi": recording("amd_smi_mi300x_8.json"),
            "rocm-smi": recording("rocm_smi_rx7900xtx_igpu.json"),
            "nvidia-smi": recording("nvidia_smi_h200_2.csv"),
        }
    )
    counts = {name: len(reading.devices) for name, reading in read_tools(probe).items()}
    assert counts == {"rocminfo": 8, "amd-smi": 8, "rocm-smi": 2, "nvidia-smi": 2}


def script(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def test_a_real_command_that_hangs_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child_file = tmp_path / "child"
    body = (
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(child_file)!r}).write_text(str(child.pid))\n"
        "time.sleep(600)"
    )
    script(tmp_path, "rocminfo", body)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_command(("rocminfo",), 3.0).outcome == "hangs"
    child = int(child_file.read_text())
    for _ in range(100):
        if not _is_running(child):
            break
        time.sleep(0.05)
    assert not _is_running(child)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().split(")")[-1].split()[0] == "Z")


def test_real_commands_missing_broken_and_working(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_command(("rocminfo-that-is-nowhere",), 5).outcome == "missing"
    (tmp_path / "broken").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "broken").chmod(0o755)
    assert run_command(("broken",), 5).outcome == "failed"
    script(tmp_path, "works", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    result = run_command(("works",), 60)
    assert (result.outcome, result.returncode, result.stdout, result.stderr) == ("ran", 3, "out\n", "err\n")
    assert result.succeeded is False


def test_output_that_is_not_utf8_does_not_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    script(tmp_path, "rocminfo", "import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\x00')")
    assert parse_rocminfo(run_command(("rocminfo",), 60).stdout).understood is False
