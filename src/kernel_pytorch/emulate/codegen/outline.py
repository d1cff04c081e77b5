"""Runs as functions of their own, shared by every place that has the same run.

A kernel of thousands of instructions would keep the host compiler busy for minutes if every run were a loop in it.
There, all but the innermost loops are written with one small function for each shape of instruction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from kernel_pytorch.emulate.assembly.instruction import Label
from kernel_pytorch.emulate.codegen.flow import Flow
from kernel_pytorch.emulate.codegen.lane_run import MARK, Parameter

#: Instructions of a kernel whose runs are fused in place. Beyond it only the innermost loops' are.
INLINE_INSTRUCTIONS = 500
#: A kernel whose loops are all larger spends its time in the smallest of them: worth seconds of the host compiler.
ONE_LOOP_INSTRUCTIONS = 1500


def inlined_instructions(flow: Flow) -> frozenset[int] | None:
    """The instructions whose runs are fused in place; None for all of them."""
    budget = INLINE_INSTRUCTIONS
    if len(flow.instructions) <= budget:
        return None
    loops: list[range] = []
    for at, one in enumerate(flow.instructions):
        operand = one.operands[-1] if one.operands else None
        if isinstance(operand, Label) and flow.labels.get(operand.name, at + 1) <= at:
            loops.append(range(flow.labels[operand.name], at + 1))
    chosen: set[int] = set()
    for loop in sorted(loops, key=len):
        fresh = [at for at in loop if at not in chosen]
        if len(chosen) + len(fresh) > budget:
            break
        chosen |= set(fresh)
    smallest = min(loops, key=len, default=range(0))
    if not chosen and len(smallest) <= ONE_LOOP_INSTRUCTIONS:
        chosen |= set(smallest)
    return frozenset(chosen)


def outlined(lines: Sequence[str], parameters: Mapping[str, Parameter], mode_changes: bool) -> tuple[str, str, str]:
    """A run's loops as a function: its name, its text, and the call. `parameters` are what stands between marks."""
    pieces = "\n".join([f"enum {{ kpt_mode_changes = {int(mode_changes)} }};", *lines]).split(MARK)
    taken: dict[str, str] = {}  # C in the kernel -> the parameter's name
    for at in range(1, len(pieces), 2):
        written = pieces[at]
        if written not in taken:
            taken[written] = f"{parameters[written].prefix}{len(taken)}"
        pieces[at] = taken[written]
    body = "".join(pieces)
    declared = [f"{parameters[written].c_type}{name}" for written, name in taken.items()]
    signature = ", ".join([*declared, "KptWave *w", "uint64_t ex", "uint32_t mode"])
    name = f"kpt_run_{hashlib.sha256((signature + body).encode()).hexdigest()[:16]}"
    function = f"KPT_OUTLINE void {name}({signature}) {{ (void)w; (void)ex; (void)mode;\n{body}\n}}"
    return name, function, f"{name}({', '.join([*taken, 'w', 'ex', 'mode'])});"
