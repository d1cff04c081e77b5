"""Every planted race is found, and nothing else is, at both widths."""

from __future__ import annotations

import pytest

from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.launch import load
from kernel_pytorch.emulate.run import RunSettings
from tests.emulate.planted_races import PLANTED, SOURCE

numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_planted_races_are_found_and_nothing_else(gpu: str) -> None:
    wrong = []
    with EmulatedDevice(gpu, RunSettings(races=True)) as device:
        for one in PLANTED:
            x = numpy.zeros(2048, numpy.float32)
            faults = load(device, SOURCE, one.name).launch(one.blocks, 256, x).faults
            found = {fault.kind for fault in faults}
            if found - {"unwritten"} != ({"race"} if one.racy else set()):
                wrong.append((one.name, found))
    assert wrong == []
