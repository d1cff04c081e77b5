"""The instructions one kernel can reach, in one row, with the labels between them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_pytorch.emulate.assembly.instruction import (
    Function,
    Instruction,
    Label,
    LabelDistance,
    Listing,
    Number,
    SymbolPart,
)

_CALLS = frozenset({"s_swappc_b64", "s_swap_pc_i64"})
_GETPC = frozenset({"s_getpc_b64", "s_get_pc_i64"})
_LOW_SUMS = frozenset({"s_add_u32", "s_add_co_u32"})
_HIGH_SUMS = frozenset({"s_addc_u32", "s_add_co_ci_u32"})
_JUMPS = frozenset({"s_setpc_b64", "s_set_pc_i64", *_CALLS})
_ENDS = frozenset({"s_endpgm", "s_endpgm_saved"})


@dataclass(frozen=True)
class Flow:
    """Instructions of a kernel and of the device functions it may call."""

    functions: tuple[Function, ...]
    starts: tuple[int, ...]  # number of each function's first instruction
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]  # names and addresses -> instruction number
    targets: frozenset[int]  # instructions something jumps to
    entries: Mapping[int, int]  # address from the image's base -> instruction number, for jumps through registers
    addresses: tuple[int, ...]  # of every instruction, from the image's base


def reachable(kernel: Function, listing: Listing, kernels: set[str], data_functions: set[str]) -> tuple[Function, ...]:
    """The kernel and every function it may call: those it names, those that data points to, or all when in doubt."""
    functions = listing.functions
    found = [kernel]
    names = {kernel.name}
    calls = False
    doubt = False
    for function in found:
        mentioned: set[str] = set()
        for at, one in enumerate(function.instructions):
            for operand in one.operands:
                if isinstance(operand, SymbolPart) and operand.name in functions:
                    mentioned.add(operand.name)
                if isinstance(operand, Label) and operand.name in functions:
                    mentioned.add(operand.name)
            if one.mnemonic in _GETPC:
                target = pc_relative(function, at)
                if target is not None and target in listing.starts:
                    mentioned.add(listing.starts[target])
            calls = calls or one.mnemonic in _CALLS
        new = {name for name in mentioned if name not in kernels} - names
        if calls:
            new |= {name for name in data_functions if name in functions} - names - kernels
        if calls and len(found) == 1 and not new and not doubt:
            doubt = True
            new |= set(functions) - kernels - names
        for name in sorted(new):
            names.add(name)
            found.append(functions[name])
    return tuple(found)


def pc_relative(function: Function, at: int) -> int | None:
    """The address a s_getpc and the two sums behind it make, where llvm-objdump gives numbers."""
    rows = function.instructions
    if at + 1 >= len(rows) or rows[at + 1].address is None:
        return None
    low = high = None
    for one in rows[at + 1 : at + 6]:
        last = one.operands[-1] if one.operands else None
        if isinstance(last, Number):
            if one.mnemonic in _LOW_SUMS and low is None:
                low = last.value & 0xFFFFFFFF
            elif one.mnemonic in _HIGH_SUMS and low is not None:
                high = last.value & 0xFFFFFFFF
                break
    if low is None or high is None:
        return None
    base = rows[at + 1].address
    assert base is not None
    return (base + (high << 32 | low)) & 0xFFFFFFFFFFFFFFFF


def lay_out(functions: tuple[Function, ...], addresses_of: Mapping[str, int]) -> Flow:
    """Number the instructions of the functions one after the other."""
    instructions: list[Instruction] = []
    addresses: list[int] = []
    starts: list[int] = []
    labels: dict[str, int] = {}
    for function in functions:
        start = len(instructions)
        starts.append(start)
        instructions += function.instructions
        base = addresses_of[function.name]
        # Without real addresses any that are unique and inside the function will do: code only compares them.
        addresses += [
            base + 4 * at if one.address is None else one.address for at, one in enumerate(function.instructions)
        ]
        labels |= {name: start + at for name, at in function.labels.items()}
    by_address = {address: at for at, address in enumerate(addresses)}
    targets: set[int] = set()
    entries = {addresses[start]: start for start, one in zip(starts, functions, strict=True) if one.instructions}
    for function, start in zip(functions, starts, strict=True):
        for at, one in enumerate(function.instructions):
            number = start + at
            for operand in one.operands:
                if isinstance(operand, Label) and operand.name in labels:
                    targets.add(labels[operand.name])
                elif isinstance(operand, LabelDistance) and operand.to in labels:
                    entries[addresses[labels[operand.to]]] = labels[operand.to]
            if one.mnemonic in _JUMPS or one.mnemonic.startswith("s_call"):
                if number + 1 < len(instructions):
                    entries[addresses[number + 1]] = number + 1
            elif one.mnemonic in _GETPC:
                target = pc_relative(function, at)
                if target is not None and target in by_address:
                    entries[target] = by_address[target]
    targets |= set(entries.values())
    targets |= {at for at in labels.values() if at in targets}
    return Flow(functions, tuple(starts), tuple(instructions), labels, frozenset(targets), entries, tuple(addresses))


def blocks_of(flow: Flow) -> list[tuple[int, int]]:
    """The basic blocks as half-open ranges. A block ends behind a branch and before a target."""
    cuts = {0, len(flow.instructions), *flow.targets, *flow.starts}
    for at, one in enumerate(flow.instructions):
        if one.mnemonic.startswith(("s_branch", "s_cbranch", "s_call")) or one.mnemonic in _ENDS | _JUMPS:
            cuts.add(at + 1)
    ordered = sorted(cut for cut in cuts if cut <= len(flow.instructions))
    return [(a, b) for a, b in itertools.pairwise(ordered) if a < b]


def following(flow: Flow, blocks: list[tuple[int, int]]) -> list[list[int]]:
    """The numbers of the blocks that may run after each block."""
    numbers = {start: number for number, (start, _) in enumerate(blocks)}
    found: list[list[int]] = []
    for _, end in blocks:
        last = flow.instructions[end - 1]
        name = last.mnemonic
        targets: list[int] = []
        if name.startswith(("s_branch", "s_cbranch", "s_call")):
            operand = last.operands[-1] if last.operands else None
            if isinstance(operand, Label) and operand.name in flow.labels:
                targets.append(flow.labels[operand.name])
        if name in _JUMPS:
            targets += list(flow.entries.values())
        elif name not in _ENDS and not name.startswith(("s_branch", "s_call")):
            targets.append(end)
        found.append([numbers[target] for target in targets if target in numbers])
    return found
