"""Functions of a code object out of its machine code, by our own decoder."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kernel_pytorch.emulate.assembly.instruction import (
    AssemblyError,
    Function,
    Instruction,
    Label,
    Listing,
    OperandPlace,
)
from kernel_pytorch.emulate.assembly.instruction_text import parse_instruction
from kernel_pytorch.toolchain.elf import ElfFile, Section
from kernel_pytorch.toolchain.line_table import line_sequences
from kernel_pytorch.toolchain.machine_code.decode import decode
from kernel_pytorch.toolchain.machine_code.operands import EncodingError

# Behind these the next instruction is reached by a branch only.
_ENDS = ("s_endpgm", "s_branch", "s_setpc_b64", "s_endpgm_saved", "s_code_end")


@dataclass(frozen=True)
class Stretch:
    """A function's machine code: from `start` on. Without a size it ends where `stop` is, or before it."""

    name: str
    start: int
    stop: int
    is_sized: bool


def decoded_listing(elf: ElfFile, target: str, stretches: Iterable[Stretch]) -> Listing:
    """The functions, with the source lines that the file tells. Raises AssemblyError that names function, address
    and bytes of what is no known instruction."""
    text = elf.section(".text")
    if text is None:
        raise AssemblyError("the code object has no section .text")
    places = _Places(elf)
    functions = _Decoded(stretches, lambda one: _function(elf, text, target, one, places))
    return Listing(functions, starts={one.start: one.name for one in functions.stretches.values()})


class _Decoded(Mapping[str, Function]):
    """Functions by name, each decoded when it is asked for: a kernel calls few of those that a library has."""

    def __init__(self, stretches: Iterable[Stretch], decoded: Callable[[Stretch], Function]) -> None:
        self.stretches = {one.name: one for one in stretches}
        self._decoded = decoded
        self._found: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        if name not in self._found:
            self._found[name] = self._decoded(self.stretches[name])
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self.stretches

    def __iter__(self) -> Iterator[str]:
        return iter(self.stretches)

    def __len__(self) -> int:
        return len(self.stretches)


class _Places:
    """Source lines by address."""

    def __init__(self, elf: ElfFile) -> None:
        rows = sorted((row for sequence in line_sequences(elf) for row in sequence), key=lambda row: row[0])
        self.addresses = [row[0] for row in rows]
        self.rows = rows

    def at(self, address: int) -> OperandPlace | None:
        if not self.rows:
            return None
        at = bisect_right(self.addresses, address) - 1
        if at < 0 or not self.rows[at][1]:
            return None
        return OperandPlace(self.rows[at][1], self.rows[at][2])


def _function(elf: ElfFile, text: Section, target: str, stretch: Stretch, places: _Places) -> Function:
    stop = min(stretch.stop, text.address + text.size)
    code = elf.read(text.offset + stretch.start - text.address, stop - stretch.start)
    instructions: list[Instruction] = []
    targets: set[int] = set()
    try:
        for address, one in decode(code, stretch.start, target):
            parsed = _parsed(one.text)
            operands = parsed.operands
            if one.branch is not None:
                to = address + one.size + one.branch
                targets.add(to)
                operands = (*operands[:-1], Label(f"0x{to:x}"))
            # By position: a replace() for each instruction took longer than to decode it.
            instructions.append(
                Instruction(parsed.mnemonic, parsed.encoding, operands, parsed.modifiers, parsed.text, address,
                            places.at(address), parsed.dual)
            )  # fmt: skip
    except EncodingError as error:
        # Hand-written code without sizes: what lies between two functions need not be code.
        if stretch.is_sized or not instructions or instructions[-1].mnemonic not in _ENDS:
            raise AssemblyError(f"{stretch.name}: {error}") from None
    except AssemblyError as error:
        raise AssemblyError(f"{stretch.name}: {error}") from None
    at = {one.address: index for index, one in enumerate(instructions)}
    labels = {f"0x{to:x}": at[to] for to in sorted(targets) if to in at}
    labels[stretch.name] = 0
    return Function(stretch.name, tuple(instructions), labels, stretch.start)


@cache
def _parsed(text: str) -> Instruction:
    return parse_instruction(text)
