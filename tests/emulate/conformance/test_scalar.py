"""Every scalar row against the model."""

from __future__ import annotations

import random

import pytest

from .harness import Library, differences, patterns
from .mnemonics import cases
from .programs import scalar_program

CASES = [
    (row, target, wave)
    for row, target, wave in cases("scalar")
    if not row.writes_exec or row.name.endswith(f"_b{wave}")  # EXEC is as wide as the wave
]
GROUPS = sorted({(target, wave) for _, target, wave in CASES})


@pytest.mark.parametrize(("target", "wave"), GROUPS)
def test_scalar_rows_agree_with_the_model(target: str, wave: int) -> None:
    rows = [row for row, its_target, its_wave in CASES if (its_target, its_wave) == (target, wave)]
    library = Library([scalar_program(row, target, wave) for row in rows])
    found: list[str] = []
    for index, row in enumerate(rows):
        rng = random.Random(row.name)
        for mask in [mask for _ in range(4) for mask in patterns(library.programs[index], rng)]:
            result = (row.results or ("",))[0].removeprefix("+")
            found += differences(library, index, result, rng, mask, registers=2)[:2]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:40])
