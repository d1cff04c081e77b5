"""Conversions to small floats at random, and of 32 numbers at once (gfx950)."""

from __future__ import annotations

from .registry import model, read_raw
from .small_floats import FP4, WIDE, Small, each_lane, insert, narrow, result_half, scale_power, small_format, to_wide
from .softfloat import F32
from .state import Environment, Wave
from .text import Instruction

AS_F16 = Small(16, 10, 15, 0x7BFF, 0x7E00, 0x7C00)
AS_BF16 = Small(16, 7, 127, 0x7F7F, 0x7FC0, 0x7F80)


@model("v_cvt_sr_f16_f32", "v_cvt_sr_bf16_f32")
def half_at_random(wave: Wave, instruction: Instruction) -> None:
    f = AS_BF16 if "bf16" in instruction.mnemonic else AS_F16
    half = result_half(instruction)
    each_lane(wave, instruction, "f32 u32", lambda e, a, b, old: insert(old, narrow(e, f, F32, a, 0, b), 16, half))


def next_random(x: int) -> int:
    return (x << 1 ^ (197 if x >> 31 else 0)) & 0xFFFFFFFF


@model(*(f"v_cvt_scalef32_sr_{s}_{w}" for s in ("fp8", "bf8") for w in WIDE))
def scaled_narrow_at_random(wave: Wave, instruction: Instruction) -> None:
    _, _, _, _, name, wide_name = instruction.mnemonic.split("_")
    f, wide = small_format(wave.target, name), WIDE[wide_name]
    select = instruction.bits("op_sel", 4)

    def value(e: Environment, a: int, b: int, c: int, old: int) -> int:
        number = a if wide is F32 else a >> 16 * select[0] & 0xFFFF
        return insert(old, narrow(e, f, wide, number, scale_power(c), b), 8, select[2] + 2 * select[3])

    each_lane(wave, instruction, "f32 u32 f32" if wide is F32 else "u32 u32 f32", value)


@model(*(f"v_cvt_scalef32_sr_pk_fp4_{w}" for w in WIDE))
def scaled_pair_at_random(wave: Wave, instruction: Instruction) -> None:
    wide = WIDE[instruction.mnemonic.rsplit("_", 1)[1]]
    select = instruction.bits("op_sel", 4)

    def value(e: Environment, a: int, b: int, c: int, old: int) -> int:
        numbers = (a & (1 << wide.bits) - 1, a >> wide.bits)
        low, high = (
            narrow(e, FP4, wide, x, scale_power(c), r) for x, r in zip(numbers, (b, next_random(b)), strict=True)
        )
        return insert(old, low | high << 4, 8, select[2] + 2 * select[3])

    each_lane(wave, instruction, "u64 u32 f32" if wide is F32 else "u32 u32 f32", value)


def packed_numbers(wave: Wave, register: int, lane: int, bits: int, count: int) -> list[int]:
    """`count` numbers of `bits` bits, one behind the other from a register on."""
    whole = sum(wave.read_lane("v", register + i, lane) << 32 * i for i in range(count * bits // 32))
    return [whole >> bits * i & (1 << bits) - 1 for i in range(count)]


def put_numbers(wave: Wave, register: int, lane: int, bits: int, numbers: list[int]) -> None:
    whole = sum(number << bits * i for i, number in enumerate(numbers))
    for i in range(len(numbers) * bits // 32):
        wave.write_lane("v", register + i, lane, whole >> 32 * i & 0xFFFFFFFF)


@model(*(f"v_cvt_scalef32_pk32_{w}_{s}" for w in WIDE for s in ("fp6", "bf6")))
def scaled_widen_many(wave: Wave, instruction: Instruction) -> None:
    _, _, _, _, wide_name, name = instruction.mnemonic.split("_")
    f, wide = small_format(wave.target, name), WIDE[wide_name]
    target, source, scale = instruction.operands
    for lane in wave.active_lanes():
        power = scale_power(read_raw(wave, scale, "f32", lane))
        codes = packed_numbers(wave, source.register, lane, 6, 32)
        put_numbers(wave, target.register, lane, wide.bits, [to_wide(f, wide, code, power) for code in codes])


@model(*(f"v_cvt_scalef32_{sr}pk32_{s}_{w}" for sr in ("", "sr_") for s in ("fp6", "bf6") for w in ("f16", "bf16")))
@model("v_cvt_scalef32_sr_pk32_fp6_f32", "v_cvt_scalef32_sr_pk32_bf6_f32")
def scaled_narrow_many(wave: Wave, instruction: Instruction) -> None:
    name, wide_name = instruction.mnemonic.split("_")[-2:]
    f, wide = small_format(wave.target, name), WIDE[wide_name]
    target, source, *rest = instruction.operands
    for lane in wave.active_lanes():
        env = Environment(wave, lane)
        power = scale_power(read_raw(wave, rest[-1], "f32", lane))
        random = read_raw(wave, rest[0], "u32", lane) if "_sr_" in instruction.mnemonic else None
        codes = []
        for number in packed_numbers(wave, source.register, lane, wide.bits, 32):
            codes.append(narrow(env, f, wide, number, power, random))
            random = None if random is None else next_random(random)
        put_numbers(wave, target.register, lane, 6, codes)


@model("v_cvt_scalef32_2xpk16_fp6_f32", "v_cvt_scalef32_2xpk16_bf6_f32")
def scaled_narrow_two_sources(wave: Wave, instruction: Instruction) -> None:
    f = small_format(wave.target, instruction.mnemonic.split("_")[-2])
    target, first, second, scale = instruction.operands
    for lane in wave.active_lanes():
        power = scale_power(read_raw(wave, scale, "f32", lane))
        pairs = zip(*(packed_numbers(wave, o.register, lane, 32, 16) for o in (first, second)), strict=True)
        codes = [narrow(Environment(wave, lane), f, F32, number, power) for pair in pairs for number in pair]
        put_numbers(wave, target.register, lane, 6, codes)
