"""Missing waits of a kernel as remarks a person can follow: what is used too early, and one way that leads there."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Instruction
from kernel_pytorch.emulate.codegen.flow import Flow
from kernel_pytorch.emulate.codegen.module import Remark
from kernel_pytorch.emulate.isa.row import Row
from kernel_pytorch.emulate.isa.table import family, find
from kernel_pytorch.emulate.waits.missing import MissingWait, missing_waits, steps_of

_HOW = {
    "read": "{what} is read while {access} may still be writing it",
    "overwritten": "{what} is written while {access} may still be writing it: the late value wins",
    "passed": "the barrier is passed while {access} may still be writing LDS: other waves may read the old value",
}


def missing_wait_remarks(flow: Flow, target: str, wave: int) -> tuple[Remark, ...]:
    """The missing waits of one kernel. An instruction that the table lacks is refused before this is asked."""
    parts: list[list[tuple[Instruction, Row]]] = []
    for instruction in flow.instructions:
        pair = [instruction] if instruction.dual is None else [instruction, instruction.dual]
        rows = [(one, find(one.mnemonic, target)) for one in pair]
        parts.append([(one, row) for one, row in rows if row is not None])
    steps = steps_of(parts, int(family(target)[3:]), wave)
    return tuple(_remark(flow, one) for one in missing_waits(flow, steps))


def _remark(flow: Flow, found: MissingWait) -> Remark:
    used = flow.instructions[found.use]
    access = flow.instructions[found.access]
    lines = [
        _HOW[found.how].format(what=found.what, access=f"`{access.text}`{_place(access)}"),
        f"a wait for {found.wait} is missing between the two; one way from one to the other:",
        *_path(flow, found),
    ]
    return Remark(used.text, used.place, "\n    ".join(lines))


def _path(flow: Flow, found: MissingWait) -> list[str]:
    """The ends of the path, the branches that are taken and the waits that are passed; the rest is counted."""
    lines: list[str] = []
    skipped = 0
    last = len(found.path) - 1
    for position, at in enumerate(found.path):
        one = flow.instructions[at]
        jumps = position < last and found.path[position + 1] != at + 1
        if position in (0, last) or jumps or one.mnemonic.startswith("s_wait"):
            if skipped:
                lines.append(f"... {skipped} more")
            skipped = 0
            lines.append(f"{one.text}{_place(one)}" + ("   (taken)" if jumps else ""))
        else:
            skipped += 1
    return lines


def _place(instruction: Instruction) -> str:
    place = instruction.place
    return f" at {place.file}:{place.line}" if place is not None and place.file else ""
