"""Lane-wise instructions: into the current run, or into a loop of their own."""

from __future__ import annotations

import re
from typing import TypeGuard

from kernel_pytorch.emulate.assembly.instruction import Decimal, Instruction, Named, Number, Operand, Register
from kernel_pytorch.emulate.codegen import dpp, sdwa
from kernel_pytorch.emulate.codegen.bodies import fill, sign_masks, statements
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.flush import begin_run, flush
from kernel_pytorch.emulate.codegen.lane_results import LaneResult, commit, output
from kernel_pytorch.emulate.codegen.lane_run import MASK_READ, MOVED, LaneRun
from kernel_pytorch.emulate.codegen.lookup import row_for
from kernel_pytorch.emulate.codegen.operands import (
    capture,
    constant,
    constant_bits,
    is_wide,
    raw_scalar,
    result_bits,
    scalar_registers,
    signed,
    typed,
    vcc,
)
from kernel_pytorch.emulate.codegen.packed import evaluate_packed
from kernel_pytorch.emulate.isa.row import FLOATS, HALVES, RESULT_NAMES, SOURCE_NAMES, TYPES, Row

DPP_MODIFIERS = frozenset(
    {
        "quad_perm", "row_shl", "row_shr", "row_ror", "wave_shl", "wave_shr", "wave_rol", "wave_ror", "row_share",
        "row_xmask", "row_newbcast", "row_bcast", "row_mirror", "row_half_mirror", "row_mask", "bank_mask",
        "bound_ctrl", "fi", "dpp8"
    }
)  # fmt: skip
SDWA_MODIFIERS = frozenset({"dst_sel", "dst_unused", "src0_sel", "src1_sel"})
_WORDS_OF_HALVES = ("kpt_dot2", "kpt_low_f16", "kpt_bf16_low", "kpt_fma_mix_bf16")
_OUTPUT_MODIFIERS = frozenset({"clamp", "mul", "div", "op_sel"})
_PACKED_MODIFIERS = frozenset({"op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp"})


def emit_lane(em: Emission, instruction: Instruction, row: Row) -> None:
    """One lane-wise instruction, or a v_dual pair: both read before either writes."""
    if em.gpr_index is not None:
        _indexed(em, instruction, em.gpr_index)
        return
    if instruction.encoding.endswith(("dpp", "dpp8")):
        _with_dpp(em, instruction, row)
        return
    parts = [(instruction, row)]
    if instruction.dual is not None:
        parts.append((instruction.dual, row_for(em, instruction.dual)))
    rounding = _rounding(em, parts)
    if row.alone or (em.run is not None and rounding is not None and em.run.rounding not in (None, rounding)):
        flush(em)
    if em.run is not None and not (em.in_place() and em.run.inline):
        flush(em)
    _ready(em, [operand for one, _ in parts for operand in one.operands], parts)
    run = em.run or begin_run(em)
    run.alone = run.alone or row.alone
    run.rounding = rounding if rounding is not None else run.rounding
    found = [(one, _evaluate(em, run, one, its_row, None)) for one, its_row in parts]
    for one, results in found:
        for result in results:
            commit(em, run, one, result, _row_of(parts, one))
    if row.alone or row.writes_exec or -1 in run.mask_names:
        em.position = em.index + 1
        flush(em)


def _rounding(em: Emission, parts: list[tuple[Instruction, Row]]) -> int | None:
    """The field of MODE that rounds these instructions: 0 for single precision, 2 for double and half."""
    if not em.shape.mode_changes:
        return None
    kinds = {kind.removeprefix("+") for _, row in parts for kind in (*row.results, *row.sources)}
    if kinds & {"f64", "f16", "h16"}:
        return 2
    return 0 if "f32" in kinds else None


