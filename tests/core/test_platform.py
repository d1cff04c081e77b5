"""Platform detection: with torch, without torch, and standing in for machines we do not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernel_pytorch.core.hardware import GIB
from kernel_pytorch.core.platform import Platform, detect, is_rocm, using
from kernel_pytorch.core.probe import CommandResult, TorchFacts, this_machine
from kernel_pytorch.core.stand_in import recorded, stand_in

RECORDINGS = Path(__file__).parent / "recordings"


def recording(name: str) -> str:
    return (RECORDINGS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (SimpleNamespace(hip="7.1.52802", cuda=None), True),
        (SimpleNamespace(hip=None, cuda="12.8"), False),
        (SimpleNamespace(hip=None, cuda=None), False),
        (SimpleNamespace(cuda="11.8"), False),  # torch before 1.8 has no `hip`
        (SimpleNamespace(hip=""), True),  # the seeds' definition: not None
    ],
)
def test_is_rocm_is_the_seeds_definition(version: SimpleNamespace, expected: bool) -> None:
    assert is_rocm(SimpleNamespace(version=version)) is expected


def test_importing_and_detecting_load_no_torch() -> None:
    code = (
        "import sys\n"
        "from kernel_pytorch.core.platform import detect\n"
        "from kernel_pytorch.core.stand_in import stand_in\n"
        "assert detect(stand_in('mi300x')).vendor == 'amd'\n"
        "detect()\n"
        "assert not {'torch', 'numpy', 'rich'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("torch", [True, False])
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize(
    ("alias", "count", "devices", "target", "units", "wave"),
    [
        ("mi300x", 8, 8, "gfx942", 304, 64),
        ("mi250x", 2, 4, "gfx90a", 110, 64),
        ("rx7900xtx", 1, 1, "gfx1100", 96, 32),
        ("mi355x", 8, 8, "gfx950", 256, 64),
    ],
)
def test_stand_ins_agree_whatever_the_source(
    alias: str, count: int, devices: int, target: str, units: int, wave: int, torch: bool, tools: bool
) -> None:
    platform = detect(stand_in(alias, count, torch=torch, tools=tools))
    assert platform.vendor == "amd"
    assert platform.is_rocm is torch
    assert len(platform.devices) == devices
    assert {(d.target, d.compute_units, d.wave_size) for d in platform.devices} == {(target, units, wave)}
    assert platform.driver_version == "6.14.14"
    expected_source = "torch" if torch else "rocminfo" if tools else "kfd"
    assert {device.source for device in platform.devices} == {expected_source}


@pytest.mark.parametrize("torch", [True, False])
def test_nvidia_stand_in(torch: bool) -> None:
    platform = detect(stand_in("h200", 2, torch=torch))
    assert platform.vendor == "nvidia"
    assert platform.targets == ("sm_90",)
    assert [device.wave_size for device in platform.devices] == [32, 32]
    assert platform.cuda_version == ("12.8" if torch else None)


def test_no_gpu() -> None:
    assert detect(stand_in(None)) == Platform(vendor="cpu")


def test_using_sets_the_machine_for_a_block_and_no_longer() -> None:
    with using(stand_in("mi300x", 2)):
        assert len(detect().devices) == 2
        with using(stand_in("h200")):
            assert detect().vendor == "nvidia"
        assert detect().vendor == "amd"
    assert detect(stand_in(None)).vendor == "cpu"


def test_gaps_of_one_tool_are_filled_from_another() -> None:
    amd_smi = recording("amd_smi_mi300x_8.json").replace('"gfx942"', '"N/A"')
    platform = detect(recorded(commands={"amd-smi": amd_smi}, files=stand_in_files("mi300x", 8)))
    assert platform.targets == ("gfx942",)
    assert platform.devices[0].name == "AMD Instinct MI300X"
    assert platform.devices[0].source == "amd-smi"


def stand_in_files(alias: str, count: int) -> dict[str, str]:
    from kernel_pytorch.core.hardware import gpu_by_alias
    from kernel_pytorch.core.stand_in import _kfd_files

    return _kfd_files(gpu_by_alias(alias), count, "6.14.14")


def test_lists_in_another_order_are_not_mixed() -> None:
    rocm_smi = recording("rocm_smi_rx7900xtx_igpu.json")
    flipped = rocm_smi.replace("card0", "cardX").replace("card1", "card0").replace("cardX", "card1")
    platform = detect(recorded(commands={"rocminfo": recording("rocminfo_rx7900xtx_igpu.txt"), "rocm-smi": flipped}))
    assert [(d.target, d.name) for d in platform.devices] == [
        ("gfx1100", "AMD Radeon RX 7900 XTX"),
        ("gfx1036", "AMD Radeon Graphics"),
    ]


def test_rocm_version_of_the_system() -> None:
    files = {"/opt/rocm/.info/version": "7.1.1-38\n"}
    assert detect(recorded(files=files)).rocm_version == "7.1.1"
    elsewhere = {"/opt/rocm-6.4/.info/version": "6.4.1-83\n", **files}
    assert detect(recorded(files=elsewhere, env={"ROCM_PATH": "/opt/rocm-6.4"})).rocm_version == "6.4.1"


def test_integrated_amd_gpu_does_not_make_an_nvidia_machine_amd() -> None:
    igpu = recording("rocminfo_rx7900xtx_igpu.txt")
    igpu = igpu.replace("gfx1100", "gfx1036")
    commands = {"rocminfo": igpu, "nvidia-smi": recording("nvidia_smi_h200_2.csv")}
    assert detect(recorded(commands=commands)).vendor == "nvidia"
    rocm = TorchFacts("2.10.0+rocm7.1", "7.1.0", None)
    assert detect(recorded(commands=commands, torch=rocm)).vendor == "amd"


def test_with_cards_of_both_vendors_torch_decides() -> None:
    commands = {
        "rocminfo": recording("rocminfo_mi355x.txt"),
        "nvidia-smi": recording("nvidia_smi_h200_2.csv"),
    }
    assert detect(recorded(commands=commands)).vendor == "amd"
    assert detect(recorded(commands=commands, torch=TorchFacts("2.9.0", None, "12.8"))).vendor == "nvidia"


def test_hanging_tools_leave_the_driver_files() -> None:
    probe = recorded(
        commands={name: CommandResult((name,), "hangs") for name in ("rocminfo", "amd-smi", "rocm-smi")},
        files=stand_in_files("mi300x", 8),
    )
    platform = detect(probe)
    assert (platform.vendor, len(platform.devices)) == ("amd", 8)
    assert platform.devices[0].memory_bytes == 192 * GIB


def test_torch_devices_are_asked_only_when_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Cuda:
        initialised = False

        def is_initialized(self) -> bool:
            return self.initialised

        def is_available(self) -> bool:
            return True

        def device_count(self) -> int:
            return 1

        def get_device_properties(self, index: int) -> SimpleNamespace:
            asked.append(index)
            return SimpleNamespace(
                name="AMD Instinct MI300X", gcnArchName="gfx942:sramecc+:xnack-", multi_processor_count=304,
                total_memory=192 * GIB, warp_size=64,
            )  # fmt: skip

    fake = SimpleNamespace(__version__="2.10.0+rocm7.1", version=SimpleNamespace(hip="7.1.0", cuda=None), cuda=Cuda())
    monkeypatch.setitem(sys.modules, "torch", fake)
    quiet = this_machine().torch()
    assert quiet is not None
    assert (quiet.version, quiet.hip, quiet.devices, asked) == ("2.10.0+rocm7.1", "7.1.0", (), [])
    loud = detect(this_machine(import_torch=True))
    assert asked == [0]
    assert [(d.target, d.source) for d in loud.devices] == [("gfx942", "torch")]
    fake.cuda.initialised = True
    assert detect(this_machine()).devices[0].source == "torch"


def test_unknown_target_is_kept_with_no_wave_size() -> None:
    text = recording("rocminfo_mi355x.txt").replace("gfx950", "gfx9ff").replace("64(0x40)", "?")
    (device,) = detect(recorded(commands={"rocminfo": text})).devices
    assert (device.target, device.wave_size) == ("gfx9ff", 0)
