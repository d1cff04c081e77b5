"""Scalar integer instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .registry import MODELS, model, read_raw, scalar_dwords, signed
from .state import M0, MASK32, MASK64, Wave
from .text import Instruction, Operand


def read_scalar(wave: Wave, operand: Operand, kind: str) -> int:
    bits = read_raw(wave, operand, kind, 0)
    return signed(bits, int(kind[1:])) if kind[0] == "i" else bits


def write_scalar(wave: Wave, operand: Operand, width: int, value: int) -> None:
    value &= (1 << width) - 1
    if operand.kind == "exec":
        if width == 64:
            wave.exec = value
        else:
            shift = 32 * operand.register
            wave.exec = wave.exec & ~(MASK32 << shift) & MASK64 | value << shift
        wave.exec &= wave.all_lanes
        return
    if operand.kind == "null":
        return
    assert operand.kind == "s", operand.text
    for i in range(width // 32):
        wave.s[operand.register + i] = value >> (32 * i) & MASK32


def scalar(names: str, result: str, sources: str, function: Callable[..., Any], scc: str = "") -> None:
    """Register f(wave, a, b, ...). `scc`: "nonzero" of the result, "given" as a second value, or "" for unchanged."""
    kinds = sources.split()

    def on_wave(wave: Wave, instruction: Instruction) -> None:
        operands = instruction.operands
        texts = operands[1:] if result else operands
        arguments = []
        for kind in kinds:
            if kind.startswith("old:"):
                arguments.append(read_scalar(wave, operands[0], kind[4:]))
            else:
                arguments.append(read_scalar(wave, texts[len(arguments) - (kinds[0][:4] == "old:")], kind))
        outcome = function(wave, *arguments)
        value, flag = outcome if isinstance(outcome, tuple) else (outcome, None)
        if not result:
            wave.scc = int(bool(value))
            return
        width = int(result[1:])
        if value is not None:
            write_scalar(wave, operands[0], width, value)
        if scc == "nonzero":
            wave.scc = int(value & ((1 << width) - 1) != 0)
        elif scc == "given":
            wave.scc = int(bool(flag))

    for name in names.split():
        assert name not in MODELS, name
        MODELS[name] = on_wave


def both_widths(stem: str, function: Callable[[int, int, int], int]) -> None:
    """A bitwise operation in its 32- and 64-bit forms; f(a, b, all_ones)."""
    for names_stem in stem.split():
        scalar(f"{names_stem}_b32", "u32", "u32 u32", lambda w, a, b: function(a, b, MASK32), "nonzero")
        scalar(f"{names_stem}_b64", "u64", "u64 u64", lambda w, a, b: function(a, b, MASK64), "nonzero")


both_widths("s_and", lambda a, b, ones: a & b)
both_widths("s_or", lambda a, b, ones: a | b)
both_widths("s_xor", lambda a, b, ones: a ^ b)
both_widths("s_andn2 s_and_not1", lambda a, b, ones: a & (b ^ ones))
both_widths("s_orn2 s_or_not1", lambda a, b, ones: a | (b ^ ones))
both_widths("s_nand", lambda a, b, ones: (a & b) ^ ones)
both_widths("s_nor", lambda a, b, ones: (a | b) ^ ones)
both_widths("s_xnor", lambda a, b, ones: a ^ b ^ ones)

scalar("s_mov_b32", "u32", "u32", lambda w, a: a)
scalar("s_mov_b64", "u64", "u64", lambda w, a: a)
scalar("s_cmov_b32", "u32", "u32", lambda w, a: a if w.scc else None)
scalar("s_cmov_b64", "u64", "u64", lambda w, a: a if w.scc else None)
scalar("s_cselect_b32", "u32", "u32 u32", lambda w, a, b: a if w.scc else b)
scalar("s_cselect_b64", "u64", "u64 u64", lambda w, a, b: a if w.scc else b)
scalar("s_not_b32", "u32", "u32", lambda w, a: ~a, "nonzero")
scalar("s_not_b64", "u64", "u64", lambda w, a: ~a, "nonzero")


def whole_quads(a: int, width: int) -> int:
    return sum(0xF << i for i in range(0, width, 4) if a >> i & 0xF)


def quad_mask(a: int, width: int) -> int:
    return sum(1 << i for i in range(width // 4) if a >> (4 * i) & 0xF)


def reverse(a: int, width: int) -> int:
    return int(format(a, f"0{width}b")[::-1], 2)


def first_set(a: int) -> int:
    """Position of the lowest 1, or -1."""
    return (a & -a).bit_length() - 1


def leading_zeros(a: int, width: int) -> int:
    return width - a.bit_length() if a else -1


def leading_sign(a: int, width: int) -> int:
    """How far from the top the first bit that differs from the sign is, or -1."""
    if a >> (width - 1):
        a ^= (1 << width) - 1
    return leading_zeros(a, width)


for bits in (32, 64):
    w64 = bits  # bound below through default arguments
    u = f"u{bits}"
    scalar(f"s_wqm_b{bits}", u, u, lambda w, a, n=w64: whole_quads(a, n), "nonzero")
    scalar(f"s_quadmask_b{bits}", u, u, lambda w, a, n=w64: quad_mask(a, n), "nonzero")
    scalar(f"s_brev_b{bits}", u, u, lambda w, a, n=w64: reverse(a, n))
    scalar(f"s_bcnt0_i32_b{bits}", "u32", u, lambda w, a, n=w64: n - a.bit_count(), "nonzero")
    scalar(f"s_bcnt1_i32_b{bits}", "u32", u, lambda w, a: a.bit_count(), "nonzero")
    scalar(f"s_ff0_i32_b{bits}", "u32", u, lambda w, a, n=w64: first_set(a ^ ((1 << n) - 1)))
    scalar(f"s_ff1_i32_b{bits} s_ctz_i32_b{bits}", "u32", u, lambda w, a: first_set(a))
    scalar(f"s_flbit_i32_b{bits} s_clz_i32_u{bits}", "u32", u, lambda w, a, n=w64: leading_zeros(a, n))
    scalar(f"s_bitset0_b{bits}", u, f"old:{u} u32", lambda w, d, a, n=w64: d & ~(1 << (a % n)))
    scalar(f"s_bitset1_b{bits}", u, f"old:{u} u32", lambda w, d, a, n=w64: d | 1 << (a % n))
    scalar(f"s_lshl_b{bits}", u, f"{u} u32", lambda w, a, b, n=w64: a << (b % n), "nonzero")
    scalar(f"s_lshr_b{bits}", u, f"{u} u32", lambda w, a, b, n=w64: a >> (b % n), "nonzero")
    scalar(f"s_ashr_i{bits}", u, f"i{bits} u32", lambda w, a, b, n=w64: a >> (b % n), "nonzero")
    scalar(f"s_bfm_b{bits}", u, "u32 u32", lambda w, a, b, n=w64: ((1 << (a % n)) - 1) << (b % n))
    scalar(f"s_bitcmp0_b{bits}", "", f"{u} u32", lambda w, a, b, n=w64: not a >> (b % n) & 1)
    scalar(f"s_bitcmp1_b{bits}", "", f"{u} u32", lambda w, a, b, n=w64: a >> (b % n) & 1)

scalar("s_flbit_i32 s_cls_i32", "u32", "u32", lambda w, a: leading_sign(a, 32))
scalar("s_flbit_i32_i64 s_cls_i32_i64", "u32", "u64", lambda w, a: leading_sign(a, 64))
scalar("s_sext_i32_i8", "u32", "u32", lambda w, a: signed(a, 8))
scalar("s_sext_i32_i16", "u32", "u32", lambda w, a: signed(a, 16))
scalar("s_bitreplicate_b64_b32", "u64", "u32", lambda w, a: sum(3 << (2 * i) for i in range(32) if a >> i & 1))
scalar("s_abs_i32", "u32", "i32", lambda w, a: abs(a), "nonzero")


def extract(a: int, control: int, width: int) -> int:
    offset, size = control & (width - 1), control >> 16 & 0x7F
    return (a >> offset) & ((1 << min(size, width)) - 1)


def extract_signed(a: int, control: int, width: int) -> int:
    size = control >> 16 & 0x7F
    offset = control & (width - 1)
    size = min(size, width)
    return signed(a >> offset, size) if size else 0


scalar("s_bfe_u32", "u32", "u32 u32", lambda w, a, b: extract(a, b, 32), "nonzero")
scalar("s_bfe_u64", "u64", "u64 u32", lambda w, a, b: extract(a, b, 64), "nonzero")
scalar("s_bfe_i32", "u32", "i32 u32", lambda w, a, b: extract_signed(a, b, 32), "nonzero")
scalar("s_bfe_i64", "u64", "i64 u32", lambda w, a, b: extract_signed(a, b, 64), "nonzero")


def fits(value: int) -> bool:
    return -(1 << 31) <= value < 1 << 31


scalar("s_add_u32 s_add_co_u32", "u32", "u32 u32", lambda w, a, b: (a + b, a + b > MASK32), "given")
scalar("s_sub_u32 s_sub_co_u32", "u32", "u32 u32", lambda w, a, b: (a - b, b > a), "given")
scalar("s_add_i32 s_add_co_i32", "u32", "i32 i32", lambda w, a, b: (a + b, not fits(a + b)), "given")
scalar("s_sub_i32 s_sub_co_i32", "u32", "i32 i32", lambda w, a, b: (a - b, not fits(a - b)), "given")
scalar("s_addc_u32 s_add_co_ci_u32", "u32", "u32 u32", lambda w, a, b: (a + b + w.scc, a + b + w.scc > MASK32), "given")
scalar("s_subb_u32 s_sub_co_ci_u32", "u32", "u32 u32", lambda w, a, b: (a - b - w.scc, b + w.scc > a), "given")
scalar("s_add_u64 s_add_nc_u64", "u64", "u64 u64", lambda w, a, b: a + b)
scalar("s_sub_u64 s_sub_nc_u64", "u64", "u64 u64", lambda w, a, b: a - b)
scalar("s_min_i32", "u32", "i32 i32", lambda w, a, b: (min(a, b), a < b), "given")
scalar("s_min_u32", "u32", "u32 u32", lambda w, a, b: (min(a, b), a < b), "given")
scalar("s_max_i32", "u32", "i32 i32", lambda w, a, b: (max(a, b), a >= b), "given")
scalar("s_max_u32", "u32", "u32 u32", lambda w, a, b: (max(a, b), a >= b), "given")
scalar("s_mul_i32", "u32", "u32 u32", lambda w, a, b: a * b)
scalar("s_mul_hi_u32", "u32", "u32 u32", lambda w, a, b: a * b >> 32)
scalar("s_mul_hi_i32", "u32", "i32 i32", lambda w, a, b: a * b >> 32)
scalar("s_mul_u64", "u64", "u64 u64", lambda w, a, b: a * b)
scalar("s_absdiff_i32", "u32", "i32 i32", lambda w, a, b: abs(signed(a - b, 32)), "nonzero")
for shift in (1, 2, 3, 4):
    scalar(
        f"s_lshl{shift}_add_u32",
        "u32",
        "u32 u32",
        lambda w, a, b, n=shift: ((a << n) + b, (a << n) + b > MASK32),
        "given",
    )
scalar("s_pack_ll_b32_b16", "u32", "u32 u32", lambda w, a, b: a & 0xFFFF | (b & 0xFFFF) << 16)
scalar("s_pack_lh_b32_b16", "u32", "u32 u32", lambda w, a, b: a & 0xFFFF | b & 0xFFFF0000)
scalar("s_pack_hh_b32_b16", "u32", "u32 u32", lambda w, a, b: a >> 16 | b & 0xFFFF0000)
scalar("s_pack_hl_b32_b16", "u32", "u32 u32", lambda w, a, b: a >> 16 | (b & 0xFFFF) << 16)

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
for name, compare in COMPARISONS.items():
    for kind in ("i32", "u32"):
        scalar(f"s_cmp_{name}_{kind}", "", f"{kind} {kind}", lambda w, a, b, c=compare: c(a, b))
scalar("s_cmp_eq_u64", "", "u64 u64", lambda w, a, b: a == b)
scalar("s_cmp_lg_u64", "", "u64 u64", lambda w, a, b: a != b)


def immediate(instruction: Instruction, position: int, kind: str) -> int:
    """A 16-bit immediate, extended as the instruction says."""
    value = instruction.operands[position].value & 0xFFFF
    return signed(value, 16) if kind == "i32" else value


def with_immediate(name: str, function: Callable[[Wave, int, int], tuple[int | None, bool | None]], kind: str) -> None:
    @model(name)
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        first = instruction.operands[0]
        value, flag = function(wave, read_scalar(wave, first, kind), immediate(instruction, 1, kind))
        if value is not None:
            write_scalar(wave, first, 32, value)
        if flag is not None:
            wave.scc = int(flag)


with_immediate("s_movk_i32", lambda w, d, k: (k, None), "i32")
with_immediate("s_cmovk_i32", lambda w, d, k: (k if w.scc else None, None), "i32")
with_immediate("s_addk_i32", lambda w, d, k: (d + k, not fits(d + k)), "i32")
with_immediate("s_addk_co_i32", lambda w, d, k: (d + k, not fits(d + k)), "i32")
with_immediate("s_mulk_i32", lambda w, d, k: (d * k, None), "i32")
for name, compare in COMPARISONS.items():
    for kind in ("i32", "u32"):
        with_immediate(f"s_cmpk_{name}_{kind}", lambda w, d, k, c=compare: (None, c(d, k)), kind)  # type: ignore[misc]


def save_exec(stem: str, function: Callable[[int, int, int], int], replaces: bool = False) -> None:
    """EXEC = f(source, EXEC); the destination gets the old EXEC, or the new one (`replaces`)."""

    def on_wave(wave: Wave, instruction: Instruction) -> None:
        width = 64 if instruction.mnemonic.endswith("b64") else 32
        source = read_scalar(wave, instruction.operands[1], f"u{width}")
        old = wave.exec
        wave.exec = function(source, old, (1 << width) - 1) & wave.all_lanes
        wave.scc = int(wave.exec != 0)
        write_scalar(wave, instruction.operands[0], width, wave.exec if replaces else old)

    for one in stem.split():
        for width in ("b32", "b64"):
            model(f"{one}_{width}")(on_wave)


save_exec("s_and_saveexec", lambda a, e, ones: a & e)
save_exec("s_or_saveexec", lambda a, e, ones: a | e)
save_exec("s_xor_saveexec", lambda a, e, ones: a ^ e)
save_exec("s_andn2_saveexec s_and_not1_saveexec", lambda a, e, ones: a & ~e)
save_exec("s_orn2_saveexec s_or_not1_saveexec", lambda a, e, ones: a | (e ^ ones))
save_exec("s_andn1_saveexec s_and_not0_saveexec", lambda a, e, ones: ~a & e)
save_exec("s_orn1_saveexec s_or_not0_saveexec", lambda a, e, ones: (a ^ ones) | e)
save_exec("s_nand_saveexec", lambda a, e, ones: (a & e) ^ ones)
save_exec("s_nor_saveexec", lambda a, e, ones: (a | e) ^ ones)
save_exec("s_xnor_saveexec", lambda a, e, ones: a ^ e ^ ones)
save_exec("s_andn1_wrexec s_and_not0_wrexec", lambda a, e, ones: ~a & e, replaces=True)
save_exec("s_andn2_wrexec s_and_not1_wrexec", lambda a, e, ones: a & ~e, replaces=True)


@model("s_movrels_b32", "s_movrels_b64")
def move_relative_source(wave: Wave, instruction: Instruction) -> None:
    count = instruction.operands[0].count
    value = scalar_dwords(wave, instruction.operands[1].register + wave.s[M0], count)
    write_scalar(wave, instruction.operands[0], 32 * count, value)


@model("s_movreld_b32", "s_movreld_b64")
def move_relative_destination(wave: Wave, instruction: Instruction) -> None:
    destination = instruction.operands[0]
    value = read_scalar(wave, instruction.operands[1], f"u{32 * destination.count}")
    moved = Operand("s", destination.register + wave.s[M0], destination.count)
    write_scalar(wave, moved, 32 * destination.count, value)


@model("s_movrelsd_2_b32")
def move_relative_both(wave: Wave, instruction: Instruction) -> None:
    source = wave.s[instruction.operands[1].register + (wave.s[M0] & 0x3FF)]
    wave.s[instruction.operands[0].register + (wave.s[M0] >> 16 & 0x3FF)] = source