def _indexed(em: Emission, instruction: Instruction, gpr_index: tuple[str, int]) -> None:
    """A move in gfx9's indexing mode: the compiler uses no other instruction there."""
    index, which = gpr_index
    if instruction.mnemonic != "v_mov_b32" or len(instruction.operands) != 2:
        raise em.error("only v_mov_b32 is known in register indexing mode")
    flush(em)
    target, source = instruction.operands
    if not isinstance(target, Register) or target.file != "v":
        raise em.error(f"operand {target} cannot be a vector result")
    if isinstance(source, Register) and source.file == "v":
        value = f"VG({source.index} + {index if which & 1 else 0})[l]"
    else:
        value = raw_scalar(em, source, "u32")
    em.put(f"KPT_EACH_LANE(l, ex) VG({target.index} + {index if which & 8 else 0})[l] = {value};")


def _row_of(parts: list[tuple[Instruction, Row]], wanted: Instruction) -> Row:
    return next(row for one, row in parts if one is wanted)


def _ready(em: Emission, operands: list[Operand], parts: list[tuple[Instruction, Row]]) -> None:
    """Finish the run first where the new instruction needs scalar registers that only its loop will set."""
    if em.run is None:
        return
    pending = em.run.mask_registers(em.shape.wave)
    masks = {
        operand.index
        for one, row in parts
        for operand, kind in _pairs(em, one, row)
        if kind == "mask" and isinstance(operand, Register) and operand.file == "s"
    }
    for operand in operands:
        touched = scalar_registers(operand)
        if not touched & pending:
            continue
        assert isinstance(operand, Register)
        if operand.index in masks and operand.index in em.run.mask_names:
            continue
        flush(em)
        return
    for first in masks:
        registers = {first, first + 1} if em.shape.wave == 64 else {first}
        if registers & pending and first not in em.run.mask_names:
            flush(em)
            return


def _pairs(em: Emission, instruction: Instruction, row: Row) -> list[tuple[Operand, str]]:
    results, sources = split(em, instruction, row)
    pairs = [(operand, kind) for operand, kind in zip(results, row.results, strict=False) if operand is not None]
    return [*pairs, *zip(sources, row.sources, strict=True)]


def split(em: Emission, instruction: Instruction, row: Row) -> tuple[list[Operand | None], list[Operand]]:
    """The operands as results and sources, with those that are only implied put in."""
    operands: list[Operand | None] = list(instruction.operands)
    sources_needed = len(row.sources)
    if row.writes_exec and len(operands) == sources_needed:
        operands = [None, *operands]
    results = operands[: len(row.results)]
    sources = [operand for operand in operands[len(row.results) :] if operand is not None]
    if len(sources) == sources_needed - 1 and row.sources[-1] == "mask":
        sources.append(Register("s", 106, 2 if em.shape.wave == 64 else 1))
    if len(results) != len(row.results) or len(sources) != sources_needed:
        raise em.error(f"{len(instruction.operands)} operands where the table has {len(row.results) + sources_needed}")
    return results, sources


def _with_dpp(em: Emission, instruction: Instruction, row: Row) -> None:
    flush(em)
    _, sources = split(em, instruction, row)
    first = sources[0]
    if not isinstance(first, Register) or first.file != "v":
        raise em.error("the first source of a DPP instruction must be a vector register")
    modifiers = instruction.modifiers
    run = begin_run(em)
    run.rounding = _rounding(em, [(instruction, row)])
    moved: list[str] = []
    enabled = em.fresh("en")
    for word in range(2 if is_wide(row.sources[0]) else 1):
        array = em.fresh("dpp")
        moved.append(run.outer(array, MOVED))
        em.put(f"uint32_t {array}[WAVE];")
        rows = modifiers.get("row_mask", 15)
        banks = modifiers.get("bank_mask", 15)
        zero = int(bool(modifiers.get("bound_ctrl", False) is not False))
        name = f"const uint64_t {enabled} = " if word == 0 else "(void)"
        em.put(
            f"{name}kpt_dpp({array}, VG({first.index + word}), {dpp.control(modifiers)}, {rows}u, {banks}u, "
            f"{zero}u, ex);"
        )
    run.lanes_on = enabled
    for result in _evaluate(em, run, instruction, row, moved):
        commit(em, run, instruction, result, row)
    em.position = em.index + 1
    flush(em)


