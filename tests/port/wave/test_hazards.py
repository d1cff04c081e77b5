"""The labelled set: every fault is found with its codes, and innocent kernels are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.wave.analysis import hazards

CASES = sorted((Path(__file__).parent / "hazards").glob("*.cu"))
BUGGY = [path for path in CASES if path.name.startswith("buggy_")]
INNOCENT = [path for path in CASES if path.name.startswith("innocent_")]


def test_the_set_is_large_and_even() -> None:
    assert len(CASES) >= 60
    assert abs(len(BUGGY) - len(INNOCENT)) <= len(CASES) // 8
    assert len(BUGGY) + len(INNOCENT) == len(CASES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_labelled(path: Path) -> None:
    label, _, rest = path.read_text().splitlines()[0].removeprefix("// ").partition(":")
    expected = set(rest.split()) if label == "buggy" else set()
    assert label in ("buggy", "innocent")
    assert expected or label == "innocent"
    source = cxx_file(path.name, path.read_bytes())
    found = {hazard.code for hazard in hazards(source, unit_of(source))}
    assert found == expected
