"""Translates a straight-line PTX block to C++ statements.

Each instruction becomes statements over typed local variables, so a block translates when all its instructions do
and no pattern has to be recognised. What an opcode means is in the ops_*.py files; a modifier they do not name is
refused, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from kernel_pytorch.port.ptx.asm_statement import AsmOperand, AsmStatement
from kernel_pytorch.port.ptx.parse import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    PtxProgram,
    Ref,
    Register,
    RegisterDeclaration,
    Special,
    Vector,
)

CPP = {
    "u8": "unsigned char", "s8": "signed char", "b8": "unsigned char",
    "u16": "unsigned short", "s16": "short", "b16": "unsigned short", "f16": "unsigned short", "bf16": "unsigned short",
    "u32": "unsigned", "s32": "int", "b32": "unsigned", "f16x2": "unsigned", "bf16x2": "unsigned",
    "u64": "unsigned long long", "s64": "long long", "b64": "unsigned long long",
    "f32": "float", "f64": "double", "pred": "bool",
}  # fmt: skip
CLASSES = {"h": "u16", "r": "u32", "l": "u64", "f": "f32", "d": "f64", "n": "n"}
_SIMPLE = re.compile(r"[A-Za-z_]\w*\Z|\d\w*\Z")
_LITERAL = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\Z")


class NotTranslated(Exception):
    """Why an instruction or block has no translation. Not an error: it becomes part of a finding."""


def bits_of(kind: str) -> int:
    """Width of a PTX type."""
    return 1 if kind == "pred" else {"f16x2": 32, "bf16x2": 32}.get(kind) or int(re.sub(r"\D", "", kind))


def unsigned_of(kind: str) -> str:
    """The unsigned type of the same width: signed overflow wraps in PTX and is undefined in C++."""
    return kind.replace("s", "u", 1) if kind.startswith("s") else kind


def is_float(kind: str) -> bool:
    """f32 and f64: the types C++ keeps in float registers. 16-bit floats travel as bits."""
    return kind in ("f32", "f64")


@dataclass(frozen=True)
class Context:
    """What the block's surroundings say: where `exit` may become `return`."""

    in_kernel_body: bool = False


