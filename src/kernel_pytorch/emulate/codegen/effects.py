"""What one instruction reads and writes, for the analysis of which values are still needed."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernel_pytorch.emulate.assembly.instruction import Instruction, Operand, Raw, Register
from kernel_pytorch.emulate.assembly.operand_text import parse_operand, split_operands
from kernel_pytorch.emulate.codegen.lane_run import RegisterKey
from kernel_pytorch.emulate.isa.image import GFX9_COORDINATES
from kernel_pytorch.emulate.isa.row import HALVES, TYPES, Row

_SHRINKING = frozenset(
    {"s_and_saveexec", "s_andn1_saveexec", "s_and_not0_saveexec", "s_andn1_wrexec", "s_and_not0_wrexec"}
)
_SHRINKING_LOGIC = frozenset({"s_and", "s_andn2", "s_and_not1"})
_WORDS = {"W2": 2, "W3": 3, "W4": 4}
#: Fields of control that read or write registers nobody can name beforehand.
_UNKNOWABLE = frozenset({"v_movrels", "v_movreld", "movrels", "movreld", "gpr_idx_on", "gpr_idx_idx"})


@dataclass
class Effects:
    """Registers an instruction touches. `partial` ones are written in some lanes or bits only."""

    lane_reads: set[RegisterKey] = field(default_factory=set)
    cross_reads: set[RegisterKey] = field(default_factory=set)  # of lanes that may be off, too
    writes: set[RegisterKey] = field(default_factory=set)
    scalar_reads: set[int] = field(default_factory=set)
    scalar_writes: set[int] = field(default_factory=set)
    exec_change: str = ""  # "", "less" (lanes only go off) or "any"
    unknowable: bool = False


def effects(instruction: Instruction, row: Row, wave: int) -> Effects:
    """The effects of one instruction (both of a v_dual pair are the caller's business)."""
    found = Effects()
    {"lane": _lane, "scalar": _scalar, "wave": _wave, "memory": _memory, "control": _control}[row.kind](
        found, instruction, row, wave
    )
    return found


def _vector_keys(operand: Operand, words: int | None = None) -> set[RegisterKey]:
    if isinstance(operand, Register) and operand.file in ("v", "a"):
        count = max(operand.count, words or 1)
        return {(operand.file, operand.index + at) for at in range(count)}
    return set()


def _scalar_keys(operand: Operand, words: int | None = None) -> set[int]:
    if isinstance(operand, Register) and operand.file == "s":
        return set(range(operand.index, operand.index + max(operand.count, words or 1)))
    return set()


def _words_of(kind: str, wave: int) -> int:
    if kind == "mask":
        return 2 if wave == 64 else 1
    return TYPES[kind][1]


def _lane(found: Effects, instruction: Instruction, row: Row, wave: int) -> None:
    operands = list(instruction.operands)
    results = list(row.results)
    if row.writes_exec:
        found.exec_change = "less"
        if len(operands) == len(row.sources):
            results = []
    shuffled = instruction.encoding.endswith(("dpp", "dpp8"))
    merged = shuffled or instruction.encoding == "sdwa" or "op_sel" in instruction.modifiers
    for operand, kind in zip(operands, results, strict=False):
        plain = kind.removeprefix("+")
        words = 2 if row.packed and plain in ("f32", "u32", "i32") else _words_of(plain, wave)
        if plain == "mask":
            # Lanes that are off get a zero: the whole register is written.
            if isinstance(operand, Register) and operand.file == "exec":
                found.exec_change = "less"
            found.scalar_writes |= _scalar_keys(operand, words)
            continue
        keys = _vector_keys(operand, words)
        if kind.startswith("+") or merged or plain in HALVES:
            found.lane_reads |= keys
        if not shuffled:
            found.writes |= keys
    sources = operands[len(results) :]
    for position, operand in enumerate(sources):
        kind = row.sources[position] if position < len(row.sources) else "u32"
        words = 2 if row.packed and kind in ("f32", "u32", "i32") else _words_of(kind, wave)
        keys = _vector_keys(operand, words)
        if shuffled and position == 0:
            found.cross_reads |= keys
        else:
            found.lane_reads |= keys
        found.scalar_reads |= _scalar_keys(operand, words)
    if len(sources) < len(row.sources):
        found.scalar_reads |= {106, 107}


def _scalar(found: Effects, instruction: Instruction, row: Row, wave: int) -> None:
    operands = instruction.operands
    for operand, kind in zip(operands, row.results, strict=False):
        words = TYPES[kind.removeprefix("+")][1]
        if isinstance(operand, Register) and operand.file == "exec":
            base = instruction.mnemonic.rpartition("_")[0]
            from_exec = any(isinstance(one, Register) and one.file == "exec" for one in operands[1:2])
            found.exec_change = "less" if base in _SHRINKING_LOGIC and from_exec else "any"
        found.scalar_writes |= _scalar_keys(operand, words)
        if kind.startswith("+"):
            found.scalar_reads |= _scalar_keys(operand, words)
    if row.writes_exec:
        found.exec_change = "less" if instruction.mnemonic.rpartition("_")[0] in _SHRINKING else "any"
    for operand, kind in zip(operands[len(row.results) :], row.sources, strict=False):
        found.scalar_reads |= _scalar_keys(operand, TYPES[kind][1])


def _wave(found: Effects, instruction: Instruction, row: Row, wave: int) -> None:
    operands = instruction.operands
    for operand, kind in zip(operands, row.results, strict=False):
        plain = kind.removeprefix("+")
        if plain[0] == "v":
            # Written in some lanes only, as far as the table tells.
            found.cross_reads |= _vector_keys(operand, int(plain[1:])) if kind.startswith("+") else set()
        else:
            found.scalar_writes |= _scalar_keys(operand, int(plain[1:]))
    for operand, kind in zip(operands[len(row.results) :], row.sources, strict=False):
        words = int(kind[1:]) if kind[0] == "v" else TYPES[kind][1]
        found.cross_reads |= _vector_keys(operand, words)
        found.scalar_reads |= _scalar_keys(operand, words)


def _memory(found: Effects, instruction: Instruction, row: Row, wave: int) -> None:
    action, space = row.fact("action"), row.fact("space")
    operands = list(instruction.operands)
    if space == "SCALAR":
        words = max(int(row.fact("bytes") or "8") // 4, 1)
        if action.endswith("atomic"):
            words = 4
        if action.endswith(("store", "atomic")):
            found.scalar_reads |= _scalar_keys(operands[0], words)
        if not action.endswith(("store", "atomic")):
            found.scalar_writes |= _scalar_keys(operands[0], words)
        if isinstance(operands[0], Register) and operands[0].file == "exec":
            found.exec_change = "any"
        for operand in operands[1:]:
            found.scalar_reads |= _scalar_keys(operand)
        return
    if action == "load" and instruction.modifiers.get("lds"):
        action = "load_to_lds"
    if action in ("count_lanes", "load_at_lane"):
        found.writes |= _vector_keys(operands[0])
        operands = operands[1:]
    if action in ("count_lanes", "load_at_lane", "store_at_lane"):
        found.scalar_reads |= {124}
    if action in ("load", "load2"):
        words = 2 * int(row.fact("words")) if action == "load2" else _WORDS.get(row.fact("moves"), 1)
        keys = _vector_keys(operands[0], words)
        if row.fact("moves").endswith(("LOW", "HIGH")) or (isinstance(operands[0], Register) and operands[0].half):
            found.lane_reads |= keys
        found.writes |= keys
        operands = operands[1:]
    elif action in ("atomic", "exchange2"):
        # The first operand may be the old value or the address: whichever, reading it too does no harm.
        words = 4 if action == "exchange2" else 2 * int(row.fact("bits")) // 32
        for operand in operands:
            found.lane_reads |= _vector_keys(operand, words)
    elif action in ("store", "store2"):
        for operand in operands:
            found.lane_reads |= _vector_keys(operand, max(_WORDS.get(row.fact("moves"), 1), 2))
    elif action in ("copy_to_lds", "copy_from_lds"):
        for operand in operands:
            found.lane_reads |= _vector_keys(operand)
    elif action == "load_to_lds":
        found.scalar_reads |= {124}
    # gfx9's machine code names the first register of an image's coordinates only.
    words = GFX9_COORDINATES if space == "IMAGE" and "dim" not in instruction.modifiers else 2
    for operand in operands:
        found.lane_reads |= _vector_keys(operand, words)
        found.scalar_reads |= _scalar_keys(operand)


def _control(found: Effects, instruction: Instruction, row: Row, wave: int) -> None:
    action = row.fact("action")
    if action == "nothing":
        return
    found.unknowable = action in _UNKNOWABLE
    if action == "branch_if" and row.fact("reads") == "vcc":
        found.scalar_reads |= {106, 107}
    if action == "sendmsg":
        found.scalar_reads |= {124}
    operands: list[Operand] = list(instruction.operands)
    if action in ("sendmsg_rtn", "sleep") and operands and isinstance(operands[0], Raw):
        pieces, _ = split_operands(operands[0].text)
        operands = [parse_operand(pieces[0])] if pieces else []
    for position, operand in enumerate(operands):
        found.cross_reads |= _vector_keys(operand)
        keys = _scalar_keys(operand)
        if position == 0 and action in ("getpc", "swappc", "call", "getreg", "sendmsg_rtn"):
            found.scalar_writes |= keys
        else:
            found.scalar_reads |= keys
