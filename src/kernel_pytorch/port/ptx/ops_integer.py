"""Integer arithmetic of PTX as C++: plain operators where C++ defines them, explicit clamping where PTX differs."""

from __future__ import annotations

from kernel_pytorch.port.ptx.lower import (
    CPP,
    Handler,
    Lowering,
    NotTranslated,
    bits_of,
    expect,
    only,
    type_of,
    unsigned_of,
)
from kernel_pytorch.port.ptx.parse import Instruction, Operand

_INTEGERS = "u16 s16 u32 s32 u64 s64"
_OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}


def _sum(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _INTEGERS)
    only(item, {"cc", "sat", kind})
    destination, left, right = expect(item, 3)
    if item.has("cc") or item.opcode.endswith("c"):
        _carry_sum(state, item, kind, (destination, left, right))
        return
    if item.has("sat"):
        if kind != "s32":
            raise NotTranslated(f"{item.name} has no known C++ form")
        wide = f"(long long){state.read(left, 's32')} {_OPERATORS[item.opcode]} (long long){state.read(right, 's32')}"
        state.lines.append(f"const long long kpt_sum{len(state.lines)} = {wide};")
        name = f"kpt_sum{len(state.lines) - 1}"
        state.write(
            destination,
            "s32",
            f"(int)({name} > 2147483647ll ? 2147483647ll : {name} < -2147483648ll ? -2147483648ll : {name})",
        )
        return
    unsigned = unsigned_of(kind)
    expression = f"{state.read(left, unsigned)} {_OPERATORS[item.opcode]} {state.read(right, unsigned)}"
    _write_narrow(state, destination, unsigned, expression)


def _write_narrow(state: Lowering, destination: Operand, kind: str, expression: str) -> None:
    """16-bit operands promote to int in C++: bring the result back to its width."""
    text = f"({CPP[kind]})({expression})" if bits_of(kind) < 32 else expression
    state.write(destination, kind, text)


def _carry_sum(state: Lowering, item: Instruction, kind: str, operands: tuple[Operand, ...]) -> None:
    unsigned = unsigned_of(kind)
    if bits_of(unsigned) < 32:
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, left, right = operands
    a, b = state.hold(left, unsigned), state.hold(right, unsigned)
    _add_with_carry(state, item, destination, unsigned, a, b)


def _add_with_carry(state: Lowering, item: Instruction, destination: Operand, kind: str, a: str, b: str) -> None:
    incoming = state.carry_in() if item.opcode.endswith("c") else ""
    subtract = item.opcode.startswith("sub")
    state.temporaries += 1
    result = f"kpt_t{state.temporaries}"
    operator = "-" if subtract else "+"
    last = f" {operator} {incoming}" if incoming else ""
    state.lines.append(f"const {CPP[kind]} {result} = {a} {operator} {b}{last};")
    if item.has("cc"):
        flag = f"{a} < {b}" if subtract else f"{result} < {a}"
        if incoming:
            tie = f"{a} == {b}" if subtract else f"{result} == {a}"
            flag = f"{flag} || ({incoming} && {tie})"
        state.carry_out(flag)
    state.write(destination, kind, result)