@dataclass
class Lowering:
    """The state of one block's translation: declared registers, the statements so far, the carry flag."""

    statement: AsmStatement
    program: PtxProgram
    context: Context
    registers: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    declarations: list[str] = field(default_factory=list)
    bound: dict[int, str] = field(default_factory=dict)
    written_inputs: set[int] = field(default_factory=set)
    carry: str = "none"  # none | pending (written, not yet read) | read
    is_single: bool = False
    temporaries: int = 0

    # reading

    def read(self, operand: Operand, kind: str) -> str:
        """A C++ expression of exactly the type `kind`. In a block of one instruction: to be used once."""
        if isinstance(operand, Negated):
            return f"!{self.read(operand.operand, 'pred')}"
        if isinstance(operand, Immediate):
            return _immediate(operand, kind)
        if isinstance(operand, Ref):
            return self._read_ref(operand, kind)
        name = self.register_name(operand)
        return convert(f"kpt_{name}", self.registers[name], kind)

    def register_name(self, operand: Operand) -> str:
        """The declared register an operand names. Raises NotTranslated for anything else."""
        if isinstance(operand, (Register, Special)) and operand.name in self.registers:
            return operand.name
        what = operand.name if isinstance(operand, (Register, Special)) else type(operand).__name__
        raise NotTranslated(f"{what} is not a register of the block")

    def _operand(self, ref: Ref) -> AsmOperand:
        if ref.index >= len(self.statement.operands):
            raise NotTranslated(f"%{ref.index} has no operand")
        return self.statement.operands[ref.index]

    def _read_ref(self, ref: Ref, kind: str) -> str:
        operand = self._operand(ref)
        source = CLASSES.get(operand.constraint)
        if source is None:
            raise NotTranslated(f'constraint "{operand.constraint}" of %{ref.index} is not a PTX register class')
        if source == "n":
            return f"({CPP[kind]})({operand.expression})"
        if ref.index in self.bound:
            return convert(self.bound[ref.index], source, kind)
        # In a macro a plain name is a parameter, which may stand for any expression.
        plain = _SIMPLE.match(operand.expression) and not self.statement.in_directive
        expression = operand.expression if plain else f"({operand.expression})"
        if is_float(source) and source == kind:
            return expression
        if is_float(source):
            return convert(f"({CPP[source]}){expression}", source, kind)
        # The C++ operand may be signed, unsigned or a pointer: an explicit cast settles all three.
        return (
            f"({CPP[kind]}){expression}"
            if not is_float(kind)
            else convert(f"({CPP[source]}){expression}", source, kind)
        )

    def unbound_expression(self, operand: Operand) -> str | None:
        """The C++ text of an asm operand no local variable stands for."""
        if isinstance(operand, Ref) and operand.index not in self.bound:
            return self._operand(operand).expression
        return None

    def hold(self, operand: Operand, kind: str) -> str:
        """An expression of type `kind` that may be used several times."""
        text = self.read(operand, kind)
        bare = re.sub(rf"^\({re.escape(CPP[kind])}\)", "", text)
        if _SIMPLE.match(bare) or _LITERAL.match(bare):
            return text
        self.temporaries += 1
        name = f"kpt_t{self.temporaries}"
        self.lines.append(f"const {CPP[kind]} {name} = {text};")
        return name

    def constant(self, operand: Operand) -> int | None:
        """The value of an operand that is a literal, in the PTX or as an "n" or "r" operand."""
        if isinstance(operand, Immediate) and not operand.float_bits:
            return operand.value
        if isinstance(operand, Ref):
            text = self._operand(operand).expression.strip("() ")
            if self._operand(operand).constraint in "nrlh" and _LITERAL.match(text):
                digits = text.rstrip("uUlL")
                return int(digits, 0) if digits.lower().lstrip("+-").startswith("0x") or digits == "0" else int(digits)
        return None

    def is_constant(self, operand: Operand) -> bool:
        """Whether an operand is known at compile time, if not to us."""
        return isinstance(operand, Immediate) or (isinstance(operand, Ref) and self._operand(operand).constraint == "n")

    # writing

    def write(self, operand: Operand, kind: str, expression: str) -> None:
        """Assign an expression of type `kind`."""
        if isinstance(operand, Register) and operand.name == "_":
            return
        if isinstance(operand, Ref):
            target = self._operand(operand)
            source = CLASSES.get(target.constraint)
            if source is None:
                raise NotTranslated(f'constraint "{target.constraint}" of %{operand.index} is not a PTX register class')
            if source == "n" or not (target.is_written or operand.index in self.bound):
                raise NotTranslated(f"%{operand.index} cannot be written")
            if not target.is_written:
                # nvcc accepts it: the register of an input is a copy that the rest of the block sees.
                self.written_inputs.add(operand.index)
            value = convert(expression, kind, source)
            if operand.index in self.bound:
                self.lines.append(f"{self.bound[operand.index]} = {value};")
            elif source == "u64":
                self.lines.append(f"{target.expression} = (__typeof__({target.expression}))({value});")
            else:
                self.lines.append(f"{target.expression} = {value};")
            return
        name = self.register_name(operand)
        self.lines.append(f"kpt_{name} = {convert(expression, kind, self.registers[name])};")

    def target_expression(self, operand: Operand) -> str | None:
        """The C++ lvalue a single-instruction block writes directly, if it is one."""
        if self.is_single and isinstance(operand, Ref):
            return self._operand(operand).expression
        return None

    def bits_of_operand(self, operand: Operand) -> int:
        """Width of the register behind an operand."""
        if isinstance(operand, Ref):
            kind = CLASSES.get(self._operand(operand).constraint, "u32")
            return 32 if kind == "n" else bits_of(kind)
        if isinstance(operand, Immediate):
            return 64
        return bits_of(self.registers[self.register_name(operand)])

    # carry flag

    def carry_in(self) -> str:
        """The carry flag's variable; only where this block wrote it before."""
        if self.carry == "none":
            raise NotTranslated("it reads the carry flag another asm statement wrote")
        self.carry = "read"
        return "kpt_carry"

    def carry_out(self, expression: str) -> None:
        """Set the carry flag."""
        self.carry = "pending"
        if "unsigned kpt_carry = 0;" not in self.declarations:
            self.declarations.append("unsigned kpt_carry = 0;")
        self.lines.append(f"kpt_carry = {expression};")


