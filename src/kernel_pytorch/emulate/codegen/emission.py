"""What is known while one kernel is written as C, and the text so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kernel_pytorch.emulate.assembly.instruction import Instruction, OperandPlace, SymbolPart
from kernel_pytorch.emulate.codegen.lane_run import LaneRun
from kernel_pytorch.emulate.codegen.liveness import Liveness


class TranslationError(ValueError):
    """Machine code that cannot be translated. The message names the kernel, the instruction and what is not known."""


@dataclass(frozen=True)
class KernelShape:
    """What holds for a whole kernel."""

    target: str  # "gfx942"
    generation: int  # 9, 10, 11, 12
    wave: int  # lanes
    checked: bool
    counted: bool
    flush_f32: bool  # denormals are flushed, by the kernel's initial MODE
    flush_f16_f64: bool
    mode_changes: bool  # the code writes MODE: rounding and denormals are looked up as it runs
    has_addresses: bool  # the text came from llvm-objdump: instructions know where they are
    debug: bool = False  # for a debugger: every instruction by itself, at its source line
    follows_lds: bool = False  # the runtime is told of waits and of what may still be loaded straight into LDS
    minor: int = 0  # 5 for gfx1250, whose addresses and buffers differ from those of the rest of gfx12

    @property
    def is_gfx125(self) -> bool:
        """CDNA5: gfx12's encodings with addresses, buffers and registers of its own."""
        return (self.generation, self.minor) == (12, 5)


@dataclass
class Emission:
    """The C of one kernel while it grows."""

    shape: KernelShape
    kernel: str
    name: str  # of the C function
    symbol_value: Callable[[SymbolPart, int], str]  # C of the distance from the image's base
    code_address: Callable[[int], int]  # instruction number -> address from the image's base
    lines: list[str] = field(default_factory=list)
    run: LaneRun | None = None
    used_sgprs: set[int] = field(default_factory=set)
    places: list[tuple[str, OperandPlace | None]] = field(default_factory=list)
    resumes: list[str] = field(default_factory=list)  # labels to go on at; number n + 1 is resumes[n]
    dispatches: bool = False  # a place is found by its address: the code jumps through registers
    numbers: int = 0
    last_placed: int = -1
    index: int = 0  # of the instruction being written
    instruction: Instruction | None = None
    gpr_index: tuple[str, int] | None = None  # gfx9 indexing mode: C of the index, which operands
    lane_written: frozenset[int] = frozenset()  # vector registers that v_writelane writes
    inlined: frozenset[int] | None = None  # instructions whose runs stay in the kernel; None: all
    helpers: dict[str, str] = field(default_factory=dict)  # functions of runs that do not
    inexact: list[str] = field(default_factory=list)  # mnemonics that may differ from hardware, each once
    position: int = 0  # where the program stands, for what is still needed: before this instruction
    liveness: Liveness | None = None  # None: everything is needed

    def put(self, line: str) -> None:
        """Append a line of C."""
        self.lines.append(line)

    def fresh(self, prefix: str) -> str:
        """A name nothing else has."""
        self.numbers += 1
        return f"{prefix}{self.numbers}"

    def sgpr(self, index: int) -> str:
        """The C variable of a scalar register."""
        if not 0 <= index < 128:
            raise self.error(f"there is no scalar register {index}")
        self.used_sgprs.add(index)
        return f"s{index}"

    def ran(self, mnemonic: str) -> str:
        """The C of the flag that says this inexact instruction was executed."""
        if mnemonic not in self.inexact:
            self.inexact.append(mnemonic)
        return f"{self.name}_ran[{self.inexact.index(mnemonic)}]"

    def resume(self, label: str) -> int:
        """The number under which the kernel goes on at `label`."""
        self.resumes.append(label)
        return len(self.resumes)

    def dispatch(self) -> str:
        """C that goes on at the address in `pc`."""
        self.dispatches = True
        return "goto dispatch;"

    def in_place(self) -> bool:
        """Whether a run of the current instruction is a loop of the kernel itself, not a function."""
        return self.inlined is None or self.index in self.inlined

    def place(self) -> int:
        """The number of the place of the current instruction, for faults and counts."""
        assert self.instruction is not None
        if self.index == self.last_placed:
            return len(self.places) - 1
        self.last_placed = self.index
        self.places.append((self.instruction.text, self.instruction.place))
        return len(self.places) - 1

    def error(self, problem: str) -> TranslationError:
        """An error at the current instruction."""
        text = self.instruction.text if self.instruction is not None else "?"
        return TranslationError(f"{self.kernel}: `{text}`: {problem}")
