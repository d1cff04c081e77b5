"""Instructions the hardware approximates. The model gives the correctly rounded value; tests allow 1 ulp or so."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import softfloat as sf
from .registry import APPROXIMATE, MODELS, lanewise, model
from .softfloat import F16, F32, F64, Format
from .state import Wave
from .text import Instruction, float_bits


def whatever_exec(function: Callable[[Wave, Instruction], None]) -> Callable[[Wave, Instruction], None]:
    """The forms on scalars do not look at EXEC: the lane-wise function runs for one lane."""

    def on_wave(wave: Wave, instruction: Instruction) -> None:
        held, wave.exec = wave.exec, 1
        function(wave, instruction)
        wave.exec = held

    return on_wave


def rounded(f: Format, value: float) -> int:
    return f.nan if math.isnan(value) else float_bits(f, value)


def sign(f: Format, a: int) -> float:
    return -1.0 if sf.sign_of(f, a) else 1.0


def reciprocal(f: Format, a: int) -> int:
    return sf.divide(f, f.one, a)


def reciprocal_root(f: Format, a: int) -> int:
    if sf.is_zero(f, a):
        return a | f.infinity
    if sf.is_nan(f, a):
        return sf.quiet(f, a)
    if sf.sign_of(f, a):
        return f.nan
    if sf.is_infinite(f, a):
        return 0
    n = sf.unpack(f, a)
    magnitude, exponent = (n.magnitude << 1, n.exponent - 1) if n.exponent & 1 else (n.magnitude, n.exponent)
    root = math.isqrt((1 << 400) // magnitude)  # sqrt(1 / magnitude) * 2**200, far finer than rounding needs
    return sf.pack(f, sf.Finite(0, root << 1 | 1, -200 - exponent // 2 - 1))


def exponential(f: Format, a: int) -> int:
    if sf.is_nan(f, a):
        return sf.quiet(f, a)
    x = sf.to_python(f, a)
    if x > 2000:
        return f.infinity
    if x < -2000:
        return 0
    return rounded(f, math.pow(2.0, x)) if x < 1000 else f.infinity


def logarithm(f: Format, a: int) -> int:
    if sf.is_nan(f, a):
        return sf.quiet(f, a)
    if sf.is_zero(f, a):
        return f.sign_bit | f.infinity
    if sf.sign_of(f, a):
        return f.nan
    return a if sf.is_infinite(f, a) else rounded(f, math.log2(sf.to_python(f, a)))


def turns(f: Format, a: int) -> float:
    """The fraction of a turn; the input counts whole turns."""
    x = sf.to_python(f, a)
    return math.fmod(x, 1.0)


def sine(f: Format, a: int) -> int:
    if not sf.is_finite(f, a):
        return f.nan
    return rounded(f, exact_turn(turns(f, a), math.sin, {0.0: 0.0, 0.25: 1.0, 0.5: 0.0, 0.75: -1.0}, odd=True))


def cosine(f: Format, a: int) -> int:
    if not sf.is_finite(f, a):
        return f.nan
    return rounded(f, exact_turn(turns(f, a), math.cos, {0.0: 1.0, 0.25: 0.0, 0.5: -1.0, 0.75: 0.0}, odd=False))


def exact_turn(part: float, function, corners: dict[float, float], odd: bool) -> float:  # type: ignore[no-untyped-def]
    if abs(part) in corners:
        value = corners[abs(part)]
        return -value if odd and math.copysign(1.0, part) < 0 else value
    return float(function(2.0 * math.pi * part))


for kind, f in (("f16", F16), ("f32", F32)):
    lanewise(
        f"v_rcp_{kind}" + (" v_rcp_iflag_f32" if kind == "f32" else ""), kind, kind, lambda e, a, f=f: reciprocal(f, a)
    )
    lanewise(f"v_rsq_{kind}", kind, kind, lambda e, a, f=f: reciprocal_root(f, a))
    lanewise(f"v_sqrt_{kind}", kind, kind, lambda e, a, f=f: sf.square_root(f, a))
    lanewise(
        f"v_exp_{kind}" + (" v_exp_legacy_f32" if kind == "f32" else ""),
        kind,
        kind,
        lambda e, a, f=f: exponential(f, a),
    )
    lanewise(
        f"v_log_{kind}" + (" v_log_legacy_f32" if kind == "f32" else ""), kind, kind, lambda e, a, f=f: logarithm(f, a)
    )
    lanewise(f"v_sin_{kind}", kind, kind, lambda e, a, f=f: sine(f, a))
    lanewise(f"v_cos_{kind}", kind, kind, lambda e, a, f=f: cosine(f, a))
lanewise("v_rcp_f64", "f64", "f64", lambda e, a: reciprocal(F64, a))
lanewise("v_rsq_f64", "f64", "f64", lambda e, a: reciprocal_root(F64, a))
lanewise("v_sqrt_f64", "f64", "f64", lambda e, a: sf.square_root(F64, a))

APPROXIMATE |= {name for name in MODELS if name.split("_")[1] in ("rcp", "rsq", "sqrt", "exp", "log", "sin", "cos")}
for name in sorted(APPROXIMATE):
    if (
        name.endswith(("f16", "f32"))
        and name.split("_")[1] in ("rcp", "rsq", "sqrt", "exp", "log")
        and name.count("_") == 2
    ):
        scalar_name = name.replace("v_", "v_s_", 1)
        model(scalar_name)(whatever_exec(MODELS[name]))
        APPROXIMATE.add(scalar_name)
