"""Conversions of 32 numbers at once, and sums of bytes into four registers, against the model."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kernel_pytorch.emulate.isa.table import find
from kernel_pytorch.emulate.isa.wide_conversions import ROWS

from .harness import Library, Start, differences, patterns
from .programs import Program
from .wave_programs import count_of, moderate, registers

FIRST, SECOND, RANDOM, SCALE, RESULT = 0, 32, 60, 61, 80


def wide_programs(target: str, wave: int) -> list[Program]:
    """Each row on registers, and with a scalar for the last source."""
    programs = []
    for row in ROWS:
        if row.kind != "wave" or find(row.name, target) is None:
            continue
        sources = [count_of(kind) for kind in row.sources]
        places = {1: [FIRST], 2: [FIRST, SCALE], 3: [FIRST, RANDOM if sources[1] == 1 else SECOND, SCALE]}[len(sources)]
        if row.name == "v_mqsad_u32_u8":
            places = [FIRST, RANDOM, SECOND]
        given = [registers("v", place, count) for place, count in zip(places, sources, strict=True)]
        out = registers("v", RESULT, count_of(row.results[0]))
        lines = [f"{row.name} {out}, {', '.join(given)}"]
        if sources[-1] == 1:
            lines.append(f"{row.name} {out}, {', '.join(given[:-1])}, s40")
        programs += [Program(row.name, target, wave, [line]) for line in lines]
    return programs


@pytest.mark.parametrize(("target", "wave"), [("gfx950", 64), ("gfx1100", 32)])
def test_wide_rows_agree_with_the_model(target: str, wave: int) -> None:
    programs = wide_programs(target, wave)
    library = Library(programs)
    found: list[str] = []
    for index, program in enumerate(programs):
        rng = random.Random(program.lines[0])

        def fill(start: Start, program: Program = program, rng: random.Random = rng) -> None:
            bits = np.random.default_rng(rng.getrandbits(32))
            kind = program.name.rsplit("_", 1)[1]
            if kind in ("f32", "f16", "bf16"):
                start.v[FIRST:RANDOM] = moderate(bits, (RANDOM - FIRST, wave), kind)
            start.v[SCALE] = bits.normal(0, 2, wave).astype(np.float32).view(np.uint32)
            start.state[40] = np.float32(-0.3).view(np.uint32)

        full, some, *_ = patterns(program, rng)
        for mask in (full, some):
            found += differences(library, index, "", rng, mask, registers=128, prepare=fill)[:2]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:40])
