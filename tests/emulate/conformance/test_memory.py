"""Every memory row against the model: what is loaded, what is stored, what atomics leave and return."""

from __future__ import annotations

import random

import pytest

from .harness import Library, differences, patterns
from .memory_programs import memory_program, prepare
from .mnemonics import cases
from .programs import Program
from .test_images import TESTED as IMAGES

#: Images and typed buffers have tests of their own (test_images.py).
CASES = [
    (row, target, wave)
    for row, target, wave in cases("memory")
    if row.fact("action") != "clock" and row.name not in IMAGES
]
GROUPS = sorted({(target, wave) for _, target, wave in CASES})


@pytest.mark.parametrize(("target", "wave"), GROUPS)
def test_memory_rows_agree_with_the_model(target: str, wave: int) -> None:
    programs = []
    for row, its_target, its_wave in CASES:
        if (its_target, its_wave) == (target, wave):
            program = memory_program(row, target, wave)
            assert program is not None
            programs.append(program)
    library = Library(programs)
    found: list[str] = []
    for index, program in enumerate(programs):
        rng = random.Random(program.name)
        full, some, _, one, none = patterns(program, rng)
        for mask in (full, some, one, none):
            found += differences(
                library,
                index,
                kind_of(program.name),
                rng,
                mask,
                registers=48,
                prepare=lambda start, name=program.name: prepare(start, name, wave, target),
            )[:2]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:40])


def kind_of(name: str) -> str:
    return "f32" if "f32" in name else ""


def test_buffers_into_lds_where_only_some_targets_can() -> None:
    for target, wave, names in (
        ("gfx950", 64, ("buffer_load_dwordx3", "buffer_load_dwordx4")),
        ("gfx1030", 32, ("buffer_load_dword", "buffer_load_sbyte", "buffer_load_ushort")),
    ):
        resource = "s[56:59]"
        programs = [
            Program(
                name,
                target,
                wave,
                [f"{name} v2, {resource}, 0 offen offset:16 lds", f"{name} off, {resource}, s44 lds"],
            )
            for name in names
        ]
        library = Library(programs)
        for index, program in enumerate(programs):
            rng = random.Random(program.name)
            full, some, *_ = patterns(program, rng)
            for mask in (full, some):
                found = differences(
                    library,
                    index,
                    "",
                    rng,
                    mask,
                    registers=48,
                    prepare=lambda s, n=program.name, w=wave: prepare(s, n, w),
                )
                assert not found, found[0]
