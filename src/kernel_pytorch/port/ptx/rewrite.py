"""One asm statement: its C++ form, or what stands against it, and what each of its instructions does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from kernel_pytorch.port.ptx import ops_bits, ops_control, ops_convert, ops_float, ops_integer, ops_matrix, ops_memory
from kernel_pytorch.port.ptx.asm_statement import AsmStatement
from kernel_pytorch.port.ptx.lower import CPP, Context, Handler, NotTranslated, lower
from kernel_pytorch.port.ptx.parse import PtxSyntaxError, parse_program
from kernel_pytorch.port.tables import read_table

_LINE = 100


@dataclass(frozen=True)
class InstructionNote:
    """What an opcode does, the nearest AMD form, and which finding it belongs to when it is not translated."""

    opcode: str
    code: str
    effort: str
    what: str
    amd: str


@dataclass(frozen=True)
class RewrittenAsm:
    """`replacement` is C++ without the closing semicolon, or None with the `obstacle` that stands against it."""

    replacement: str | None
    obstacle: str
    opcodes: tuple[str, ...]  # with modifiers, as written


@cache
def handlers() -> dict[str, Handler]:
    """Opcode to the function that writes its C++ form."""
    return {
        **ops_integer.HANDLERS,
        **ops_bits.HANDLERS,
        **ops_convert.HANDLERS,
        **ops_float.HANDLERS,
        **ops_memory.HANDLERS,
        **ops_control.HANDLERS,
        **ops_matrix.HANDLERS,
    }


@cache
def notes() -> dict[str, InstructionNote]:
    """The table of instructions: tables/ptx_instructions.csv, by opcode (dotted where modifiers matter)."""
    rows = read_table("ptx_instructions.csv")
    return {row["opcode"]: InstructionNote(**row) for row in rows}


def note_for(name: str) -> InstructionNote | None:
    """The row of an instruction: the longest opcode of the table that the name starts with."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        found = notes().get(".".join(parts[:length]))
        if found is not None:
            return found
    return None


def rewrite_asm(statement: AsmStatement, context: Context) -> RewrittenAsm:
    """The C++ form of an asm statement, where there is one."""
    if statement.template is None:
        return RewrittenAsm(None, statement.obstacle, ())
    opcodes = opcodes_in(statement.template)
    names = tuple("" if operand.name.startswith("tied:") else operand.name for operand in statement.operands)
    try:
        program = parse_program(statement.template, names)
        lines = lower(statement, program, context, handlers())
    except (PtxSyntaxError, NotTranslated) as reason:
        return RewrittenAsm(None, str(reason), opcodes)
    return RewrittenAsm(_rendered(lines, statement.in_directive), "", opcodes)


def opcodes_in(template: str) -> tuple[str, ...]:
    """The opcodes of a template, found without a full parse."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.DOTALL)
    # a block brace before an instruction, and not a vector's
    found = re.findall(r"(?:^|[;{}\n])\s*(?:@!?[%\w]+\s+)?([a-z][a-z0-9]*(?:[.][\w:%]+)*)(?=[\s;\[{]|$)", text)
    return tuple(name for name in found if not re.fullmatch(r"%?[a-z]\d+", name))


def looks_like_ptx(statement: AsmStatement) -> bool:
    """Whether the text is PTX rather than host assembly: its first opcode is one of PTX's."""
    if statement.template is None:
        return True
    opcodes = opcodes_in(statement.template)
    if not opcodes:
        return bool(re.search(r"\.reg\b", statement.template))
    first = opcodes[0]
    opcode, *modifiers = first.split(".")
    if opcode in _COMMON:
        return any(modifier in CPP for modifier in modifiers)
    return note_for(first) is not None and (bool(modifiers) or opcode in _BARE)


_BARE = frozenset({"trap", "exit", "brkpt"})
# Other assemblers have these too; PTX writes their type.
_COMMON = frozenset({
    "mov", "add", "sub", "mul", "mad", "and", "or", "xor", "not", "neg", "ld", "st", "shl", "shr", "min", "max",
    "div", "fma",
})  # fmt: skip


def _rendered(lines: list[str], in_directive: bool) -> str:
    if len(lines) == 1 and lines[0].count(";") == 1 and not lines[0].startswith(("if ", "const ", "for ", "return")):
        text = lines[0].removesuffix(";")
        return text if text else "(void)0"
    joined = " ".join(lines)
    if lines == ["return;"]:
        return "return"
    if in_directive or len(joined) <= _LINE:
        return f"do {{ {joined} }} while (0)"
    return "do {\n" + "".join(f"  {line}\n" for line in lines) + "} while (0)"
