"""8-, 6- and 4-bit floats: FNUZ on gfx942, OCP on gfx950 and gfx12."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import softfloat as sf
from .registry import clamp_float, model, modified, read_raw
from .softfloat import BF16, F16, F32, Format
from .state import Environment, Wave
from .text import Instruction
from .vector_float import bitwise_from_table

FP16_OVFL = 23  # bit of MODE: conversions saturate instead of overflowing


@dataclass(frozen=True)
class Small:
    """A small format. `nan` and `infinity` are bit patterns without the sign, or None where there is none."""

    bits: int
    mantissa: int
    bias: int
    largest: int
    nan: int | None
    infinity: int | None = None
    unsigned_zero: bool = False  # FNUZ: the pattern of minus zero is the NaN


FNUZ_FP8 = Small(8, 3, 8, 0x7F, 0x80, None, True)
FNUZ_BF8 = Small(8, 2, 16, 0x7F, 0x80, None, True)
OCP_FP8 = Small(8, 3, 7, 0x7E, 0x7F)
OCP_BF8 = Small(8, 2, 15, 0x7B, 0x7F, 0x7C)
FP6 = Small(6, 3, 1, 0x1F, None)
BF6 = Small(6, 2, 3, 0x1F, None)
FP4 = Small(4, 1, 1, 0x7, None)


def small_format(target: str, name: str) -> Small:
    if name in ("fp6", "bf6", "fp4"):
        return {"fp6": FP6, "bf6": BF6, "fp4": FP4}[name]
    if target == "gfx942":
        return FNUZ_FP8 if name == "fp8" else FNUZ_BF8
    return OCP_FP8 if name == "fp8" else OCP_BF8


def decode(f: Small, x: int) -> sf.Finite | str:
    """The number, or "nan" / "inf" / "-inf"."""
    sign = x >> (f.bits - 1)
    magnitude = x & ((1 << (f.bits - 1)) - 1)
    if f.unsigned_zero:
        if x == f.nan:
            return "nan"
    elif f.infinity is not None and magnitude >= f.infinity:
        return "nan" if magnitude > f.infinity else ("-inf" if sign else "inf")
    elif f.nan is not None and magnitude == f.nan:
        return "nan"
    exponent, m = magnitude >> f.mantissa, magnitude & ((1 << f.mantissa) - 1)
    if exponent == 0:
        return sf.Finite(sign, m, 1 - f.bias - f.mantissa)
    return sf.Finite(sign, m | 1 << f.mantissa, exponent - f.bias - f.mantissa)


def to_wide(f: Small, wide: Format, x: int, power: int = 0) -> int:
    value = decode(f, x)
    if value == "nan":
        return wide.nan
    if isinstance(value, str):
        return wide.infinity | (wide.sign_bit if value == "-inf" else 0)
    return sf.pack(wide, sf.Finite(value.sign, value.magnitude, value.exponent + power))


def overflow_code(f: Small, sign: int, saturates: bool, was_infinite: bool) -> int:
    top = sign << (f.bits - 1)
    if f.nan is None or (saturates and not was_infinite):
        return top | f.largest
    if f.infinity is not None:
        return top | f.infinity
    return f.nan if f.unsigned_zero else top | f.nan


def from_finite(f: Small, value: sf.Finite, saturates: bool, random: int | None = None) -> int:
    """Round to the small format: to nearest even, or by adding `random` (a fraction of 32 bits) to what is cut off."""
    sign, magnitude, exponent = value
    if magnitude == 0:
        return 0 if f.unsigned_zero else sign << (f.bits - 1)
    lowest = 1 - f.bias - f.mantissa
    wanted = max(magnitude.bit_length() - 1 + exponent - f.mantissa, lowest)
    shift = wanted - exponent
    if random is None or shift <= 0:
        kept = sf.round_shift(magnitude, shift, sf.NEAREST, sign)
    else:
        fraction = (magnitude << 64) >> shift  # 64 bits after the point
        width = 23 - f.mantissa
        kept = (fraction + (random >> (32 - width) << (64 - width))) >> 64
    if kept >> (f.mantissa + 1):
        kept >>= 1
        wanted += 1
    field = wanted - lowest + 1 if kept >> f.mantissa else 0
    code = field << f.mantissa | kept & ((1 << f.mantissa) - 1)
    if code > f.largest:
        return overflow_code(f, sign, saturates, False)
    if code == 0 and f.unsigned_zero:
        return 0
    return sign << (f.bits - 1) | code


def narrow(
    env: Environment,
    f: Small,
    wide: Format,
    x: int,
    power: int = 0,
    random: int | None = None,
    saturates: bool | None = None,
) -> int:
    """A float divided by 2**power, in the small format."""
    if saturates is None:
        saturates = bool(env.wave.mode >> FP16_OVFL & 1)
    sign = sf.sign_of(wide, x)
    if sf.is_nan(wide, x):
        if f.nan is None:
            return sign << (f.bits - 1) | f.largest
        return f.nan if f.unsigned_zero else sign << (f.bits - 1) | f.nan
    if sf.is_infinite(wide, x):
        return overflow_code(f, sign, saturates, True)
    n = sf.unpack(wide, x)
    return from_finite(f, sf.Finite(n.sign, n.magnitude, n.exponent - power), saturates, random)


def each_lane(wave: Wave, instruction: Instruction, kinds: str, function: Callable[..., dict[int, int] | int]) -> None:
    """Run f(env, *sources, old) per lane; the result replaces the destination's first registers."""
    destination = instruction.operands[0]
    for lane in wave.active_lanes():
        env = Environment(wave, lane)
        values = [
            modified(read_raw(wave, o, k, lane), o, k)
            for o, k in zip(instruction.operands[1:], kinds.split(), strict=True)
        ]
        old = wave.read_lane("v", destination.register, lane)
        result = function(env, *values, old)
        assert isinstance(result, int)
        for i in range(destination.count):
            wave.write_lane("v", destination.register + i, lane, result >> (32 * i))


