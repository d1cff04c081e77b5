"""Results of lane-wise instructions: output modifiers, halves of registers, masks."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.emulate.assembly.instruction import Instruction, Named, Operand, Register
from kernel_pytorch.emulate.codegen import sdwa
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.lane_run import LaneRun, RegisterKey
from kernel_pytorch.emulate.codegen.operands import is_wide
from kernel_pytorch.emulate.isa.row import FLOATS, HALVES, Row


@dataclass(frozen=True)
class LaneResult:
    """A result of one instruction inside a run, before it becomes a register's value."""

    operand: Operand | None  # None: a v_cmpx without a mask
    kind: str
    name: str  # C variable with its bits, or 0/1 of a mask
    high: str = ""  # of two registers that were never one value: the variable of the second one


def output(instruction: Instruction, value: str, kind: str, em: Emission) -> str:
    """mul:, div: and clamp on a floating-point result."""
    if kind not in FLOATS:
        return value
    scale = {("mul", 2): "2.0", ("mul", 4): "4.0", ("div", 2): "0.5"}
    as_float = kind == "h16" and any(name in instruction.modifiers for name in ("mul", "div", "clamp"))
    if as_float:
        value = f"kpt_half_to_f32({value})"
    for name in ("mul", "div"):
        factor = instruction.modifiers.get(name)
        if factor is not None:
            if (name, factor) not in scale:
                raise em.error(f"{name}:{factor} is not known")
            value = f"{value} * {scale[name, int(str(factor))]}{'' if kind == 'f64' else 'f'}"
    if instruction.modifiers.get("clamp"):
        value = f"kpt_clamp_{'f64' if kind == 'f64' else 'f32'}({value})"
    return f"kpt_f32_to_half({value})" if as_float else value


def commit(em: Emission, run: LaneRun, instruction: Instruction, result: LaneResult, row: Row) -> None:
    """Make a result the value of its register, or of the mask it goes to."""
    operand = result.operand
    if result.kind == "mask":
        _commit_mask(em, run, operand, result.name, row)
        return
    if not isinstance(operand, Register) or operand.file not in ("v", "a"):
        raise em.error(f"operand {operand} cannot be a vector result")
    key: RegisterKey = (operand.file, operand.index)
    if result.high:
        # Put into one value and taken apart again, they cost more than the arithmetic: half the time of v_pk_fma_f32.
        run.write_pair(key, result.name, result.high)
        return
    if is_wide(result.kind):
        run.write_wide(key, result.name)
        return
    value = result.name
    select = instruction.modifiers.get("dst_sel")
    if isinstance(select, str):
        value = sdwa.merge(value, run.read(key), select, str(instruction.modifiers.get("dst_unused", "UNUSED_PAD")))
    elif result.kind in HALVES and not row.packed:
        value = _half_result(em, run, instruction, row, operand, value)
    run.write(key, value)


def _half_result(em: Emission, run: LaneRun, instruction: Instruction, row: Row, operand: Register, value: str) -> str:
    selected = instruction.modifiers.get("op_sel", ())
    high = operand.half == "h" or (
        isinstance(selected, tuple) and len(selected) > len(row.sources) and bool(selected[len(row.sources)])
    )
    old = (operand.file, operand.index)
    if high:
        return f"({run.read(old)} & 0xffffu) | {value} << 16"
    if em.shape.generation == 9 and not row.keeps_high:
        return value
    return f"({run.read(old)} & 0xffff0000u) | {value}"


def _commit_mask(em: Emission, run: LaneRun, operand: Operand | None, name: str, row: Row) -> None:
    if row.writes_exec:
        run.masks[-1] = name
        run.mask_names[-1] = em.fresh("c")
    if operand is None or (isinstance(operand, Named) and operand.name == "null"):
        return
    if isinstance(operand, Register) and operand.file == "exec":
        run.masks[-1] = name
        run.mask_names[-1] = em.fresh("c")
        return
    if not isinstance(operand, Register) or operand.file != "s":
        raise em.error(f"operand {operand} cannot take a lane mask")
    run.masks[operand.index] = name
    run.mask_names.setdefault(operand.index, em.fresh("c"))
    run.forget_scalar(operand.index)
    run.forget_scalar(operand.index + 1)
