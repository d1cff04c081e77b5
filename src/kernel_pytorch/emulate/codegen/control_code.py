"""Branches, calls, barriers, modes and messages."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernel_pytorch.emulate.assembly.instruction import (
    HardwareRegister,
    Instruction,
    Label,
    Number,
    Raw,
    Register,
)
from kernel_pytorch.emulate.assembly.operand_text import parse_operand, split_operands
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.codegen.flow import Flow
from kernel_pytorch.emulate.codegen.flush import flush
from kernel_pytorch.emulate.codegen.operands import raw_scalar, vcc, write_scalar
from kernel_pytorch.emulate.codegen.scalar_code import settle
from kernel_pytorch.emulate.isa.row import Row

#: Hardware registers that can be read, as C.
_READABLE = {
    "HW_REG_MODE": "w->mode",
    "HW_REG_STATUS": "0u",
    "HW_REG_TRAPSTS": "0u",
    "HW_REG_HW_ID": "(w->wave_in_group & 15u)",
    "HW_REG_HW_ID1": "(w->wave_in_group & 31u)",
    "HW_REG_HW_ID2": "0u",
    "HW_REG_XCC_ID": "0u",
    "HW_REG_IB_STS": "0u",
    "HW_REG_IB_STS2": "(w->wave_in_group & 31u)",
    "HW_REG_GPR_ALLOC": "0u",
    "HW_REG_LDS_ALLOC": "((w->lds_bytes + 511u) / 512u << 12)",
    # The apertures' upper halves, 16 bits each: private memory in the low half, LDS in the high one.
    "HW_REG_SH_MEM_BASES": "(KPT_SHARED_APERTURE | KPT_PRIVATE_APERTURE >> 16)",
    "HW_REG_SHADER_CYCLES": "(uint32_t)w->services->clock(w, 0)",
    "HW_REG_SHADER_CYCLES_LO": "(uint32_t)w->services->clock(w, 0)",
    "HW_REG_SHADER_CYCLES_HI": "(uint32_t)(w->services->clock(w, 0) >> 32)",
    "HW_REG_FLAT_SCR_LO": "0u",
    "HW_REG_FLAT_SCR_HI": "0u",
    "HW_REG_WAVE_MODE": "w->mode",
    "HW_REG_WAVE_HW_ID1": "(w->wave_in_group & 31u)",
    "HW_REG_WAVE_HW_ID2": "0u",
    "HW_REG_WAVE_GROUP_INFO": "w->wave_in_group",
}
_IGNORED_WRITES = frozenset({"HW_REG_FLAT_SCR_LO", "HW_REG_FLAT_SCR_HI", "HW_REG_TRAPSTS", "HW_REG_WAVE_SCHED_MODE",
                             "HW_REG_SCHED_MODE"})  # fmt: skip
_MODES = frozenset({"HW_REG_MODE", "HW_REG_WAVE_MODE"})
_MESSAGES = {"MSG_INTERRUPT": 1, "MSG_DEALLOC_VGPRS": 3, "MSG_SAVEWAVE": 4, "MSG_GET_DOORBELL": 10}


def emit_control(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    """One instruction of the flow of control."""
    action = row.fact("action")
    if action == "nothing":
        return
    if action in ("getreg", "getpc"):
        settle(em, instruction.operands)
    else:
        flush(em)
    _ACTIONS[action](em, instruction, row, flow)


def jump(em: Emission, target: int) -> str:
    """C that goes on at an instruction; going back costs a unit of the budget, so that no loop runs for ever."""
    if target > em.index:
        return f"goto L{target};"
    number = em.resume(f"L{target}")
    return f"{{ KPT_BACK_EDGE({number}u); goto L{target}; }}"


def _label(em: Emission, instruction: Instruction, flow: Flow) -> int:
    operand = instruction.operands[-1]
    if not isinstance(operand, Label) or operand.name not in flow.labels:
        raise em.error("the branch target is not known")
    return flow.labels[operand.name]


def _branch(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    em.put(jump(em, _label(em, instruction, flow)))


def _branch_if(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    condition = row.fact("condition").format(vcc=vcc(em))
    em.put(f"if ({condition}) {jump(em, _label(em, instruction, flow))}")


def _end(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    em.put("return KPT_DONE;")


def _stop(em: Emission, why: str) -> None:
    number = em.resume(f"R{len(em.resumes) + 1}")
    em.put(f"w->resume = {number}u; stop = {why}; goto leave; R{number}:;")


def _barrier(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    em.put(f"w->at = {em.place()}u;")
    _stop(em, "KPT_BARRIER")


def _barrier_signal(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    operand = instruction.operands[0] if instruction.operands else None
    is_workgroup = isinstance(operand, Raw) and operand.text.strip() == "-1"
    if instruction.mnemonic not in ("s_barrier_signal", "s_barrier_signal_isfirst") or not is_workgroup:
        raise em.error("only the barrier of the workgroup (-1) is emulated: no named ones, no cluster's")
    if instruction.mnemonic.endswith("isfirst"):
        em.put("scc = w->wave_in_group == 0;")


def _vgpr_msb(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    """The high bits of register numbers: the compiler's text has the whole numbers already, machine code has not."""
    if em.shape.has_addresses:
        raise em.error("registers above v255 are known in the compiler's own text only, not in machine code")


