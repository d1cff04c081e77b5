"""Pairs of instructions issued as one (VOPD): both read before either writes."""

from __future__ import annotations

import random

import pytest

from .harness import Library, differences, patterns
from .programs import Program

PAIRS = [
    "v_dual_mul_f32 v32, v0, v4 :: v_dual_add_f32 v33, v4, v8",
    "v_dual_mov_b32 v0, v5 :: v_dual_mov_b32 v5, v0",  # a swap, if neither sees the other's result
    "v_dual_fmac_f32 v34, v0, v4 :: v_dual_cndmask_b32 v35, v34, v8",
    "v_dual_lshlrev_b32 v36, 3, v0 :: v_dual_sub_f32 v37, v36, v4",
    "v_dual_and_b32 v38, s40, v4 :: v_dual_add_nc_u32 v39, v38, v8",
    "v_dual_fmaak_f32 v40, v0, v4, 0x40490fdb :: v_dual_max_f32 v41, v0, v8",
    "v_dual_subrev_f32 v42, v0, v4 :: v_dual_mul_f32 v43, v42, v8",
]


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_both_halves_read_the_registers_as_they_were(target: str) -> None:
    lines = [line.replace("v_dual_max_f32", "v_dual_max_num_f32") if target == "gfx1201" else line for line in PAIRS]
    programs = [Program("v_dual", target, 32, [line], {0: "f32", 1: "f32", 2: "f32"}) for line in lines]
    library = Library(programs)
    for index, program in enumerate(programs):
        rng = random.Random(index)
        for mask in patterns(program, rng):
            found = differences(library, index, "f32", rng, mask)
            assert not found, found[0]
