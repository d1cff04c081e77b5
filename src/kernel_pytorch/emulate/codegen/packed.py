"""Packed instructions: the body runs for both halves of the operands."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Decimal, Instruction, Number, Operand, Register
from kernel_pytorch.emulate.codegen.bodies import fill, statements
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.lane_results import LaneResult
from kernel_pytorch.emulate.codegen.lane_run import LaneRun
from kernel_pytorch.emulate.codegen.operands import capture, constant, result_bits, typed
from kernel_pytorch.emulate.isa.row import FLOATS, SOURCE_NAMES, TYPES, Row


def evaluate_packed(
    em: Emission,
    run: LaneRun,
    instruction: Instruction,
    row: Row,
    results: list[Operand | None],
    sources: list[Operand],
) -> LaneResult:
    """The packed result: one register of halves, or two of elements of 32 bits."""
    element = row.results[0].removeprefix("+")
    clamped = bool(instruction.modifiers.get("clamp"))
    if clamped and element not in FLOATS and not row.saturated:
        raise em.error("clamp is not known for this instruction")
    body = row.saturated if clamped and row.saturated else row.body
    text = statements(fill(body, instruction.modifiers), True)
    parts = []
    for high in (False, True):
        declarations = []
        for position, (operand, kind) in enumerate(zip(sources, row.sources, strict=True)):
            raw = _element(em, run, operand, kind, position, high, instruction)
            declarations.append(f"const {TYPES[kind][0]} {SOURCE_NAMES[position]} = {typed(em, raw, kind)};")
        start = ""
        if row.results[0].startswith("+"):
            assert results[0] is not None
            start = " = " + typed(em, _half_of(em, run, results[0], element, high), element)
        value = "d"
        if clamped and element in ("f32", "f16"):
            value = "kpt_clamp_f32(d)"
        elif clamped and element == "h16":
            value = "kpt_f32_to_half(kpt_clamp_f32(kpt_half_to_f32(d)))"
        name = run.fresh()
        bits = result_bits(em, value, element)
        run.body.append(f"uint32_t {name};")
        run.body.append(f"{{ {' '.join(declarations)} {TYPES[element][0]} d{start}; {text} {name} = {bits}; }}")
        parts.append(name)
    if element in ("f32", "u32", "i32"):
        return LaneResult(results[0], "u32", parts[0], parts[1])
    name = run.fresh()
    run.body.append(f"const uint32_t {name} = {parts[1]} << 16 | ({parts[0]} & 0xffffu);")
    return LaneResult(results[0], "u32", name)


def _bit(instruction: Instruction, name: str, position: int, default: int) -> bool:
    value = instruction.modifiers.get(name)
    if isinstance(value, tuple):
        return bool(value[position]) if position < len(value) else bool(default)
    return bool(default)


def _element(
    em: Emission, run: LaneRun, operand: Operand, kind: str, position: int, high: bool, instruction: Instruction
) -> str:
    """One half of a source as bits, as op_sel and op_sel_hi choose it, with its sign as neg_lo and neg_hi say."""
    chosen = _bit(instruction, "op_sel_hi", position, 1) if high else _bit(instruction, "op_sel", position, 0)
    raw = _half_of(em, run, operand, kind, chosen)
    if _bit(instruction, "neg_hi" if high else "neg_lo", position, 0):
        sign = "0x80000000u" if kind == "f32" else "0x8000u"
        raw = f"({raw} ^ {sign})"
    return raw


def _half_of(em: Emission, run: LaneRun, operand: Operand, kind: str, high: bool) -> str:
    if TYPES[kind][0] in ("float", "uint32_t", "int32_t") and kind not in ("f16",):
        # Elements of 32 bits lie in two registers; a constant or a single scalar stands for both.
        if isinstance(operand, Register) and operand.file in ("v", "a"):
            return run.read((operand.file, operand.index + int(high)))
        if isinstance(operand, Register) and operand.file == "s" and operand.count == 2:
            # gfx1250 reads the first of the two registers only, for both elements.
            second = int(high and not em.shape.is_gfx125)
            return capture(em, run, Register("s", operand.index + second), "u32")
        if isinstance(operand, (Number, Decimal)):
            return constant(operand, kind)
        return capture(em, run, operand, "u32")
    if isinstance(operand, Register) and operand.file in ("v", "a"):
        raw = run.read((operand.file, operand.index))
    elif isinstance(operand, Decimal):
        # The assembler's inline constant fills the low half only; op_sel_hi picks zeroes above it.
        raw = constant(operand, "f16")
    elif isinstance(operand, Number):
        raw = constant(operand, "u32")
    else:
        raw = capture(em, run, operand, "u32")
    return f"({raw} >> 16)" if high else raw
