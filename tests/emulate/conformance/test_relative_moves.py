"""Moves through M0, which the table treats as flow of control."""

from __future__ import annotations

import random

import numpy as np

from .harness import Library, Start, differences
from .programs import Program


def set_six(start: Start) -> None:
    start.state[124] = np.uint32(6)


def set_seven(start: Start) -> None:
    start.state[124] = np.uint32(7)


def test_scalar_and_vector_moves_relative_to_m0() -> None:
    lines = [
        "s_movrels_b32 s70, s40",
        "s_movrels_b64 s[70:71], s[40:41]",
        "s_movreld_b32 s70, s40",
        "s_movreld_b64 s[70:71], s[40:41]",
        "v_movrels_b32 v40, v0",
        "v_movreld_b32 v40, v0",
    ]
    for target, wave, some in (("gfx942", 64, lines[:4]), ("gfx1030", 32, lines)):
        programs = [Program(line.split()[0], target, wave, [line]) for line in some]
        library = Library(programs)
        for index, program in enumerate(programs):
            even = program.name.endswith("b64")
            found = differences(
                library, index, "", random.Random(1), (1 << wave) - 2, prepare=set_six if even else set_seven
            )
            assert not found, found[0]
