"""Instructions, operands and functions, the same whether the compiler or llvm-objdump wrote the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

VCC = 106
TTMP = 108
M0 = 124


class AssemblyError(ValueError):
    """Assembly text that is not understood. The message names the line and the part."""


@dataclass(frozen=True)
class Register:
    """Consecutive registers of one file: "s" (VCC at 106, TTMP at 108, M0 at 124), "v", "a" or "exec"."""

    file: str
    index: int
    count: int = 1
    neg: bool = False
    abs: bool = False
    sext: bool = False
    half: str = ""  # "l" or "h": a 16-bit half, as gfx11 and later name it


@dataclass(frozen=True)
class Number:
    """An integer constant: inline, a 32-bit literal, or all 64 bits of one (gfx1250's `lit64`)."""

    value: int
    neg: bool = False
    abs: bool = False
    sext: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Decimal:
    """A floating-point constant such as 0.5: its bits depend on the operand's type."""

    value: float
    neg: bool = False
    abs: bool = False
    sext: bool = False


@dataclass(frozen=True)
class Named:
    """A source with a name of its own: scc, src_shared_base, src_vccz, null, off ..."""

    name: str
    neg: bool = False
    abs: bool = False
    sext: bool = False


@dataclass(frozen=True)
class Label:
    """A branch target or an address in the code: a label's name, or an address from llvm-objdump."""

    name: str


@dataclass(frozen=True)
class SymbolPart:
    """One 32-bit half of a symbol's distance from here: `name@rel32@lo+4`; or both, `name@rel64+4`."""

    name: str
    relation: str  # rel32, gotpcrel32 or abs32 with "@lo" or "@hi"; rel64, gotpcrel64, abs64
    addend: int


@dataclass(frozen=True)
class LabelDistance:
    """One half of the distance between two labels, in a branch too long for its instruction."""

    to: str
    origin: str
    shift: int  # 0 for the low word, 32 for the high one


@dataclass(frozen=True)
class HardwareRegister:
    """hwreg(NAME, offset, width)."""

    name: str
    offset: int
    width: int


@dataclass(frozen=True)
class Raw:
    """Text that only has to be kept, such as the counts of s_waitcnt."""

    text: str


Operand = Register | Number | Decimal | Named | Label | SymbolPart | LabelDistance | HardwareRegister | Raw
Modifier = int | str | tuple[int, ...] | bool


@dataclass(frozen=True)
class OperandPlace:
    """A line of source."""

    file: str
    line: int


@dataclass(frozen=True)
class Instruction:
    """One machine instruction."""

    mnemonic: str  # without the suffix that names the encoding
    encoding: str  # "", "e32", "e64", "dpp", "dpp8", "sdwa", "e64_dpp", "e64_dpp8"
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, Modifier]
    text: str
    address: int | None = None  # from machine code only
    place: OperandPlace | None = None
    dual: Instruction | None = None  # the second half of a v_dual pair


@dataclass(frozen=True)
class Function:
    """A kernel or a device function: its instructions, and the labels in front of them."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]  # label -> index of the instruction it stands before
    address: int | None = None


@dataclass(frozen=True)
class Data:
    """The bytes a symbol of a data section stands for, where the text states them all as numbers."""

    name: str
    align: int
    content: bytes | None  # None: it holds addresses or expressions


@dataclass(frozen=True)
class Listing:
    """Everything read from one text."""

    functions: Mapping[str, Function]
    data: Mapping[str, Data] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)  # .set NAME, number
    starts: Mapping[int, str] = field(default_factory=dict)  # address -> function, where addresses are known
