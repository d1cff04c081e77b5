"""Every lane-wise row against the model: all forms, all kinds of EXEC, wave 64 and wave 32."""

from __future__ import annotations

import random

import pytest

from kernel_pytorch.emulate.isa.row import Row

from .harness import Library, differences, patterns
from .mnemonics import cases
from .programs import lane_program

CASES = [(row, target, wave) for row, target, wave in cases("lane")]
GROUPS = sorted({(target, wave) for _, target, wave in CASES})


def check(rows: list[Row], target: str, wave: int, as_shipped: bool) -> list[str]:
    if not rows:
        return []
    library = Library([lane_program(row, target, wave) for row in rows], as_shipped=as_shipped)
    found: list[str] = []
    for index, row in enumerate(rows):
        rng = random.Random(row.name)
        full, *others = patterns(library.programs[index], rng)
        # Every row with all lanes on; of the other kinds of EXEC each row sees some, and each kind sees many rows.
        count = 2 if wave == 64 else 1
        for mask in (full, *rng.sample(others, count)):
            found += differences(library, index, row.results[0].removeprefix("+"), rng, mask)[:2]
    return found


@pytest.mark.parametrize(("target", "wave"), GROUPS)
def test_lane_rows_agree_with_the_model(target: str, wave: int) -> None:
    rows = [row for row, its_target, its_wave in CASES if (its_target, its_wave) == (target, wave)]
    shipped = rows[::12] if target == "gfx942" else []
    found = check(shipped, target, wave, True) + check([row for row in rows if row not in shipped], target, wave, False)
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:40])
