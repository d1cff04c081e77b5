"""Rounding and denormal modes of the MODE register."""

from __future__ import annotations

import random
import re

import pytest

from kernel_pytorch.emulate.isa.table import find

from ..model.state import DEFAULT_MODE
from .harness import Library, differences, patterns
from .programs import lane_program

ROUNDED = [
    "v_add_f32",
    "v_sub_f32",
    "v_mul_f32",
    "v_fma_f32",
    "v_fmac_f32",
    "v_add_f64",
    "v_mul_f64",
    "v_fma_f64",
    "v_cvt_f32_i32",
    "v_cvt_f32_u32",
    "v_cvt_f32_f64",
    "v_pk_fma_f32",
    "v_rndne_f32",
    "v_floor_f64",
    "v_cvt_i32_f32",
]
FLUSHED = [
    "v_add_f32",
    "v_mul_f32",
    "v_fma_f32",
    "v_add_f16",
    "v_mul_f16",
    "v_fma_f16",
    "v_add_f64",
    "v_fma_f64",
    "v_min_f32",
    "v_max_f32",
    "v_cmp_lt_f32",
    "v_cmp_eq_f16",
    "v_cvt_f32_f16",
    "v_cvt_f16_f32",
    "v_pk_add_f16",
    "v_pk_mul_f32",
]


def check(names: list[str], mode: int, target: str = "gfx942") -> list[str]:
    rows = [find(name, target) for name in names]
    programs = [lane_program(row, target, 64) for row in rows if row is not None]
    for program in programs:
        # Of constants alone the host compiler computes at compile time, to nearest.
        program.lines = [line for line in program.lines if not re.search(r", (-?\d+|0\.5|0x\w+)(,|$)", line)]
    library = Library(programs, mode)
    found: list[str] = []
    for index, row in enumerate(rows):
        assert row is not None
        rng = random.Random(f"{row.name} {mode}")
        for mask in patterns(library.programs[index], rng)[:2]:
            found += differences(library, index, row.results[0].removeprefix("+"), rng, mask)[:2]
    return found


@pytest.mark.parametrize("rounding", [1, 2, 3])
def test_rounding_modes(rounding: int) -> None:
    found = check(ROUNDED, DEFAULT_MODE | rounding | rounding << 2)
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("denormals", [0x00, 0xC0, 0x30])
def test_denormals_are_flushed(denormals: int) -> None:
    """None kept, only those of f16 and f64 kept, only those of f32 kept."""
    found = check(FLUSHED, DEFAULT_MODE & ~0xF0 | denormals)
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_overflow_of_small_floats_saturates_when_asked(target: str) -> None:
    """FP16_OVFL, which Triton sets: the largest number instead of NaN or infinity."""
    names = ["v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"]
    found = check(names, DEFAULT_MODE | 1 << 23, target)
    assert not found, "\n".join(found[:20])
