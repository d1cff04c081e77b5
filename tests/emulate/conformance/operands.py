"""Operand values: the edges of each type, numbers near each other, and random bits."""

from __future__ import annotations

import random

F32 = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001,
    0xFFA00000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF,
    0x3F000000, 0xBF000000, 0x3F7FFFFF, 0x3F800001, 0x40490FDB, 0x4B000000, 0x4B000001, 0x4AFFFFFF, 0x4F000000,
    0x4EFFFFFF, 0xCF000000, 0xCF000001, 0x4F800000, 0x4F7FFFFF, 0x477FE000, 0x477FF000, 0x38800000, 0x387FC000,
    0x33800000, 0x33000000, 0x33000001, 0x43E00000, 0x43700000, 0x3FC00000, 0x40200000, 0xC0200000, 0x7E800000,
    0x01000000, 0x3EAAAAAB, 0x5F000000, 0x1F800000, 0x42FE0000, 0x437F8000,
]  # fmt: skip
F16 = [
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7C01, 0xFD00, 0x0001, 0x8001, 0x03FF, 0x83FF,
    0x0400, 0x8400, 0x7BFF, 0xFBFF, 0x3800, 0x3BFF, 0x3C01, 0x6400, 0x6401, 0x63FF, 0x7800, 0x3555, 0x4248, 0x1400,
    0x0C00, 0x5BFF,
]  # fmt: skip
F64 = [
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000,
    0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x0000000000000001, 0x800FFFFFFFFFFFFF,
    0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x3FE0000000000000, 0x3FEFFFFFFFFFFFFF,
    0x400921FB54442D18, 0x4330000000000000, 0x4330000000000001, 0x432FFFFFFFFFFFFF, 0x41DFFFFFFFC00000,
    0xC1E0000000000000, 0x41EFFFFFFFE00000, 0x41F0000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000,
    0x36A0000000000000, 0x3690000000000000, 0x3FD5555555555555, 0x5FE0000000000000, 0x1FF0000000000000,
    0x7FD0000000000000, 0x0020000000000000, 0x4008000000000000, 0xC004000000000000,
]  # fmt: skip
U32 = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0x800000,
       0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x00200010, 0x001F0001,
       0x12345678, 0x0C0B0A09, 0x07060504, 0x80FF7F01]  # fmt: skip
U64 = [0, 1, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0x8000000080000000,
       0x00000000FFFFFFFE, 0x0123456789ABCDEF, 0xFFFFFFFF00000000, 0x7FFFFFFF80000001]  # fmt: skip
U16 = [0, 1, 2, 7, 8, 15, 16, 17, 31, 0xFF, 0x100, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x1234]


def near(bits: int, width: int, rng: random.Random) -> int:
    """A number a few steps away, perhaps with the other sign: sums that cancel, comparisons that nearly hold."""
    sign = rng.choice((0, 1 << (width - 1)))
    return (bits + rng.randint(-2, 2) ^ sign) & ((1 << width) - 1)


def one(kind: str, rng: random.Random, other: int | None = None) -> int:
    """A value of the type; `other` is another operand's, to be near to."""
    width = 64 if kind in ("f64", "u64", "i64") else 16 if kind in ("f16", "h16", "u16", "i16") else 32
    edges = {"f32": F32, "f64": F64, "f16": F16, "h16": F16, "u64": U64, "i64": U64, "u16": U16, "i16": U16}
    way = rng.random()
    if other is not None and way < 0.08:
        return other  # a comparison, or the bit that says which operand was taken, may go wrong there alone
    if other is not None and way < 0.2:
        return near(other, width, rng)
    if way < 0.55:
        return rng.choice(edges.get(kind, U32))
    if way < 0.75 and kind in ("f32", "f64", "f16", "h16"):
        # Of moderate size, so that sums round instead of vanishing.
        top = {"f32": (120, 134, 23), "f64": (1015, 1030, 52)}.get(kind, (8, 22, 10))
        return rng.getrandbits(1) << (width - 1) | rng.randint(top[0], top[1]) << top[2] | rng.getrandbits(top[2])
    return rng.getrandbits(width)


def whole_register(kind: str, rng: random.Random, other: int | None = None) -> int:
    """32 or 64 bits to put into registers: a 16-bit type fills both halves."""
    if kind in ("f16", "h16", "u16", "i16"):
        return one(kind, rng, None if other is None else other & 0xFFFF) | one(kind, rng) << 16
    return one(kind, rng, other)


def exec_patterns(size: int, rng: random.Random) -> list[int]:
    full = (1 << size) - 1
    return [full, rng.getrandbits(size) | 1, full // 3, 1 << rng.randrange(size), 0]
