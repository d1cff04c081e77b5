"""The gfx target: named, configured, asked of the machine (stood in for here), or the default."""

from __future__ import annotations

import pytest

from kernel_pytorch.backends.amd.amd_exceptions import AMDDeviceError
from kernel_pytorch.backends.amd.target_choice import DEFAULT_TARGET, choose_target, family_target
from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.hardware import target
from kernel_pytorch.core.platform import using
from kernel_pytorch.core.probe import TorchFacts
from kernel_pytorch.core.stand_in import recorded, stand_in


def kfd_node(index: int, version: int) -> dict[str, str]:
    text = f"simd_count 256\nsimd_per_cu 4\ngfx_target_version {version}\n"
    return {f"/sys/class/kfd/kfd/topology/nodes/{index}/properties": text}


def test_every_family_has_a_target_of_that_family() -> None:
    for family in set(AMDArchitecture) - {AMDArchitecture.AUTO}:
        assert target(family_target(family)).amd_architecture is family


def test_without_a_gpu_the_default_is_said_to_be_one() -> None:
    with using(recorded()):
        choice = choose_target(AMDConfig())
    assert choice.target == DEFAULT_TARGET
    assert "no AMD GPU here" in choice.reason


@pytest.mark.parametrize(
    ("gpu", "expected"), [("mi300x", "gfx942"), ("mi250x", "gfx90a"), ("mi100", "gfx908"), ("rx7900xtx", "gfx1100")]
)
def test_the_gpu_of_the_machine_is_asked(gpu: str, expected: str) -> None:
    with using(stand_in(gpu)):
        choice = choose_target(AMDConfig())
    assert choice.target == expected
    assert choice.reason == "AMD GPU 0 of this machine"
    assert choice.config.architecture is target(expected).amd_architecture


def test_a_loaded_rocm_torch_is_asked_first() -> None:
    from types import SimpleNamespace

    properties = SimpleNamespace(name="x", gcnArchName="gfx942:sramecc+:xnack-", major=9, minor=4)
    facts = TorchFacts(version="2.9", hip="6.4", cuda=None, devices=(properties,))
    with using(recorded(torch=facts, files=kfd_node(1, 90010))):
        assert choose_target(AMDConfig()).target == "gfx942"


def test_the_drivers_files_are_enough_without_any_tool() -> None:
    with using(recorded(files={**kfd_node(1, 110001), **kfd_node(2, 110001)})):
        assert choose_target(AMDConfig()).target == "gfx1101"


def test_among_unlike_gpus_the_device_id_decides() -> None:
    with using(recorded(files={**kfd_node(1, 90402), **kfd_node(2, 110000)})):
        assert choose_target(AMDConfig(device_id=0)).target == "gfx942"
        assert choose_target(AMDConfig(device_id=1)).target == "gfx1100"
        with pytest.raises(AMDDeviceError, match=r"device_id=2, but this machine shows 2 AMD GPU\(s\)"):
            choose_target(AMDConfig(device_id=2))


def test_a_configured_family_takes_the_machines_own_member_of_it() -> None:
    with using(recorded(files=kfd_node(1, 110001))):
        assert choose_target(AMDConfig(architecture=AMDArchitecture.RDNA3)).target == "gfx1101"
        assert choose_target(AMDConfig(architecture=AMDArchitecture.CDNA3)).target == "gfx942"


def test_a_named_target_asks_nothing() -> None:
    with using(stand_in("mi300x")):
        choice = choose_target(AMDConfig(architecture=AMDArchitecture.RDNA2), "gfx1201")
    assert (choice.target, choice.reason) == ("gfx1201", "named by the caller")


def test_an_nvidia_machine_builds_for_the_default() -> None:
    with using(stand_in("h200")):
        assert choose_target(AMDConfig()).target == DEFAULT_TARGET


def test_a_target_outside_the_table_is_said_so() -> None:
    with using(recorded(files=kfd_node(1, 130000))):
        choice = choose_target(AMDConfig())
    assert choice.target == DEFAULT_TARGET
    assert "gfx1300 is not in the hardware table" in choice.reason