def _evaluate(
    em: Emission, run: LaneRun, instruction: Instruction, row: Row, moved: list[str] | None
) -> list[LaneResult]:
    _check_modifiers(em, instruction, row)
    results, sources = split(em, instruction, row)
    if row.packed:
        return [evaluate_packed(em, run, instruction, row, results, sources)]
    if row.body == "a" and row.sources == ("u64",) and moved is None and _is_plain_vector(sources[0]):
        file, index = sources[0].file, sources[0].index
        return [LaneResult(results[0], "u32", run.read((file, index)), run.read((file, index + 1)))]
    op_sel = instruction.modifiers.get("op_sel", ())
    selected = op_sel if isinstance(op_sel, tuple) and "op_sel" not in row.modifiers else ()
    own = "{neg}" in row.body
    if "kpt_fma_mix" in row.body:
        sources = _mixed_constants(instruction, sources)
    elif any(word in row.body for word in _WORDS_OF_HALVES) and any(isinstance(one, Decimal) for one in sources[:2]):
        raise em.error("a floating-point constant in place of two halves is not known for this instruction")
    names = []
    declarations = []
    for position, (operand, kind) in enumerate(zip(sources, row.sources, strict=True)):
        high = position < len(selected) and bool(selected[position])
        if high and kind not in HALVES:
            raise em.error(f"op_sel on an operand of type {kind}")
        value = _source(em, run, instruction, operand, kind, position, high, moved if position == 0 else None, own)
        declarations.append(f"const {TYPES[kind][0]} {SOURCE_NAMES[position]} = {value};")
    for position, (result, kind) in enumerate(zip(results, row.results, strict=True)):
        plain = kind.removeprefix("+")
        start = ""
        if kind.startswith("+"):
            assert result is not None
            upper = plain in HALVES and any(selected[len(row.sources) :])  # the last bit of op_sel is the result's
            start = " = " + typed(em, _vector(em, run, result, plain, upper), plain)
        names.append(f"{TYPES[plain][0]} {RESULT_NAMES[position]}{start};")
    clamped = bool(instruction.modifiers.get("clamp"))
    body = row.body
    if clamped and row.saturated:
        body = row.saturated
    elif clamped and row.results[0].removeprefix("+") not in FLOATS and not _clamp_is_idle(row):
        raise em.error("clamp is not known for this instruction")
    text = statements(fill(body, {**instruction.modifiers, **sign_masks(sources)}), True)
    found: list[LaneResult] = []
    stores = []
    for position, (result, kind) in enumerate(zip(results, row.results, strict=True)):
        plain = kind.removeprefix("+")
        name = run.fresh()
        local = RESULT_NAMES[position]
        if plain == "mask":
            run.body.append(f"uint32_t {name};")
            stores.append(f"{name} = (uint32_t)({local});")
        else:
            c_type = "uint64_t" if is_wide(plain) else "uint32_t"
            run.body.append(f"{c_type} {name};")
            value = output(instruction, local, plain, em) if position == 0 else local
            stores.append(f"{name} = {result_bits(em, value, plain)};")
        found.append(LaneResult(result, plain, name))
    run.body.append(f"{{ {' '.join(declarations)} {' '.join(names)} {text} {' '.join(stores)} }}")
    return found


def _is_plain_vector(operand: Operand) -> TypeGuard[Register]:
    return isinstance(operand, Register) and operand.file in ("v", "a") and not (operand.neg or operand.abs)


def _mixed_constants(instruction: Instruction, sources: list[Operand]) -> list[Operand]:
    """v_fma_mix: a constant such as 1.0 is a half where op_sel_hi says that its source is one."""
    halves = instruction.modifiers.get("op_sel_hi", ())
    halves = halves if isinstance(halves, tuple) else ()
    return [
        Number(constant_bits(operand, "f16"), operand.neg, operand.abs)
        if isinstance(operand, Decimal) and position < len(halves) and halves[position]
        else operand
        for position, operand in enumerate(sources)
    ]