def _getpc(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    value = f"kpt_image + UINT64_C(0x{em.code_address(em.index + 1):x})" if em.shape.has_addresses else "kpt_image"
    for line in write_scalar(em, instruction.operands[0], value, "u64"):
        em.put(line)


def _setpc(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    em.put(f"w->at = {em.place()}u;")
    em.put(f"pc = {raw_scalar(em, instruction.operands[0], 'u64')}; {em.dispatch()}")


def _swappc(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    em.put(f"w->at = {em.place()}u;")
    em.put(f"pc = {raw_scalar(em, instruction.operands[1], 'u64')};")
    back = f"kpt_image + UINT64_C(0x{em.code_address(em.index + 1):x})"
    for line in write_scalar(em, instruction.operands[0], back, "u64"):
        em.put(line)
    em.put(em.dispatch())


def _call(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    back = f"kpt_image + UINT64_C(0x{em.code_address(em.index + 1):x})"
    for line in write_scalar(em, instruction.operands[0], back, "u64"):
        em.put(line)
    em.put(jump(em, _label(em, instruction, flow)))


def _field(em: Emission, instruction: Instruction, position: int) -> HardwareRegister:
    operand = instruction.operands[position]
    if not isinstance(operand, HardwareRegister):
        raise em.error(f"operand {operand} is not a hardware register")
    return operand


def _getreg(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    register = _field(em, instruction, 1)
    if register.name not in _READABLE:
        raise em.error(f"reading {register.name} is not emulated")
    mask = (1 << register.width) - 1
    value = f"({_READABLE[register.name]} >> {register.offset} & 0x{mask:x}u)"
    for line in write_scalar(em, instruction.operands[0], value, "u32"):
        em.put(line)


def _setreg(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    register = _field(em, instruction, 0)
    if register.name in _IGNORED_WRITES:
        return
    if register.name not in _MODES:
        raise em.error(f"writing {register.name} is not emulated")
    mask = ((1 << register.width) - 1) << register.offset
    value = raw_scalar(em, instruction.operands[1], "u32")
    em.put(f"mode = kpt_set_mode(w, 0x{mask:x}u, ({value}) << {register.offset});")


def _mode_field(mask: int, shift: int) -> Callable[[Emission, Instruction, Row, Flow], None]:
    def emit(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
        operand = instruction.operands[0]
        text = operand.text if isinstance(operand, Raw) else ""
        em.put(f"mode = kpt_set_mode(w, 0x{mask:x}u, {int(text, 0)}u << {shift});")

    return emit


def _sendmsg(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    text = instruction.operands[0].text if isinstance(instruction.operands[0], Raw) else ""
    name = re.search(r"MSG_\w+", text)
    if name is not None and name[0] not in _MESSAGES:
        raise em.error(f"message {name[0]} is not emulated")
    number = _MESSAGES[name[0]] if name else int(re.sub(r"[^\dxa-fA-F]", "", text) or "0", 0)
    if number == _MESSAGES["MSG_DEALLOC_VGPRS"]:
        return
    em.put(f"w->services->message(w, {number}u, {em.sgpr(124)});")
    _stop(em, "KPT_YIELD")


def _sendmsg_rtn(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    text = instruction.operands[0].text if isinstance(instruction.operands[0], Raw) else ""
    pieces, _ = split_operands(text)
    wide = instruction.mnemonic.endswith("b64")
    if "GET_REALTIME" in text:
        value = "w->services->clock(w, 1)"
    elif "GET_DOORBELL" in text or "GET_DDID" in text or "GET_TMA" in text or "GET_TBA" in text:
        value = "0u"
    else:
        raise em.error("this message is not emulated")
    for line in write_scalar(em, parse_operand(pieces[0]), value, "u64" if wide else "u32"):
        em.put(line)


def _trap(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    text = instruction.operands[0].text if instruction.operands and isinstance(instruction.operands[0], Raw) else "2"
    number = int(text, 0)
    em.put(f"w->at = {em.place()}u;")
    em.put(f"w->services->fault(w, KPT_FAULT_TRAP, kpt_first_lane(ex), {number}u, 0);")
    if number == 2:
        em.put("return KPT_DONE;")


def _sleep(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    text = instruction.operands[0].text if instruction.operands and isinstance(instruction.operands[0], Raw) else "0"
    units = (
        str(int(text, 0)) + "u"
        if re.match(r"(0x[0-9a-f]+|\d+)\Z", text)
        else raw_scalar(em, parse_operand(text), "u32")
    )
    em.put(f"w->services->sleep(w, {units});")
    _stop(em, "KPT_YIELD")


def _gws_barrier(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    """The barrier of a whole grid: the runtime holds the wave until every workgroup has come."""
    em.put(f"w->at = {em.place()}u;")
    count = _moved_row(em, instruction.operands[0], "0")
    em.put(f"w->services->message(w, 0x10000u, {count}[kpt_first_lane(ex)]);")
    _stop(em, "KPT_YIELD")


def _moved_row(em: Emission, operand: object, index: str) -> str:
    if not isinstance(operand, Register) or operand.file != "v":
        raise em.error(f"operand {operand} is not a vector register")
    return f"VG({operand.index} + {index})"


def _v_movrels(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    source = _moved_row(em, instruction.operands[1], em.sgpr(124))
    target = _moved_row(em, instruction.operands[0], "0")
    em.put(f"KPT_EACH_LANE(l, ex) {target}[l] = {source}[l];")


def _v_movreld(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    target = _moved_row(em, instruction.operands[0], em.sgpr(124))
    operand = instruction.operands[1]
    if isinstance(operand, Register) and operand.file == "v":
        value = f"VG({operand.index})[l]"
    else:
        value = raw_scalar(em, operand, "u32")
    em.put(f"KPT_EACH_LANE(l, ex) {target}[l] = {value};")


def _scalar_array(em: Emission, first: int) -> tuple[str, str]:
    registers = range(first, 106)
    load = " ".join(f"all[{register}] = {em.sgpr(register)};" for register in registers)
    store = " ".join(f"{em.sgpr(register)} = all[{register}];" for register in registers)
    return load, store


def _movrels(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    target, source = instruction.operands
    if not isinstance(source, Register) or source.file != "s" or not isinstance(target, Register):
        raise em.error(f"operand {source} is not a scalar register")
    load, _ = _scalar_array(em, source.index)
    em.put(f"{{ uint32_t all[112]; {load} const uint32_t from = ({source.index} + {em.sgpr(124)}) % 106u;")
    for word in range(int(row.fact("words"))):
        for line in write_scalar(em, Register(target.file, target.index + word), f"all[from + {word}]", "u32"):
            em.put(line)
    em.put("}")


def _movreld(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    target, source = instruction.operands
    if not isinstance(target, Register) or target.file != "s":
        raise em.error(f"operand {target} is not a scalar register")
    load, store = _scalar_array(em, target.index)
    em.put(f"{{ uint32_t all[112]; {load} const uint32_t to = ({target.index} + {em.sgpr(124)}) % 106u;")
    if row.fact("words") == "2":
        em.put(f"const uint64_t wide = {raw_scalar(em, source, 'u64')};")
        em.put("all[to] = (uint32_t)wide; all[to + 1] = (uint32_t)(wide >> 32);")
    else:
        em.put(f"all[to] = {raw_scalar(em, source, 'u32')};")
    em.put(f"{store} }}")


def _gpr_index(em: Emission, instruction: Instruction, row: Row, flow: Flow) -> None:
    """gfx9's indexing mode: the vector instructions that follow add an index to a register's number."""
    action = row.fact("action")
    if action == "gpr_idx_off":
        em.gpr_index = None
        return
    index = raw_scalar(em, instruction.operands[0], "u32")
    name = em.fresh("gi")
    em.put(f"const uint32_t {name} = {index} & 255u;")
    if action == "gpr_idx_idx":
        which = em.gpr_index[1] if em.gpr_index is not None else 0
    else:
        operand = instruction.operands[1]
        text = operand.text if isinstance(operand, Raw) else ""
        parts = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}
        which = operand.value if isinstance(operand, Number) else sum(b for n, b in parts.items() if n in text)
    em.gpr_index = (name, which)


_ACTIONS: dict[str, Callable[[Emission, Instruction, Row, Flow], None]] = {
    "branch": _branch,
    "branch_if": _branch_if,
    "end": _end,
    "barrier": _barrier,
    "barrier_signal": _barrier_signal,
    "barrier_wait": _barrier,
    "vgpr_msb": _vgpr_msb,
    "getpc": _getpc,
    "setpc": _setpc,
    "swappc": _swappc,
    "call": _call,
    "getreg": _getreg,
    "setreg": _setreg,
    "round_mode": _mode_field(0xF, 0),
    "denorm_mode": _mode_field(0xF0, 4),
    "sendmsg": _sendmsg,
    "sendmsg_rtn": _sendmsg_rtn,
    "trap": _trap,
    "sleep": _sleep,
    "gws_barrier": _gws_barrier,
    "v_movrels": _v_movrels,
    "v_movreld": _v_movreld,
    "movrels": _movrels,
    "movreld": _movreld,
    "gpr_idx_on": _gpr_index,
    "gpr_idx_off": _gpr_index,
    "gpr_idx_idx": _gpr_index,
}