def insert(old: int, part: int, width: int, position: int) -> int:
    mask = ((1 << width) - 1) << (width * position)
    return old & ~mask | part << (width * position)


def byte_chosen(instruction: Instruction) -> int:
    """The byte of a source: an SDWA select, byte_sel, or two op_sel bits (the second one is the less significant)."""
    if "src0_sel" in instruction.modifiers:
        return {"BYTE_0": 0, "BYTE_1": 1, "BYTE_2": 2, "BYTE_3": 3, "DWORD": 0}[instruction.modifiers["src0_sel"]]
    if "byte_sel" in instruction.modifiers:
        return int(instruction.modifiers["byte_sel"])
    select = instruction.bits("op_sel", 2)
    return select[0] * 2 + select[1] if instruction.mnemonic.startswith("v_cvt_f32") else select[0] + 2 * select[1]


def word_chosen(instruction: Instruction) -> int:
    if instruction.operands[1].half:
        return int(instruction.operands[1].half == "h")
    if "src0_sel" in instruction.modifiers:
        return int(instruction.modifiers["src0_sel"] == "WORD_1")
    return instruction.bits("op_sel", 2)[0]


@model("v_cvt_f32_fp8", "v_cvt_f32_bf8")
def widen_one(wave: Wave, instruction: Instruction) -> None:
    f = small_format(wave.target, instruction.mnemonic[-3:])
    shift = 8 * byte_chosen(instruction)
    clamp = clamp_float if "clamp" in instruction.modifiers else lambda f, x, e: x
    each_lane(wave, instruction, "u32", lambda e, a, old: clamp(F32, to_wide(f, F32, a >> shift & 0xFF), e))


@model("v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8")
def widen_two(wave: Wave, instruction: Instruction) -> None:
    f = small_format(wave.target, instruction.mnemonic[-3:])
    shift = 16 * word_chosen(instruction)
    each_lane(
        wave,
        instruction,
        "u32",
        lambda e, a, old: to_wide(f, F32, a >> shift & 0xFF) | to_wide(f, F32, a >> (shift + 8) & 0xFF) << 32,
    )


def result_half(instruction: Instruction) -> int:
    if instruction.operands[0].half:
        return int(instruction.operands[0].half == "h")
    bits = instruction.bits("op_sel", 4)
    count = len(instruction.modifiers.get("op_sel", "").split(","))
    return bits[count - 1] if count > 1 else 0