Handler = Callable[[Lowering, Instruction], None]


def convert(expression: str, source: str, target: str) -> str:
    """Reinterpret (same width) or resize (integers) a value between PTX register types."""
    if CPP[source] == CPP[target]:
        return expression
    if is_float(source) or is_float(target):
        if bits_of(source) != bits_of(target):
            raise NotTranslated(f"a .{source} register is used as .{target}")
        unsigned = "u32" if bits_of(source) == 32 else "u64"
        if is_float(source):
            name = "__float_as_uint" if source == "f32" else "__double_as_longlong"
            return convert(f"{name}({expression})", unsigned if source == "f32" else "s64", target)
        name = "__uint_as_float" if target == "f32" else "__longlong_as_double"
        return f"{name}({convert(expression, source, 'u32' if target == 'f32' else 's64')})"
    if "pred" in (source, target):
        raise NotTranslated(f"a .{source} register is used as .{target}")
    return f"({CPP[target]}){_primary(expression)}"


def _primary(expression: str) -> str:
    simple = re.fullmatch(r"[\w.]+(\([^()]*\))?", expression)
    return expression if simple else f"({expression})"


def _immediate(literal: Immediate, kind: str) -> str:
    if literal.float_bits:
        if kind == "f32" and literal.float_bits == 32:
            return f"__uint_as_float(0x{literal.value:08x}u)"
        if kind == "f64" and literal.float_bits == 64:
            return f"__longlong_as_double(0x{literal.value:016x}ll)"
        if kind == "f32" and literal.float_bits == 64:
            return f"(float)__longlong_as_double(0x{literal.value:016x}ll)"
        if kind in ("b32", "u32") and literal.float_bits == 32:
            return f"0x{literal.value:08x}u"
        if kind in ("b64", "u64") and literal.float_bits == 64:
            return f"0x{literal.value:016x}ull"
        raise NotTranslated(f"a float literal is used as .{kind}")
    if is_float(kind):
        raise NotTranslated(f"an integer literal is used as .{kind}")
    if kind == "pred":
        return "true" if literal.value else "false"
    width = bits_of(kind)
    value = literal.value & ((1 << width) - 1)
    if kind.startswith("s"):
        value -= (value >> (width - 1)) << width
        if value == -(1 << (width - 1)):
            return f"({CPP[kind]})0x{1 << (width - 1):x}{'ull' if width == 64 else 'u'}"
        return f"({value}{'ll' if width == 64 else ''})" if value < 0 else f"{value}{'ll' if width == 64 else ''}"
    text = str(value) if value < 10 else f"0x{value:x}"
    suffix = "ull" if width == 64 else "u"
    return f"({CPP[kind]}){text}{suffix}" if width < 32 else text + suffix


def lower(statement: AsmStatement, program: PtxProgram, context: Context, handlers: dict[str, Handler]) -> list[str]:
    """The C++ statements for a whole asm statement. Raises NotTranslated saying which part has none."""
    instructions = program.instructions
    single = len(instructions) == 1 and len(program.statements) == 1 and instructions[0].guard is None
    state = Lowering(statement, program, context, is_single=single)
    ends: list[str] = []
    if not single:
        ends = _bind_operands(state)
    for item in program.statements:
        if isinstance(item, RegisterDeclaration):
            _declare(state, item)
        else:
            _lower_instruction(state, item, handlers)
    if state.carry == "pending":
        raise NotTranslated("it leaves the carry flag for another asm statement")
    changed = tuple(f"{state.bound[index]} = " for index in state.written_inputs)
    declarations = [
        line.removeprefix("const ") if any(f" {name}" in line for name in changed) else line
        for line in state.declarations
    ]
    return [*declarations, *state.lines, *ends]


