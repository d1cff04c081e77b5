"""What gfx1250 adds: bfloat16 in pairs, sums with limits, conversions of eight numbers, copies to LDS and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from . import softfloat as sf
from .packed import packed, packed_element
from .registry import lanewise, model, read_raw, scalar_dwords, signed
from .small_floats import WIDE, narrow, scale_power, small_format, to_wide
from .softfloat import BF16, F32
from .state import MASK32, Environment, Wave
from .text import Instruction
from .vector_float import maximum, maximum3, minimum, minimum3
from .wide_conversions import packed_numbers, put_numbers


def bfloat_pair(name: str, count: int, function: Callable[..., int]) -> None:
    @model(name)
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        chosen = (instruction.bits("op_sel", count), instruction.bits("op_sel_hi", count, 1))
        signs = (instruction.bits("neg_lo", count), instruction.bits("neg_hi", count))
        results = {}
        for lane in wave.active_lanes():
            whole = 0
            for half in range(2):
                given = [
                    packed_element(wave, instruction.operands[1 + i], "bf16", 16, chosen[half][i], lane)
                    ^ signs[half][i] << 15
                    for i in range(count)
                ]
                whole |= function(Environment(wave, lane), *given) << 16 * half
            results[lane] = whole
        for lane, bits in results.items():
            wave.write_lane("v", instruction.operands[0].register, lane, bits)


bfloat_pair("v_pk_add_bf16", 2, lambda e, a, b: sf.add(BF16, a, b))
bfloat_pair("v_pk_mul_bf16", 2, lambda e, a, b: sf.multiply(BF16, a, b))
bfloat_pair("v_pk_fma_bf16", 3, lambda e, a, b, c: sf.fused(BF16, a, b, c))
bfloat_pair("v_pk_min_num_bf16", 2, lambda e, a, b: minimum(e, BF16, a, b))
bfloat_pair("v_pk_max_num_bf16", 2, lambda e, a, b: maximum(e, BF16, a, b))


@model("v_fma_mix_f32_bf16", "v_fma_mixlo_bf16", "v_fma_mixhi_bf16")
def mixed_multiply_add(wave: Wave, instruction: Instruction) -> None:
    """A bfloat16 is the upper half of a single: the other half is what op_sel and op_sel_hi choose."""
    halves, high = instruction.bits("op_sel_hi", 3), instruction.bits("op_sel", 3)
    results = {}
    for lane in wave.active_lanes():
        given = []
        for i in range(3):
            operand = instruction.operands[1 + i]
            bits = read_raw(wave, operand, "u32", lane)
            if halves[i]:
                bits = (bits >> 16 if high[i] else bits & 0xFFFF) << 16
            bits = bits & 0x7FFFFFFF if operand.absolute else bits
            given.append(bits ^ 0x80000000 if operand.negative else bits)
        total = sf.fused(F32, *given)
        old = wave.read_lane("v", instruction.operands[0].register, lane)
        if "mixlo" in instruction.mnemonic:
            total = old & 0xFFFF0000 | sf.convert(F32, BF16, total)
        elif "mixhi" in instruction.mnemonic:
            total = old & 0xFFFF | sf.convert(F32, BF16, total) << 16
        results[lane] = total
    for lane, bits in results.items():
        wave.write_lane("v", instruction.operands[0].register, lane, bits)


for kind, width in (("i32", 32), ("u32", 32), ("i16", 16), ("u16", 16)):

    def wrapped(x: int, kind: str = kind, width: int = width) -> int:
        return signed(x, width) if kind[0] == "i" else x & ((1 << width) - 1)

    for word, choose in (("min", min), ("max", max)):

        def limited(e: Environment, a: int, b: int, c: int, w=wrapped, f=choose) -> int:  # type: ignore[no-untyped-def]
            return f(w(a + b), c)

        def of_three(e: Environment, a: int, b: int, c: int, f=choose) -> int:  # type: ignore[no-untyped-def]
            return f(a, b, c)

        if width == 32:
            lanewise(f"v_add_{word}_{kind}", kind, f"{kind} {kind} {kind}", limited)
        else:
            packed(f"v_pk_add_{word}_{kind}", kind, 3, limited)
            packed(f"v_pk_{word}3_{kind}", kind, 3, of_three)

packed("v_pk_min3_num_f16", "f16", 3, lambda e, a, b, c: minimum3(e, sf.F16, a, b, c))
packed("v_pk_max3_num_f16", "f16", 3, lambda e, a, b, c: maximum3(e, sf.F16, a, b, c))


@model("v_bitop2_b32")
def bit_operation(wave: Wave, instruction: Instruction) -> None:
    """The truth table of v_bitop3, whose third source is zero: rows 0, 2, 4 and 6."""
    table = instruction.number("bitop3")
    results = {}
    for lane in wave.active_lanes():
        a, b = (read_raw(wave, operand, "u32", lane) for operand in instruction.operands[1:3])
        results[lane] = sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1)) & 1) << i for i in range(32))
    for lane, bits in results.items():
        wave.write_lane("v", instruction.operands[0].register, lane, bits)


@model(*(f"v_cvt_scalef32_pk8_{s}_{w}" for s in ("fp8", "bf8", "fp4") for w in WIDE))
def narrow_eight(wave: Wave, instruction: Instruction) -> None:
    name, wide_name = instruction.mnemonic.split("_")[-2:]
    f, wide = small_format(wave.target, name), WIDE[wide_name]
    target, source, scale = instruction.operands
    for lane in wave.active_lanes():
        power = scale_power(read_raw(wave, scale, "f32", lane))
        numbers = packed_numbers(wave, source.register, lane, wide.bits, 8)
        codes = [narrow(Environment(wave, lane), f, wide, number, power) for number in numbers]
        put_numbers(wave, target.register, lane, f.bits, codes)


@model(*(f"v_cvt_scale_pk8_{w}_{s}" for s in ("fp8", "bf8", "fp4") for w in WIDE))
def widen_eight(wave: Wave, instruction: Instruction) -> None:
    wide_name, name = instruction.mnemonic.split("_")[-2:]
    f, wide = small_format(wave.target, name), WIDE[wide_name]
    target, source, scale = instruction.operands
    for lane in wave.active_lanes():
        byte = read_raw(wave, scale, "u32", lane) & 255
        codes = packed_numbers(wave, source.register, lane, f.bits, 8)
        numbers = [wide.nan if byte == 255 else to_wide(f, wide, code, byte - 127) for code in codes]
        put_numbers(wave, target.register, lane, wide.bits, numbers)


COPIES = {"b8": 1, "b32": 4, "b64": 8, "b128": 16}


@model(*(f"global_load_async_to_lds_{n}" for n in COPIES), *(f"global_store_async_from_lds_{n}" for n in COPIES))
def copy(wave: Wave, instruction: Instruction) -> None:
    size, offset = COPIES[instruction.mnemonic.rsplit("_", 1)[1]], instruction.number("offset")
    to_lds = "_load_" in instruction.mnemonic
    place, vector = instruction.operands[:2] if to_lds else instruction.operands[1::-1]
    base = instruction.operands[2]
    for lane in wave.active_lanes():
        in_lds = wave.read_lane("v", place.register, lane) + offset & MASK32
        if base.kind == "s":
            far = signed(wave.read_lane("v", vector.register, lane), 32)
            at = scalar_dwords(wave, base.register, 2) + far * (size if "scale_offset" in instruction.modifiers else 1)
        else:
            at = read_raw(wave, replace(vector, count=2), "u64", lane)
        at += offset - wave.memory_base
        if to_lds:
            wave.lds[in_lds : in_lds + size] = wave.memory[at : at + size]
        else:
            wave.memory[at : at + size] = wave.lds[in_lds : in_lds + size]


@model("ds_load_tr16_b128", "ds_load_tr8_b64")
def eight_by_eight(wave: Wave, instruction: Instruction) -> None:
    """Groups of eight lanes, each with eight elements, are turned round. With 8 bits a group is two runs of four."""
    target, address = instruction.operands
    bits = 16 if "tr16" in instruction.mnemonic else 8
    groups = [range(8 * g, 8 * g + 8) for g in range(4)]
    if bits == 8:
        groups = [[*range(first, first + 4), *range(first + 8, first + 12)] for first in (0, 4, 16, 20)]
    loaded = {}
    for lane in wave.active_lanes():
        at = wave.read_lane("v", address.register, lane) + instruction.number("offset") & MASK32
        loaded[lane] = wave.lds[at : at + bits]
    step = bits // 8
    for number, group in enumerate(groups):
        for element in range(8):
            lane = 8 * number + element
            if not wave.active(lane):
                continue
            column = [loaded.get(source, bytes(bits))[element * step :][:step] for source in group]
            whole = b"".join(bytes(one) for one in column)
            for i in range(bits // 4):
                wave.write_lane("v", target.register + i, lane, int.from_bytes(whole[4 * i : 4 * i + 4], "little"))


@model("tensor_load_to_lds", "tensor_store_from_lds")
def tile(wave: Wave, instruction: Instruction) -> None:
    """Whole tiles, element after element. Loads put zeros for what the tensor does not have; stores leave it out."""
    low, high = (sum(wave.s[o.register + i] << 32 * i for i in range(o.count)) for o in instruction.operands)
    size = 1 << (high >> 16 & 3)
    width, height = high >> 112 & 0xFFFF, high >> 128 & 0xFFFF
    inside, rows, stride = high >> 48 & MASK32, high >> 80 & MASK32, high >> 160 & (1 << 48) - 1
    interval, amount = 4 << (high >> 22 & 7) + 1, 4 * (high >> 25 & 0x7F) + 4
    is_padded, loads = high >> 20 & 1, "load" in instruction.mnemonic
    start = (low >> 64 & (1 << 57) - 1) - wave.memory_base
    for y in range(max(height, 1)):
        for x in range(width):
            at = (y * width + x) * size
            place = (low >> 32 & MASK32) + at + (at // interval * amount if is_padded and loads else 0)
            there = start + (y * stride + x) * size
            exists = x < inside and (y < rows or not height)
            if loads:
                wave.lds[place : place + size] = wave.memory[there : there + size] if exists else bytes(size)
            elif exists:
                wave.memory[there : there + size] = wave.lds[place : place + size]
