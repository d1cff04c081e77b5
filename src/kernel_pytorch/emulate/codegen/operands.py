"""Operands as C expressions: scalar registers, constants, modifiers of sources and results."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import (
    Decimal,
    LabelDistance,
    Named,
    Number,
    Operand,
    Register,
    SymbolPart,
)
from kernel_pytorch.emulate.assembly.operand_text import float_bits
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.lane_run import WIDE, WORD, LaneRun
from kernel_pytorch.emulate.isa.row import HALVES, TYPES

_NAMED_32 = {"null": "0u", "scc": "scc", "src_scc": "scc"}
_NAMED_64 = {
    "null": "UINT64_C(0)",
    "src_shared_base": "((uint64_t)KPT_SHARED_APERTURE << 32)",
    "src_private_base": "((uint64_t)KPT_PRIVATE_APERTURE << 32)",
    "shared_base": "((uint64_t)KPT_SHARED_APERTURE << 32)",
    "private_base": "((uint64_t)KPT_PRIVATE_APERTURE << 32)",
    "src_shared_limit": "((uint64_t)KPT_SHARED_APERTURE << 32 | 0xffffffffu)",
    "src_private_limit": "((uint64_t)KPT_PRIVATE_APERTURE << 32 | 0xffffffffu)",
    "scc": "(uint64_t)scc",
    "src_scc": "(uint64_t)scc",
}
_SIGN = {"f16": "0x8000u", "h16": "0x8000u", "u16": "0x8000u", "i16": "0x8000u", "f64": "(UINT64_C(1) << 63)"}


def is_wide(kind: str) -> bool:
    """Whether a type takes two registers."""
    return TYPES[kind][1] == 2


def constant_bits(operand: Number | Decimal, kind: str) -> int:
    """The bits a constant stands for in an operand of that type."""
    if isinstance(operand, Decimal):
        bits = 64 if kind in ("f64", "u64", "i64") else 16 if kind in HALVES else 32
        return float_bits(operand.value, bits)
    value = operand.value
    inline = -16 <= value <= 64
    if not is_wide(kind):
        return value & 0xFFFFFFFF
    if inline or value < 0 or value > 0xFFFFFFFF or operand.whole:
        return value & 0xFFFFFFFFFFFFFFFF
    if kind == "f64":
        return value << 32
    if kind == "i64" and value & 0x80000000:
        return value | 0xFFFFFFFF00000000
    return value


def constant(operand: Number | Decimal, kind: str) -> str:
    """A constant's bits as C."""
    bits = constant_bits(operand, kind)
    return f"UINT64_C(0x{bits:x})" if is_wide(kind) else f"0x{bits:x}u"


def raw_scalar(em: Emission, operand: Operand, kind: str) -> str:
    """The bits of a scalar source (uint32_t, or uint64_t for wide types) as C."""
    wide = is_wide(kind)
    if isinstance(operand, Register):
        if operand.file == "exec":
            return "ex" if wide else "(uint32_t)(ex >> 32)" if operand.index else "(uint32_t)ex"
        if operand.file != "s":
            raise em.error(f"a vector register cannot be read as a scalar of type {kind}")
        low = em.sgpr(operand.index)
        if not wide:
            return low
        if operand.count == 1 and em.shape.wave == 64:
            raise em.error(f"s{operand.index} is one register where two are read")
        return f"((uint64_t){em.sgpr(operand.index + 1)} << 32 | {low})"
    if isinstance(operand, (Number, Decimal)):
        return constant(operand, kind)
    if isinstance(operand, Named):
        if operand.name in ("src_vccz", "vccz"):
            return f"(uint32_t)({vcc(em)} == 0)"
        if operand.name in ("src_execz", "execz"):
            return "(uint32_t)(ex == 0)"
        if operand.name.startswith("src_flat_scratch_base"):
            return _flat_scratch_base(em, operand.name, wide)
        found = (_NAMED_64 if wide else _NAMED_32).get(operand.name)
        if found is None:
            raise em.error(f"{operand.name} cannot be read as {kind}")
        return found
    if isinstance(operand, SymbolPart):
        return em.symbol_value(operand, em.index)
    if isinstance(operand, LabelDistance):
        return em.symbol_value(SymbolPart(operand.to, "label@hi" if operand.shift else "label@lo", 0), em.index)
    raise em.error(f"operand {operand} is not a scalar source")


def _flat_scratch_base(em: Emission, name: str, wide: bool) -> str:
    """Where private memory begins for flat accesses: the compiler adds lane and offset to it on gfx1250."""
    if not em.shape.is_gfx125:
        return "0u"
    if wide:
        return "KPT_FLAT_SCRATCH_BASE"
    return "(uint32_t)(KPT_FLAT_SCRATCH_BASE >> 32)" if name.endswith("hi") else "(uint32_t)KPT_FLAT_SCRATCH_BASE"


def capture(em: Emission, run: LaneRun, operand: Operand, kind: str) -> str:
    """A scalar operand's value at this point of the program, in a variable the loop can use later."""
    wide = is_wide(kind)
    key = None
    if isinstance(operand, Register) and operand.file == "s":
        key = ("wide" if wide else "word", operand.index)
        if key in run.captured:
            return run.captured[key]
    name = em.fresh("k")
    em.put(f"const {'uint64_t' if wide else 'uint32_t'} {name} = {raw_scalar(em, operand, kind)};")
    captured = run.outer(name, WIDE if wide else WORD)
    if key is not None:
        run.captured[key] = captured
    return captured


