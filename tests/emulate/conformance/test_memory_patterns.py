"""Loads and stores whose lanes lie in rows, on one place, over each other or apart, with some lanes off."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from .harness import Library, Start, differences
from .programs import Program

BASE = 40  # scalar register pair that holds the memory's address
WORDS = {
    "gfx942": {1: "dword", 2: "dwordx2", 3: "dwordx3", 4: "dwordx4"},
    "gfx1100": {1: "b32", 2: "b64", 3: "b96", 4: "b128"},
}

#: Where lane l's access of `size` bytes starts.
LAYOUTS: dict[str, Callable[[int, int], int]] = {
    "one behind the other": lambda lane, size: lane * size,
    "rows of 16": lambda lane, size: lane // 16 * 320 + lane % 16 * size,
    "rows of 8": lambda lane, size: lane // 8 * 160 + lane % 8 * size,
    "one place": lambda lane, size: 64,
    "one place for each row": lambda lane, size: lane // 16 * 48,
    "every second place": lambda lane, size: lane * 2 * size,
    "in disorder": lambda lane, size: lane * 29 % 64 * size,
    "few places": lambda lane, size: lane * 7 % 5 * 20,
    "backwards": lambda lane, size: (63 - lane) * size,
    "over each other": lambda lane, size: lane * 2,
    "one lane elsewhere": lambda lane, size: 1040 if lane == 21 else lane * size,
}


def masks(wave: int) -> list[int]:
    full = (1 << wave) - 1
    rng = random.Random(wave)
    rim = sum(0x7FFE << at for at in range(0, wave, 16))
    return [full, full >> 1, full & ~1, full & 0xFFFF, full & 0xFFF0FF00, rim, rng.getrandbits(wave), 1 << 17, 0]


def lines(target: str, words: int) -> list[str]:
    kind = WORDS[target][words]
    ds_load, ds_store = ("ds_read", "ds_write") if target == "gfx942" else ("ds_load", "ds_store")
    registers = [f"v[{at}:{at + words - 1}]" if words > 1 else f"v{at}" for at in (8, 12, 16, 20, 24, 0)]
    bits = 32 * words
    data, near, far, flat, lds, own = registers
    return [
        f"global_load_{kind} {near}, v2, s[{BASE}:{BASE + 1}] offset:16",
        f"global_load_{kind} {far}, v[0:1], off offset:32",
        f"flat_load_{kind} {flat}, v[0:1]",
        f"{ds_load}_b{bits} {lds}, v2 offset:16",
        f"{ds_store}_b{bits} v2, {data} offset:32",
        f"global_store_{kind} v2, {data}, s[{BASE}:{BASE + 1}] offset:48",
        f"flat_store_{kind} v[0:1], {far}",
        f"global_load_{kind} {own}, v[0:1], off",  # the address is lost to what it loads
    ]


@pytest.mark.parametrize(("target", "wave"), [("gfx942", 64), ("gfx1100", 32)])
def test_lanes_in_patterns(target: str, wave: int) -> None:
    programs = [Program(f"{words} words", target, wave, lines(target, words)) for words in WORDS[target]]
    library = Library(programs)
    found: list[str] = []
    for index, words in enumerate(WORDS[target]):
        for name, place in LAYOUTS.items():

            def prepare(start: Start, place: Callable[[int, int], int] = place, size: int = 4 * words) -> None:
                base = start.memory.ctypes.data
                start.state[BASE], start.state[BASE + 1] = base & 0xFFFFFFFF, base >> 32
                for lane in range(wave):
                    at = place(lane, size)
                    start.v[0, lane], start.v[1, lane] = (base + 4096 + at) & 0xFFFFFFFF, (base + 4096 + at) >> 32
                    start.v[2, lane] = at

            for mask in masks(wave):
                rng = random.Random(f"{name} {words}")
                wrong = differences(library, index, "", rng, mask, registers=32, prepare=prepare)
                found += [f"{name}: {line}" for line in wrong[:2]]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:20])
