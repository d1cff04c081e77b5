"""IEEE 754 arithmetic on bit patterns, exact in integers and rounded once.

A finite number is (sign, magnitude, exponent) meaning (-1)**sign * magnitude * 2**exponent with any integer magnitude.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

NEAREST, UP, DOWN, ZERO = 0, 1, 2, 3  # the codes of the MODE register


@dataclass(frozen=True)
class Format:
    name: str
    bits: int
    mantissa: int  # stored bits
    bias: int

    @cached_property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    @cached_property
    def top_exponent(self) -> int:
        return (1 << (self.bits - 1 - self.mantissa)) - 1

    @cached_property
    def mantissa_mask(self) -> int:
        return (1 << self.mantissa) - 1

    @cached_property
    def lowest(self) -> int:
        """The exponent of the smallest denormal."""
        return 1 - self.bias - self.mantissa

    @cached_property
    def infinity(self) -> int:
        return self.top_exponent << self.mantissa

    @cached_property
    def nan(self) -> int:
        return self.infinity | (1 << (self.mantissa - 1))

    @cached_property
    def largest(self) -> int:
        return self.infinity - 1

    @cached_property
    def one(self) -> int:
        return self.bias << self.mantissa


F16 = Format("f16", 16, 10, 15)
BF16 = Format("bf16", 16, 7, 127)
F32 = Format("f32", 32, 23, 127)
F64 = Format("f64", 64, 52, 1023)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}


class Finite(NamedTuple):
    sign: int
    magnitude: int
    exponent: int


def sign_of(f: Format, x: int) -> int:
    return x >> (f.bits - 1)


def exponent_field(f: Format, x: int) -> int:
    return (x >> f.mantissa) & f.top_exponent


def mantissa_field(f: Format, x: int) -> int:
    return x & f.mantissa_mask


def is_nan(f: Format, x: int) -> bool:
    return (x & ~f.sign_bit) > f.infinity


def is_signaling(f: Format, x: int) -> bool:
    return is_nan(f, x) and not x & (1 << (f.mantissa - 1))


def is_infinite(f: Format, x: int) -> bool:
    return (x & ~f.sign_bit) == f.infinity


def is_zero(f: Format, x: int) -> bool:
    return (x & ~f.sign_bit) == 0


def is_denormal(f: Format, x: int) -> bool:
    return exponent_field(f, x) == 0 and mantissa_field(f, x) != 0


def is_finite(f: Format, x: int) -> bool:
    return exponent_field(f, x) != f.top_exponent


def quiet(f: Format, x: int) -> int:
    return x | (1 << (f.mantissa - 1))


def unpack(f: Format, x: int) -> Finite:
    sign, e, m = x >> (f.bits - 1), x >> f.mantissa & f.top_exponent, x & f.mantissa_mask
    assert e != f.top_exponent
    if e == 0:
        return Finite(sign, m, f.lowest)
    return Finite(sign, m | f.mantissa_mask + 1, f.lowest + e - 1)


def round_shift(magnitude: int, shift: int, mode: int, sign: int) -> int:
    """magnitude / 2**shift as an integer, rounded as `mode` says for a number of this sign."""
    if shift <= 0:
        return magnitude << -shift
    kept, lost, half = magnitude >> shift, magnitude & ((1 << shift) - 1), 1 << (shift - 1)
    if mode == NEAREST:
        return kept + (lost > half or (lost == half and bool(kept & 1)))
    away_from_zero = mode != ZERO and bool(sign) == (mode == DOWN)
    return kept + (lost != 0 and away_from_zero)


def overflowed(f: Format, sign: int, mode: int) -> int:
    to_infinity = mode == NEAREST or (mode == UP and not sign) or (mode == DOWN and bool(sign))
    return sign << (f.bits - 1) | (f.infinity if to_infinity else f.largest)


def pack(f: Format, value: Finite, mode: int = NEAREST) -> int:
    sign, magnitude, exponent = value
    if magnitude == 0:
        return sign << (f.bits - 1)
    lowest = f.lowest
    wanted = max(magnitude.bit_length() - 1 + exponent - f.mantissa, lowest)
    kept = round_shift(magnitude, wanted - exponent, mode, sign)
    if kept >> (f.mantissa + 1):
        kept >>= 1
        wanted += 1
    field = wanted - lowest + 1 if kept >> f.mantissa else 0
    if field >= f.top_exponent:
        return overflowed(f, sign, mode)
    return sign << (f.bits - 1) | field << f.mantissa | (kept & f.mantissa_mask)


def negate(f: Format, x: int) -> int:
    return x ^ f.sign_bit


def sum_of(terms: list[Finite], mode: int) -> Finite:
    """Exact sum; the sign of an exact zero is the IEEE one."""
    lowest = min(t.exponent for t in terms)
    total = sum((-1 if t.sign else 1) * (t.magnitude << (t.exponent - lowest)) for t in terms)
    if total == 0:
        if all(t.sign for t in terms):
            return Finite(1, 0, 0)
        if not any(t.sign for t in terms):
            return Finite(0, 0, 0)
        return Finite(int(mode == DOWN), 0, 0)
    return Finite(int(total < 0), abs(total), lowest)


def first_nan(f: Format, *operands: int) -> int | None:
    magnitude, infinity = f.sign_bit - 1, f.infinity
    for x in operands:
        if x & magnitude > infinity:
            return quiet(f, x)
    return None


def add(f: Format, a: int, b: int, mode: int = NEAREST) -> int:
    nan = first_nan(f, a, b)
    if nan is not None:
        return nan
    if is_infinite(f, a):
        return f.nan if is_infinite(f, b) and a != b else a
    if is_infinite(f, b):
        return b
    return pack(f, sum_of([unpack(f, a), unpack(f, b)], mode), mode)


def product(a: Finite, b: Finite) -> Finite:
    return Finite(a.sign ^ b.sign, a.magnitude * b.magnitude, a.exponent + b.exponent)


def multiply(f: Format, a: int, b: int, mode: int = NEAREST) -> int:
    nan = first_nan(f, a, b)
    if nan is not None:
        return nan
    sign = (sign_of(f, a) ^ sign_of(f, b)) << (f.bits - 1)
    if is_infinite(f, a) or is_infinite(f, b):
        return f.nan if is_zero(f, a) or is_zero(f, b) else sign | f.infinity
    return pack(f, product(unpack(f, a), unpack(f, b)), mode)


def fused(f: Format, a: int, b: int, c: int, mode: int = NEAREST) -> int:
    """a * b + c, rounded once."""
    nan = first_nan(f, a, b, c)
    if nan is not None:
        return nan
    sign = sign_of(f, a) ^ sign_of(f, b)
    if is_infinite(f, a) or is_infinite(f, b):
        if is_zero(f, a) or is_zero(f, b) or (is_infinite(f, c) and sign_of(f, c) != sign):
            return f.nan
        return sign << (f.bits - 1) | f.infinity
    if is_infinite(f, c):
        return c
    return pack(f, sum_of([product(unpack(f, a), unpack(f, b)), unpack(f, c)], mode), mode)


def divide(f: Format, a: int, b: int, mode: int = NEAREST) -> int:
    nan = first_nan(f, a, b)
    if nan is not None:
        return nan
    sign = sign_of(f, a) ^ sign_of(f, b)
    if is_infinite(f, a):
        return f.nan if is_infinite(f, b) else sign << (f.bits - 1) | f.infinity
    if is_infinite(f, b):
        return sign << (f.bits - 1)
    if is_zero(f, b):
        return f.nan if is_zero(f, a) else sign << (f.bits - 1) | f.infinity
    n, d = unpack(f, a), unpack(f, b)
    extra = 2 * f.mantissa + 8 + d.magnitude.bit_length()
    quotient, rest = divmod(n.magnitude << extra, d.magnitude)
    return pack(f, Finite(sign, quotient << 1 | (rest != 0), n.exponent - d.exponent - extra - 1), mode)


def square_root(f: Format, a: int, mode: int = NEAREST) -> int:
    nan = first_nan(f, a)
    if nan is not None:
        return nan
    if is_zero(f, a):
        return a
    if sign_of(f, a):
        return f.nan
    if is_infinite(f, a):
        return a
    n = unpack(f, a)
    extra = 2 * f.mantissa + 8
    extra += (n.exponent - extra) & 1
    root = math.isqrt(n.magnitude << extra)
    inexact = root * root != n.magnitude << extra
    return pack(f, Finite(0, root << 1 | inexact, (n.exponent - extra) // 2 - 1), mode)


def convert(source: Format, target: Format, x: int, mode: int = NEAREST) -> int:
    if is_nan(source, x):
        m = mantissa_field(source, x)
        shift = target.mantissa - source.mantissa
        m = m << shift if shift >= 0 else m >> -shift
        return quiet(target, sign_of(source, x) << (target.bits - 1) | target.infinity | m)
    if is_infinite(source, x):
        return sign_of(source, x) << (target.bits - 1) | target.infinity
    return pack(target, unpack(source, x), mode)


def from_integer(f: Format, value: int, mode: int = NEAREST) -> int:
    return pack(f, Finite(int(value < 0), abs(value), 0), mode)


def to_integral(f: Format, x: int, mode: int) -> int:
    """The integer value nearest in the given direction, as a float of the same format; keeps the sign of zero."""
    if is_nan(f, x):
        return quiet(f, x)
    if is_infinite(f, x):
        return x
    n = unpack(f, x)
    return pack(f, Finite(n.sign, round_shift(n.magnitude, -n.exponent, mode, n.sign), 0)) if n.exponent < 0 else x


def integer_of(f: Format, x: int, mode: int, low: int, high: int) -> int:
    """Saturating conversion to an integer; NaN gives 0."""
    if is_nan(f, x):
        return 0
    if is_infinite(f, x):
        return low if sign_of(f, x) else high
    n = unpack(f, x)
    value = round_shift(n.magnitude, -n.exponent, mode, n.sign) * (-1 if n.sign else 1)
    return min(max(value, low), high)


def scale(f: Format, x: int, power: int, mode: int = NEAREST) -> int:
    if is_nan(f, x):
        return quiet(f, x)
    if is_infinite(f, x):
        return x
    n = unpack(f, x)
    power = max(min(power, 1 << 14), -(1 << 14))
    return pack(f, Finite(n.sign, n.magnitude, n.exponent + power), mode)


def less(f: Format, a: int, b: int) -> bool:
    return order(f, a) < order(f, b)


def order(f: Format, x: int) -> int:
    """A number that orders like the float; both zeros are 0. Not for NaN."""
    magnitude = x & ~f.sign_bit
    return -magnitude if sign_of(f, x) else magnitude


def flush(f: Format, x: int) -> int:
    return x & f.sign_bit if is_denormal(f, x) else x


def to_python(f: Format, x: int) -> float:
    if is_nan(f, x):
        return math.nan
    if is_infinite(f, x):
        return -math.inf if sign_of(f, x) else math.inf
    n = unpack(f, x)
    return (-1.0 if n.sign else 1.0) * math.ldexp(float(n.magnitude), n.exponent)
