"""Rows that see the whole wave against the model: matrix instructions and exchanges between lanes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from .harness import Library, Start, differences, patterns
from .mnemonics import cases
from .wave_programs import exchange_programs, matrix_program, prepare_matrix

MATRIX = [(row, target, wave) for row, target, wave in cases("wave") if row.counts_as == "matrix"]
# gfx950 has nearly all matrix instructions of the CDNA targets before it: theirs are the long run's.
GROUPS = [
    pytest.param(target, wave, marks=pytest.mark.slow) if target in ("gfx90a", "gfx942", "gfx1250") else (target, wave)
    for target, wave in sorted({(target, wave) for _, target, wave in MATRIX})
]


@pytest.mark.parametrize(("target", "wave"), GROUPS)
def test_matrix_rows_agree_with_the_model(target: str, wave: int) -> None:
    programs, kinds = [], []
    for row, its_target, its_wave in MATRIX:
        if (its_target, its_wave) == (target, wave):
            made = matrix_program(row, target, wave)
            programs += made
            kinds += [row.results[0].removeprefix("+")] * len(made)
    library = Library(programs)
    found: list[str] = []
    for index, program in enumerate(programs):
        rng = random.Random(program.lines[0])
        full, some, *_ = patterns(program, rng)
        mask = some if index % 3 == 1 else full  # EXEC is ignored
        fill = prepare_matrix(program.name, rng, wave)
        found += differences(library, index, kinds[index], rng, mask, registers=96, prepare=fill)[:3]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:40])


@pytest.mark.parametrize(
    ("target", "wave"),
    [("gfx942", 64), ("gfx950", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1201", 32), ("gfx1250", 32)],
)
def test_exchanges_between_lanes_agree_with_the_model(target: str, wave: int) -> None:
    programs = exchange_programs(target, wave)
    library = Library(programs)
    found: list[str] = []
    for index, program in enumerate(programs):
        rng = random.Random(program.lines[0])
        for mask in patterns(program, rng):
            found += differences(library, index, "u32", rng, mask, prepare=with_addresses)[:2]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:40])


def with_addresses(start: Start) -> None:
    """v7 holds addresses inside LDS."""
    start.v[7] = start.v[7] % 4000 & ~np.uint32(7)