def _declare(state: Lowering, item: RegisterDeclaration) -> None:
    if item.type not in CPP:
        raise NotTranslated(f".reg .{item.type} has no C++ type")
    for name in item.names:
        if name in state.registers:
            raise NotTranslated(f"register {name} is declared twice")
        state.registers[name] = item.type
        state.declarations.append(f"{CPP[item.type]} kpt_{name};")


def _bind_operands(state: Lowering) -> list[str]:
    """Locals for outputs and for inputs that are more than a name; returns what copies the outputs back."""
    ends: list[str] = []
    for index, operand in enumerate(state.statement.operands):
        kind = CLASSES.get(operand.constraint)
        if kind is None or kind == "n":
            continue
        if operand.name.startswith("tied:"):
            output = state.bound[int(operand.name[5:])]
            state.bound[index] = output
            state.declarations.append(f"{output} = ({CPP[kind]})({operand.expression});")
            continue
        name = f"kpt_{index}"
        state.bound[index] = name
        if operand.is_written:
            start = f" = ({CPP[kind]})({operand.expression})" if operand.is_read else ""
            state.declarations.append(f"{CPP[kind]} {name}{start};")
            cast = f"(__typeof__({operand.expression}))" if kind == "u64" else ""
            ends.append(f"{operand.expression} = {cast}{name};")
        else:
            state.declarations.append(f"const {CPP[kind]} {name} = ({CPP[kind]})({operand.expression});")
    return ends


def _lower_instruction(state: Lowering, item: Instruction, handlers: dict[str, Handler]) -> None:
    handler = handlers.get(item.opcode)
    if handler is None:
        raise NotTranslated(f"{item.name} has no C++ form in the table")
    before = len(state.lines)
    handler(state, item)
    if item.guard is None:
        return
    # A guarded write of the carry flag would make it depend on the path: refuse.
    added = state.lines[before:]
    if any(line.startswith("kpt_carry") for line in added):
        raise NotTranslated(f"{item.text}: a carry flag written under a predicate")
    del state.lines[before:]
    name = state.register_name(item.guard.operand)
    if state.registers[name] != "pred":
        raise NotTranslated(f"{name} guards an instruction and is no predicate")
    condition = f"{'!' if item.guard.is_negated else ''}kpt_{name}"
    state.lines.append(f"if ({condition}) {{ {' '.join(added)} }}")


def only(item: Instruction, allowed: frozenset[str] | set[str]) -> None:
    """Refuse an instruction with a modifier the table does not name."""
    unknown = [modifier for modifier in item.modifiers if modifier not in allowed]
    if unknown:
        raise NotTranslated(f"{item.name}: .{unknown[0]} has no known C++ form")


def type_of(item: Instruction, allowed: str) -> str:
    """The last modifier, which is the type, if it is among the allowed ones (a space-separated list)."""
    kind = item.modifiers[-1] if item.modifiers else ""
    if kind not in allowed.split():
        raise NotTranslated(f"{item.name} has no known C++ form")
    return kind


def expect(item: Instruction, count: int) -> tuple[Operand, ...]:
    """The operands, if there are as many as the form needs."""
    if len(item.operands) != count:
        raise NotTranslated(f"{item.text}: {len(item.operands)} operands where {count} are known")
    return item.operands


__all__ = [
    "CPP",
    "Address",
    "Context",
    "Handler",
    "Lowering",
    "NotTranslated",
    "Vector",
    "bits_of",
    "convert",
    "expect",
    "is_float",
    "lower",
    "only",
    "type_of",
    "unsigned_of",
]