def _multiply(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _INTEGERS)
    only(item, {"lo", "hi", "wide", "cc", "sat", kind})
    is_mad = item.opcode.startswith("mad")
    operands = expect(item, 4 if is_mad else 3)
    if item.has("sat"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    product, result_kind = _product(state, item, kind, operands[1], operands[2])
    if not is_mad:
        _write_narrow(state, operands[0], result_kind, product)
        return
    unsigned = unsigned_of(result_kind)
    if item.has("cc") or item.opcode == "madc":
        if unsigned not in ("u32", "u64") or item.has("wide"):
            raise NotTranslated(f"{item.name} has no known C++ form")
        state.temporaries += 1
        name = f"kpt_t{state.temporaries}"
        state.lines.append(f"const {CPP[unsigned]} {name} = ({CPP[unsigned]})({product});")
        _add_with_carry(state, item, operands[0], unsigned, name, state.hold(operands[3], unsigned))
        return
    addend = state.read(operands[3], unsigned)
    _write_narrow(state, operands[0], unsigned, f"({CPP[unsigned]})({product}) + {addend}")


def _product(state: Lowering, item: Instruction, kind: str, left: Operand, right: Operand) -> tuple[str, str]:
    width = bits_of(kind)
    if item.has("lo"):
        unsigned = unsigned_of(kind)
        a, b = state.read(left, unsigned), state.read(right, unsigned)
        # unsigned short promotes to int, where 65535 * 65535 overflows
        return (f"{a} * (unsigned){b}" if width == 16 else f"{a} * {b}"), unsigned
    a, b = state.read(left, kind), state.read(right, kind)
    if item.has("wide"):
        if width == 64:
            raise NotTranslated(f"{item.name} has no known C++ form")
        wide = f"{kind[0]}{width * 2}"
        return f"({CPP[wide]}){a} * ({CPP[wide]}){b}", wide
    if not item.has("hi"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    names = {"u32": "__umulhi", "s32": "__mulhi", "u64": "__umul64hi", "s64": "__mul64hi"}
    if kind not in names:
        raise NotTranslated(f"{item.name} has no known C++ form")
    return f"{names[kind]}({a}, {b})", kind


def _multiply24(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "u32 s32")
    only(item, {"lo", kind})
    if not item.has("lo"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    is_mad = item.opcode == "mad24"
    operands = expect(item, 4 if is_mad else 3)
    name = "__umul24" if kind == "u32" else "__mul24"
    product = f"{name}({state.read(operands[1], kind)}, {state.read(operands[2], kind)})"
    text = f"(unsigned){product} + {state.read(operands[3], 'u32')}" if is_mad else f"(unsigned){product}"
    state.write(operands[0], "u32", text)


def _logic(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b16 b32 b64 pred")
    only(item, {kind})
    destination, left, right = expect(item, 3)
    a, b = state.read(left, kind), state.read(right, kind)
    operator = _OPERATORS[item.opcode]
    if kind == "pred":
        operator = {"&": "&&", "|": "||", "^": "!="}[operator]
    if kind == "pred":
        state.write(destination, kind, f"({a} {operator} {b})")
    else:
        _write_narrow(state, destination, kind, f"{a} {operator} {b}")


def _not(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b16 b32 b64 pred")
    only(item, {kind})
    destination, source = expect(item, 2)
    text = f"{'!' if kind == 'pred' else '~'}{state.read(source, kind)}"
    state.write(destination, kind, f"({CPP[kind]})({text})" if kind == "b16" else text)


def _cnot(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b16 b32 b64")
    only(item, {kind})
    destination, source = expect(item, 2)
    state.write(destination, kind, f"({CPP[kind]})({state.read(source, kind)} == 0)")


def _shift(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b16 b32 b64" if item.opcode == "shl" else "b16 b32 b64 u16 u32 u64 s16 s32 s64")
    only(item, {kind})
    destination, source, amount = expect(item, 3)
    width = bits_of(kind)
    operator = "<<" if item.opcode == "shl" else ">>"
    known = state.constant(amount)
    if known is not None and 0 <= known < width:
        _write_narrow(state, destination, kind, f"{state.read(source, kind)} {operator} {known}")
        return
    # PTX clamps the amount at the width; C++ leaves it undefined.
    value, count = state.hold(source, kind), state.hold(amount, "u32")
    if kind.startswith("s"):
        shifted = f"{value} >> ({count} > {width - 1}u ? {width - 1}u : {count})"
    else:
        shifted = f"{count} > {width - 1}u ? 0 : {value} {operator} {count}"
    state.write(destination, kind, f"({CPP[kind]})({shifted})")


def _funnel_shift(state: Lowering, item: Instruction) -> None:
    only(item, {"l", "r", "wrap", "clamp", "b32"})
    destination, low, high, amount = expect(item, 4)
    if item.has("wrap"):
        count = f"({state.read(amount, 'u32')} & 31u)"
    elif item.has("clamp"):
        held = state.hold(amount, "u32")
        count = f"({held} > 32u ? 32u : {held})"
    else:
        raise NotTranslated(f"{item.name} has no known C++ form")
    # The top half of both << n, or the bottom half of both >> n; n may be 32, so the shift is done in 64 bits.
    both = f"(((unsigned long long){state.read(high, 'u32')} << 32) | {state.read(low, 'u32')})"
    text = f"{both} >> {count}" if item.has("r") else f"({both} << {count}) >> 32"
    state.write(destination, "u32", f"(unsigned)({text})")


def _extremum(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _INTEGERS)
    only(item, {kind})
    destination, left, right = expect(item, 3)
    a, b = state.hold(left, kind), state.hold(right, kind)
    sign = "<" if item.opcode == "min" else ">"
    state.write(destination, kind, f"({a} {sign} {b} ? {a} : {b})")


def _absolute(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "s16 s32 s64")
    only(item, {kind})
    destination, source = expect(item, 2)
    unsigned = unsigned_of(kind)
    value = state.hold(source, kind)
    state.write(
        destination,
        unsigned,
        f"({CPP[unsigned]})({value} < 0 ? 0 - ({CPP[unsigned]}){value} : ({CPP[unsigned]}){value})",
    )


def _negate(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "s16 s32 s64")
    only(item, {kind})
    destination, source = expect(item, 2)
    unsigned = unsigned_of(kind)
    state.write(destination, unsigned, f"({CPP[unsigned]})(0 - {state.read(source, unsigned)})")


def _divide(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _INTEGERS)
    only(item, {kind})
    destination, left, right = expect(item, 3)
    operator = "/" if item.opcode == "div" else "%"
    _write_narrow(state, destination, kind, f"{state.read(left, kind)} {operator} {state.read(right, kind)}")


def _sad(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "u32 s32")
    only(item, {kind})
    destination, left, right, addend = expect(item, 4)
    a, b, c = state.hold(left, kind), state.hold(right, kind), state.read(addend, "u32")
    state.write(
        destination, "u32", f"{c} + ({a} < {b} ? (unsigned){b} - (unsigned){a} : (unsigned){a} - (unsigned){b})"
    )


HANDLERS: dict[str, Handler] = {
    "addc": _sum, "subc": _sum,
    "mul": _multiply, "mad": _multiply, "madc": _multiply,
    "mul24": _multiply24, "mad24": _multiply24,
    "and": _logic, "or": _logic, "xor": _logic, "not": _not, "cnot": _cnot,
    "shl": _shift, "shr": _shift, "shf": _funnel_shift,
    "rem": _divide, "sad": _sad,
}  # fmt: skip
# These opcodes exist for integers and floats: ops_float.py picks by type.
INTEGER_FORMS: dict[str, Handler] = {
    "add": _sum, "sub": _sum, "min": _extremum, "max": _extremum, "abs": _absolute, "neg": _negate,
    "div": _divide, "mul": _multiply, "mad": _multiply,
}  # fmt: skip