def vcc(em: Emission) -> str:
    """VCC as a number: two registers, or one in a wave of 32."""
    if em.shape.wave == 64:
        return f"((uint64_t){em.sgpr(107)} << 32 | {em.sgpr(106)})"
    return f"(uint64_t){em.sgpr(106)}"


def signed(raw: str, operand: Operand, kind: str) -> str:
    """The source with |x| and -x applied to its bits."""
    if isinstance(operand, (Register, Number, Decimal, Named)) and (operand.abs or operand.neg):
        sign = _SIGN.get(kind, "0x80000000u")
        if operand.abs:
            raw = f"({raw} & ~{sign})"
        if operand.neg:
            raw = f"({raw} ^ {sign})"
    return raw


def typed(em: Emission, raw: str, kind: str) -> str:
    """Bits as a value of the type's C type."""
    if kind == "f32":
        value = f"kpt_f32({raw})"
        if em.shape.mode_changes:
            return f"kpt_flush_f32_if({value}, ~mode & 0x10u)"
        return f"kpt_flush_f32({value})" if em.shape.flush_f32 else value
    if kind == "f64":
        value = f"kpt_f64({raw})"
        if em.shape.mode_changes:
            return f"kpt_flush_f64_if({value}, ~mode & 0x40u)"
        return f"kpt_flush_f64({value})" if em.shape.flush_f16_f64 else value
    if kind in ("f16", "h16"):
        half = f"(uint16_t)({raw})"
        if em.shape.mode_changes:
            half = f"kpt_flush_half_if({half}, ~mode & 0x40u)"
        elif em.shape.flush_f16_f64:
            half = f"kpt_flush_half({half})"
        return f"kpt_half_to_f32({half})" if kind == "f16" else half
    if kind in ("u32", "u64"):
        return raw
    return f"({TYPES[kind][0]})({raw})"


def result_bits(em: Emission, value: str, kind: str) -> str:
    """A result as bits: uint32_t (the low half of a 16-bit one), or uint64_t for wide types."""
    if em.shape.mode_changes and kind in ("f32", "f64", "f16", "h16"):
        if kind == "f32":
            return f"kpt_u32(kpt_flush_f32_if({value}, ~mode & 0x20u))"
        if kind == "f64":
            return f"kpt_u64(kpt_flush_f64_if({value}, ~mode & 0x80u))"
        half = f"kpt_f32_to_half({value})" if kind == "f16" else f"(uint16_t)({value})"
        return f"(uint32_t)kpt_flush_half_if({half}, ~mode & 0x80u)"
    if kind == "f32":
        return f"kpt_u32(kpt_flush_f32({value}))" if em.shape.flush_f32 else f"kpt_u32({value})"
    if kind == "f64":
        return f"kpt_u64(kpt_flush_f64({value}))" if em.shape.flush_f16_f64 else f"kpt_u64({value})"
    if kind == "f16":
        half = f"kpt_f32_to_half({value})"
        return f"(uint32_t)kpt_flush_half({half})" if em.shape.flush_f16_f64 else f"(uint32_t){half}"
    if kind == "h16":
        half = f"kpt_flush_half({value})" if em.shape.flush_f16_f64 else value
        return f"(uint32_t)({half})"
    if kind == "i16":
        return f"(uint32_t)(uint16_t)({value})"
    if kind in ("i64", "u64"):
        return f"(uint64_t)({value})"
    return f"(uint32_t)({value})"


def write_scalar(em: Emission, operand: Operand, bits: str, kind: str) -> list[str]:
    """C that stores bits in a scalar destination. The caller has put the run's loop before it where that matters."""
    wide = is_wide(kind)
    if isinstance(operand, Named) and operand.name in ("null", "off"):
        return [f"(void)({bits});"]
    if not isinstance(operand, Register) or operand.file not in ("s", "exec"):
        raise em.error(f"operand {operand} cannot be a scalar result")
    if operand.file == "exec":
        if wide:
            return [f"ex = {bits};"]
        if operand.index:
            return [f"ex = (ex & 0xffffffffu) | (uint64_t)({bits}) << 32;"]
        if em.shape.wave == 32:
            return [f"ex = {bits};"]
        return [f"ex = (ex & ~UINT64_C(0xffffffff)) | (uint32_t)({bits});"]
    if em.run is not None:
        em.run.forget_scalar(operand.index)
        if wide:
            em.run.forget_scalar(operand.index + 1)
    if not wide:
        return [f"{em.sgpr(operand.index)} = {bits};"]
    low, high = em.sgpr(operand.index), em.sgpr(operand.index + 1)
    return [f"{{ const uint64_t wide = {bits}; {low} = (uint32_t)wide; {high} = (uint32_t)(wide >> 32); }}"]


def scalar_registers(operand: Operand) -> set[int]:
    """The numbers of the scalar registers an operand names."""
    if isinstance(operand, Register) and operand.file == "s":
        return set(range(operand.index, operand.index + operand.count))
    return set()
