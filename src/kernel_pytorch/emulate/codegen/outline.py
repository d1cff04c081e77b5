"""Runs as functions of their own, shared by every place that has the same run.

A kernel of thousands of instructions would keep the host compiler busy for minutes if every run were a loop in it.
There, all but the innermost loops are written with one small function for each shape of instruction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from kernel_pytorch.emulate.assembly.instruction import Label
from kernel_pytorch.emulate.codegen.flow import Flow

#: Instructions of a kernel whose runs are fused in place. Beyond it only the innermost loops' are.
INLINE_INSTRUCTIONS = 500
#: A kernel whose loops are all larger spends its time in the smallest of them: worth seconds of the host compiler.
ONE_LOOP_INSTRUCTIONS = 1500

_NAMES = re.compile(r"\b(?:(VG|AG)\((\d+)\)|(k|m|c|dpp|en)(\d+))(?![\w(])")


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


def outlined(lines: Sequence[str], wide: set[str], mode_changes: bool) -> tuple[str, str, str]:
    """A run's loops as a function: its name, its text, and the call. `wide` names captured 64-bit scalars."""
    text = "\n".join([f"enum {{ kpt_mode_changes = {int(mode_changes)} }};", *lines])
    arguments: dict[str, tuple[str, str]] = {}  # as written -> (declaration, name in the function)

    def rename(match: re.Match[str]) -> str:
        written = match[0]
        if written not in arguments:
            number = len(arguments)
            kind = "row" if match[1] else match[3]
            if kind == "row":
                declared = f"uint32_t *r{number}"
            elif kind == "k":
                declared = f"{'uint64_t' if written in wide else 'uint32_t'} k{number}"
            elif kind == "en":
                declared = f"uint64_t en{number}"
            elif kind == "c":
                declared = f"uint32_t *c{number}"
            else:
                declared = f"const uint32_t *{kind}{number}"
            arguments[written] = (declared, declared.split()[-1].lstrip("*"))
        return arguments[written][1]

    body = _NAMES.sub(rename, text)
    always = ("KptWave *w", "uint64_t ex", "uint32_t mode")
    parameters = ", ".join([declared for declared, _ in arguments.values()] + list(always))
    name = f"kpt_run_{hashlib.sha256((parameters + body).encode()).hexdigest()[:16]}"
    function = f"KPT_OUTLINE void {name}({parameters}) {{ (void)w; (void)ex; (void)mode;\n{body}\n}}"
    return name, function, f"{name}({', '.join([*arguments, 'w', 'ex', 'mode'])});"