@model("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
def narrow_two(wave: Wave, instruction: Instruction) -> None:
    f = small_format(wave.target, "fp8" if "pk_fp8" in instruction.mnemonic else "bf8")
    half = result_half(instruction)
    each_lane(
        wave,
        instruction,
        "f32 f32",
        lambda e, a, b, old: insert(old, narrow(e, f, F32, a) | narrow(e, f, F32, b) << 8, 16, half),
    )


def result_byte(instruction: Instruction) -> int:
    if "byte_sel" in instruction.modifiers:
        return int(instruction.modifiers["byte_sel"])
    select = instruction.bits("op_sel", 4)
    return select[2] + 2 * select[3]


@model("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32")
def narrow_at_random(wave: Wave, instruction: Instruction) -> None:
    f = small_format(wave.target, "fp8" if "sr_fp8" in instruction.mnemonic else "bf8")
    position = result_byte(instruction)
    each_lane(wave, instruction, "f32 u32", lambda e, a, b, old: insert(old, narrow(e, f, F32, a, 0, b), 8, position))


WIDE = {"f32": F32, "f16": F16, "bf16": BF16}


def scale_power(x: int) -> int:
    """A scale operand is a float of which only the exponent counts."""
    return sf.exponent_field(F32, x) - 127


@model(*(f"v_cvt_scalef32_pk_{w}_{s}" for w in WIDE for s in ("fp8", "bf8", "fp4")))
def scaled_widen_two(wave: Wave, instruction: Instruction) -> None:
    _, _, _, _, wide_name, small_name = instruction.mnemonic.split("_")
    f, wide = small_format(wave.target, small_name), WIDE[wide_name]
    select = instruction.bits("op_sel", 2)
    shift = 8 * (select[0] + 2 * select[1]) if small_name == "fp4" else 16 * select[0]
    each_lane(
        wave,
        instruction,
        "u32 f32",
        lambda e, a, b, old: sum(
            to_wide(f, wide, a >> (shift + i * f.bits) & ((1 << f.bits) - 1), scale_power(b)) << (i * wide.bits)
            for i in range(2)
        ),
    )


@model(*(f"v_cvt_scalef32_{w}_{s}" for w in ("f32", "f16") for s in ("fp8", "bf8")))
def scaled_widen_one(wave: Wave, instruction: Instruction) -> None:
    _, _, _, wide_name, small_name = instruction.mnemonic.split("_")
    f, wide = small_format(wave.target, small_name), WIDE[wide_name]
    select = instruction.bits("op_sel", 4)
    shift = 8 * (select[0] + 2 * select[1])

    def value(e: Environment, a: int, b: int, old: int) -> int:
        found = to_wide(f, wide, a >> shift & 0xFF, scale_power(b))
        return found if wide is F32 else insert(old, found, 16, select[3])

    each_lane(wave, instruction, "u32 f32", value)


@model(*(f"v_cvt_scalef32_pk_{s}_f32" for s in ("fp8", "bf8", "fp4")))
def scaled_narrow_two(wave: Wave, instruction: Instruction) -> None:
    name = instruction.mnemonic.split("_")[4]
    f = small_format(wave.target, name)
    select = instruction.bits("op_sel", 4)
    position = select[2] + 2 * select[3] if name == "fp4" else select[3]
    each_lane(
        wave,
        instruction,
        "f32 f32 f32",
        lambda e, a, b, c, old: insert(
            old,
            narrow(e, f, F32, a, scale_power(c)) | narrow(e, f, F32, b, scale_power(c)) << f.bits,
            2 * f.bits,
            position,
        ),
    )


@model(*(f"v_cvt_scalef32_pk_{s}_{w}" for s in ("fp8", "bf8", "fp4") for w in ("f16", "bf16")))
def scaled_narrow_packed(wave: Wave, instruction: Instruction) -> None:
    _, _, _, _, name, wide_name = instruction.mnemonic.split("_")
    f, wide = small_format(wave.target, name), WIDE[wide_name]
    select = instruction.bits("op_sel", 4)
    position = select[2] + 2 * select[3] if name == "fp4" else select[3]
    each_lane(
        wave,
        instruction,
        "u32 f32",
        lambda e, a, b, old: insert(
            old,
            narrow(e, f, wide, a & 0xFFFF, scale_power(b)) | narrow(e, f, wide, a >> 16, scale_power(b)) << f.bits,
            2 * f.bits,
            position,
        ),
    )


def bit_operation(bits: int) -> Callable[[Wave, Instruction], None]:
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        table = instruction.number("bitop3")
        kind = f"u{bits}"
        for lane in wave.active_lanes():
            a, b, c = (read_raw(wave, o, kind, lane) for o in instruction.operands[1:4])
            result = bitwise_from_table(table, a, b, c, bits)
            old = wave.read_lane("v", instruction.operands[0].register, lane)
            wave.write_lane(
                "v", instruction.operands[0].register, lane, result if bits == 32 else old & 0xFFFF0000 | result
            )

    return on_wave


model("v_bitop3_b32")(bit_operation(32))
model("v_bitop3_b16")(bit_operation(16))