def _clamp_is_idle(row: Row) -> bool:
    # Comparisons carry the bit without a meaning of its own (it asks for signalling on NaN).
    return row.results[0] == "mask"


def _check_modifiers(em: Emission, instruction: Instruction, row: Row) -> None:
    allowed = set(row.modifiers) | (_PACKED_MODIFIERS if row.packed else _OUTPUT_MODIFIERS)
    if instruction.encoding.endswith(("dpp", "dpp8")):
        allowed |= DPP_MODIFIERS
    if instruction.encoding == "sdwa":
        allowed |= SDWA_MODIFIERS
    if em.shape.is_gfx125 and re.match(r"v_cvt_\w*(fp8|bf8)", instruction.mnemonic):
        allowed.discard("clamp")  # there it chooses another format, or saturates
    for name in instruction.modifiers:
        if name not in allowed:
            raise em.error(f"modifier {name} is not known for {instruction.mnemonic}")


def _source(
    em: Emission,
    run: LaneRun,
    instruction: Instruction,
    operand: Operand,
    kind: str,
    position: int,
    high: bool,
    moved: list[str] | None,
    own_signs: bool,
) -> str:
    """A source as a value of its type's C type."""
    if kind == "mask":
        return _mask_source(em, run, operand)
    if moved is not None:
        raw = f"{moved[0]}[l]" if len(moved) == 1 else f"((uint64_t){moved[1]}[l] << 32 | {moved[0]}[l])"
        if high or (isinstance(operand, Register) and operand.half == "h"):
            raw = f"({raw} >> 16)"
    else:
        raw = _vector(em, run, operand, kind, high)
    select = instruction.modifiers.get(f"src{position}_sel")
    if isinstance(select, str) and position < 2:
        raw = sdwa.source(raw, select, isinstance(operand, Register) and operand.sext)
    return typed(em, raw if own_signs else signed(raw, operand, kind), kind)


def _vector(em: Emission, run: LaneRun, operand: Operand, kind: str, high: bool) -> str:
    """The bits of a source of any kind, in the lane's loop."""
    wide = is_wide(kind)
    if isinstance(operand, Register) and operand.file in ("v", "a"):
        key = (operand.file, operand.index)
        raw = run.read_wide(key) if wide else run.read(key)
        return f"({raw} >> 16)" if high or operand.half == "h" else raw
    if isinstance(operand, (Number, Decimal)):
        raw = constant(operand, kind)
        return f"({raw} >> 16)" if high else raw
    raw = capture(em, run, operand, kind)
    return f"({raw} >> 16)" if high or (isinstance(operand, Register) and operand.half == "h") else raw


def _mask_source(em: Emission, run: LaneRun, operand: Operand) -> str:
    if isinstance(operand, Register) and operand.file == "s":
        if operand.index in run.masks:
            return run.masks[operand.index]
        key = ("mask", operand.index)
        if key not in run.captured:
            name = em.fresh("m")
            bits = raw_scalar(em, operand, "u64" if em.shape.wave == 64 else "u32")
            em.put(f"uint32_t {name}[WAVE]; kpt_spread({name}, {bits});")
            run.captured[key] = run.outer(name, MASK_READ)
        return f"({run.captured[key]}[l] & 1u)"
    if isinstance(operand, Register) and operand.file == "exec":
        return "(uint32_t)(ex >> l & 1)"
    if isinstance(operand, (Number, Decimal)):
        bits = constant(operand, "u64" if em.shape.wave == 64 else "u32")
        return f"(uint32_t)({bits} >> l & 1u)"
    if isinstance(operand, Named) and operand.name in ("vcc", "null"):
        return "0u" if operand.name == "null" else f"(uint32_t)({vcc(em)} >> l & 1)"
    raise em.error(f"operand {operand} cannot be a lane mask")
