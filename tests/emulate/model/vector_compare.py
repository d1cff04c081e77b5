"""v_cmp_*, v_cmpx_* and the class tests."""

from __future__ import annotations

from collections.abc import Callable

from . import softfloat as sf
from .registry import lanewise
from .softfloat import FORMATS, Format

INTEGER_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
    "t": lambda a, b: True,
}


def unordered(f: Format, a: int, b: int) -> bool:
    return sf.is_nan(f, a) or sf.is_nan(f, b)


def ordered_and(test: Callable[[int, int], bool]) -> Callable[[Format, int, int], bool]:
    """True where neither is NaN and the test holds of the numbers."""
    return lambda f, a, b: not unordered(f, a, b) and test(sf.order(f, a), sf.order(f, b))


def negation(test: Callable[[Format, int, int], bool]) -> Callable[[Format, int, int], bool]:
    return lambda f, a, b: not test(f, a, b)


_lt = ordered_and(lambda a, b: a < b)
_eq = ordered_and(lambda a, b: a == b)
_le = ordered_and(lambda a, b: a <= b)
_gt = ordered_and(lambda a, b: a > b)
_lg = ordered_and(lambda a, b: a != b)
_ge = ordered_and(lambda a, b: a >= b)
FLOAT_COMPARISONS: dict[str, Callable[[Format, int, int], bool]] = {
    "f": lambda f, a, b: False,
    "lt": _lt,
    "eq": _eq,
    "le": _le,
    "gt": _gt,
    "lg": _lg,
    "ge": _ge,
    "o": negation(unordered),
    "u": unordered,
    "nge": negation(_ge),
    "nlg": negation(_lg),
    "ngt": negation(_gt),
    "nle": negation(_le),
    "neq": negation(_eq),
    "nlt": negation(_lt),
    "tru": lambda f, a, b: True,
    "t": lambda f, a, b: True,
}


def class_matches(f: Format, x: int, wanted: int) -> bool:
    """Bits of `wanted`: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf."""
    if sf.is_nan(f, x):
        bit = 0 if sf.is_signaling(f, x) else 1
    else:
        if sf.is_infinite(f, x):
            step = 3
        elif sf.is_zero(f, x):
            step = 0
        else:
            step = 1 if sf.is_denormal(f, x) else 2
        bit = 5 - step if sf.sign_of(f, x) else 6 + step
    return bool(wanted >> bit & 1)


for prefix in ("v_cmp", "v_cmpx"):
    for name, integer_test in INTEGER_COMPARISONS.items():
        for kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
            lanewise(f"{prefix}_{name}_{kind}", "mask", f"{kind} {kind}", lambda e, a, b, t=integer_test: t(a, b))
    for name, float_test in FLOAT_COMPARISONS.items():
        for kind in ("f16", "f32", "f64"):
            lanewise(
                f"{prefix}_{name}_{kind}",
                "mask",
                f"{kind} {kind}",
                lambda e, a, b, t=float_test, f=FORMATS[kind]: t(f, a, b),
            )
    for kind in ("f16", "f32", "f64"):
        lanewise(
            f"{prefix}_class_{kind}",
            "mask",
            f"{kind} {'u16' if kind == 'f16' else 'u32'}",
            lambda e, a, b, f=FORMATS[kind]: class_matches(f, a, b),
            raw=True,
        )
