"""What PTX instructions compute, written from the PTX ISA's own pseudo-code and shared with nothing of the translator
but the parser: registers are Python integers holding bits."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from kernel_pytorch.port.ptx.parse import (
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Ref,
    Register,
    RegisterDeclaration,
    Special,
    Vector,
    parse_program,
)

WIDTHS = {"h": 16, "r": 32, "l": 64, "f": 32, "d": 64}


def width_of(kind: str) -> int:
    return 1 if kind == "pred" else int("".join(char for char in kind if char.isdigit()))


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def number(bits: int, kind: str) -> float:
    code = "<f" if kind == "f32" else "<d"
    return struct.unpack(code, bits.to_bytes(width_of(kind) // 8, "little"))[0]


def pattern(value: float, kind: str) -> int:
    if kind == "f32":
        if math.isinf(value) or math.isnan(value) or abs(value) < 3.5e38:
            try:
                return int.from_bytes(struct.pack("<f", value), "little")
            except OverflowError:
                pass
        return 0x7F800000 if value > 0 else 0xFF800000
    return int.from_bytes(struct.pack("<d", value), "little")


def rounded_f32(value: Fraction) -> float:
    """To nearest, ties to even, without going through a double."""
    if value == 0:
        return 0.0
    exponent = 0
    magnitude = abs(value)
    while magnitude >= 2:
        magnitude /= 2
        exponent += 1
    while magnitude < 1:
        magnitude *= 2
        exponent -= 1
    step = Fraction(2) ** (max(exponent, -126) - 23)
    units = abs(value) / step
    whole = units.numerator // units.denominator
    rest = units - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    return float(whole * step) * (1 if value > 0 else -1)


class Machine:
    """One run of one block."""

    def __init__(self, outputs: str, inputs: str, values: tuple[int, ...]) -> None:
        self.letters = outputs + inputs
        self.operands = [0] * len(outputs) + list(values)
        self.registers: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        self.carry = 0

    def get(self, operand: Operand, kind: str) -> int:
        if isinstance(operand, Immediate):
            return operand.value & ((1 << width_of(kind)) - 1)
        if isinstance(operand, Ref):
            return self.operands[operand.index] & ((1 << width_of(kind)) - 1)
        if isinstance(operand, Negated):
            return 1 - self.get(operand.operand, "pred")
        assert isinstance(operand, (Register, Special))
        return self.registers[operand.name] & ((1 << width_of(kind)) - 1)

    def put(self, operand: Operand, value: int, kind: str) -> None:
        if isinstance(operand, Ref):
            width = WIDTHS[self.letters[operand.index]]
            if kind.startswith("s") and width > width_of(kind):
                value = signed(value, width_of(kind))
            self.operands[operand.index] = value & ((1 << width) - 1)
        else:
            assert isinstance(operand, (Register, Special))
            self.registers[operand.name] = value & ((1 << width_of(self.kinds[operand.name])) - 1)


def run(template: str, outputs: str, inputs: str, values: tuple[int, ...]) -> tuple[int, ...]:
    """The bits of the outputs."""
    machine = Machine(outputs, inputs, values)
    for item in parse_program(template).statements:
        if isinstance(item, RegisterDeclaration):
            for name in item.names:
                machine.kinds[name] = item.type
                machine.registers[name] = 0
        elif item.guard is None or bool(machine.get(item.guard.operand, "pred")) != item.guard.is_negated:
            step(machine, item)
    return tuple(machine.operands[: len(outputs)])


def step(m: Machine, i: Instruction) -> None:
    kind = "u32" if i.opcode in ("vshl", "vshr") else i.modifiers[-1]
    if i.opcode in ("mov", "cvt", "setp", "set", "selp", "slct", "testp"):
        _other(m, i, kind)
    elif kind in ("f32", "f64"):
        m.put(i.operands[0], pattern(_float(m, i, kind), kind), kind)
    else:
        _integer(m, i, kind)


def _integer(m: Machine, i: Instruction, kind: str) -> None:
    bits = width_of(kind)
    mask = (1 << bits) - 1
    is_signed = kind.startswith("s")

    def value(position: int, as_kind: str = kind) -> int:
        raw = m.get(i.operands[position], as_kind)
        return signed(raw, width_of(as_kind)) if as_kind.startswith("s") else raw

    op, mods = i.opcode, i.modifiers
    if op in ("add", "addc", "sub", "subc"):
        sign = -1 if op.startswith("sub") else 1
        total = value(1) + sign * value(2) + (sign * m.carry if op.endswith("c") else 0)
        if "sat" in mods:
            total = max(-(1 << 31), min((1 << 31) - 1, total))
        if "cc" in mods:
            m.carry = int(not 0 <= total <= mask)
        m.put(i.operands[0], total & mask, kind)
    elif op in ("mul", "mad", "madc"):
        product = value(1) * value(2)
        result_kind, part = kind, product & mask
        if "hi" in mods:
            part = (product >> bits) & mask
        elif "wide" in mods:
            result_kind = f"{kind[0]}{2 * bits}"
            part = product
        if op != "mul":
            wide = (1 << width_of(result_kind)) - 1
            total = (part & wide) + (m.get(i.operands[3], result_kind)) + (m.carry if op == "madc" else 0)
            if "cc" in mods:
                m.carry = int(total > wide)
            part = total
        m.put(i.operands[0], part & ((1 << width_of(result_kind)) - 1), result_kind)
    elif op in ("mul24", "mad24"):
        low = [(signed(value(p), 24) if is_signed else value(p) & 0xFFFFFF) for p in (1, 2)]
        extra = value(3) if op == "mad24" else 0
        m.put(i.operands[0], (low[0] * low[1] + extra) & mask, kind)
    elif op in ("and", "or", "xor"):
        a, b = value(1), value(2)
        m.put(i.operands[0], {"and": a & b, "or": a | b, "xor": a ^ b}[op], kind)
    elif op == "not":
        m.put(i.operands[0], ~value(1) & mask, kind)
    elif op == "cnot":
        m.put(i.operands[0], int(value(1) == 0), kind)
    elif op in ("shl", "shr"):
        amount = m.get(i.operands[2], "u32")
        if op == "shl":
            m.put(i.operands[0], 0 if amount >= bits else (value(1) << amount) & mask, kind)
        else:
            m.put(i.operands[0], (value(1) >> min(amount, bits)) & mask, kind)
    elif op == "shf":
        a, b, c = value(1), value(2), value(3)
        n = c & 31 if "wrap" in mods else min(c, 32)
        d = (b << n) | (a >> (32 - n)) if "l" in mods else (b << (32 - n)) | (a >> n)
        m.put(i.operands[0], d & mask, kind)
    elif op in ("min", "max"):
        m.put(i.operands[0], (min if op == "min" else max)(value(1), value(2)) & mask, kind)
    elif op in ("abs", "neg"):
        m.put(i.operands[0], (abs(value(1)) if op == "abs" else -value(1)) & mask, kind)
    elif op == "sad":
        m.put(i.operands[0], (abs(value(1) - value(2)) + value(3)) & mask, kind)
    elif op in ("div", "rem"):
        m.put(i.operands[0], value(1) // value(2) if op == "div" else value(1) % value(2), kind)
    elif op == "popc":
        m.put(i.operands[0], bin(value(1)).count("1"), "u32")
    elif op == "clz":
        m.put(i.operands[0], bits - value(1).bit_length(), "u32")
    elif op == "brev":
        m.put(i.operands[0], int(format(value(1), f"0{bits}b")[::-1], 2), kind)
    elif op == "bfind":
        a = value(1)
        found = (~a if a < 0 else a).bit_length() - 1
        if "shiftamt" in mods and found >= 0:
            found = bits - 1 - found
        m.put(i.operands[0], found & 0xFFFFFFFF, "u32")
    elif op == "bfe":
        a, pos, length = (
            m.get(i.operands[1], kind),
            m.get(i.operands[2], "u32") & 0xFF,
            m.get(i.operands[3], "u32") & 0xFF,
        )
        sign_bit = 0
        if is_signed and length:
            sign_bit = (a >> min(pos + length - 1, bits - 1)) & 1
        d = 0
        for index in range(bits):
            bit = (a >> (pos + index)) & 1 if index < length and pos + index <= bits - 1 else sign_bit
            d |= bit << index
        m.put(i.operands[0], d, kind)
    elif op == "bfi":
        a, f = value(1), value(2)
        pos, length = m.get(i.operands[3], "u32") & 0xFF, m.get(i.operands[4], "u32") & 0xFF
        for index in range(length):
            if pos + index > bits - 1:
                break
            f = (f & ~(1 << (pos + index))) | (((a >> index) & 1) << (pos + index))
        m.put(i.operands[0], f, kind)
    elif op == "lop3":
        a, b, c = value(1), value(2), value(3)
        table = m.get(i.operands[4], "u32")
        d = 0
        for index in range(32):
            row = ((a >> index) & 1) << 2 | ((b >> index) & 1) << 1 | ((c >> index) & 1)
            d |= ((table >> row) & 1) << index
        m.put(i.operands[0], d, kind)
    elif op == "prmt":
        data = (value(2) << 32) | value(1)
        d = 0
        for index in range(4):
            selector = (value(3) >> (4 * index)) & 0xF
            byte = (data >> (8 * (selector & 7))) & 0xFF
            if selector & 8:
                byte = 0xFF if byte & 0x80 else 0
            d |= byte << (8 * index)
        m.put(i.operands[0], d, kind)
    elif op in ("dp4a", "dp2a"):
        a_kind, b_kind = [modifier for modifier in mods if modifier in ("u32", "s32")]
        a, b, total = m.get(i.operands[1], "u32"), m.get(i.operands[2], "u32"), m.get(i.operands[3], "u32")
        parts = 4 if op == "dp4a" else 2
        size = 32 // parts
        for index in range(parts):
            x = (a >> (size * index)) & ((1 << size) - 1)
            y = (b >> (8 * (index + (2 if "hi" in mods else 0)))) & 0xFF
            x = signed(x, size) if a_kind == "s32" else x
            y = signed(y, 8) if b_kind == "s32" else y
            total += x * y
        m.put(i.operands[0], total & 0xFFFFFFFF, "u32")
    elif op in ("vshl", "vshr"):
        a, b, c = (m.get(i.operands[p], "u32") for p in (1, 2, 3))
        n = b & 31 if "wrap" in mods else min(b, 32)
        shifted = (a << n) & 0xFFFFFFFF if op == "vshl" else a >> n
        m.put(i.operands[0], (shifted + c) & 0xFFFFFFFF, "u32")
    else:
        raise NotImplementedError(i.text)


def _float(m: Machine, i: Instruction, kind: str) -> float:
    values = [number(m.get(operand, kind), kind) for operand in i.operands[1:]]
    op = i.opcode
    if op == "fma":
        exact = Fraction(values[0]) * Fraction(values[1]) + Fraction(values[2])
        if exact == 0:
            return values[0] * values[1] + values[2]
        return rounded_f32(exact) if kind == "f32" else float(exact)
    if op in ("add", "sub", "mul", "div"):
        a, b = values
        if op == "div":
            if b == 0:
                return math.nan if a == 0 else math.copysign(math.inf, a) * math.copysign(1, b)
            return a / b
        return {"add": a + b, "sub": a - b, "mul": a * b}[op]
    if op in ("min", "max"):
        a, b = values
        if a == b == 0:  # PTX: -0 is less than +0
            first = a if math.copysign(1, a) < 0 else b
            last = b if first is a else a
            return first if op == "min" else last
        return (min if op == "min" else max)(a, b)
    a = values[0]
    return {
        "abs": lambda: abs(a),
        "neg": lambda: -a,
        "copysign": lambda: math.copysign(values[1], values[0]),
        "sqrt": lambda: math.sqrt(a),
        "rsqrt": lambda: 1 / math.sqrt(a),
        "rcp": lambda: 1 / a,
        "ex2": lambda: 2.0**a,
        "lg2": lambda: math.log2(a),
        "tanh": lambda: math.tanh(a),
        "sin": lambda: math.sin(a),
        "cos": lambda: math.cos(a),
    }[op]()


def _rounded(value: float, mode: str) -> float:
    whole = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](value)
    return math.copysign(float(whole), value)  # -0.3 rounds to -0


def _other(m: Machine, i: Instruction, kind: str) -> None:
    op = i.opcode
    if op == "mov":
        _move(m, i, kind)
    elif op == "cvt" and i.modifiers[0] == "pack":
        _convert_and_pack(m, i)
    elif op == "cvt" and i.modifiers[1] in ("tf32", "bf16x2"):
        _convert_to_short_float(m, i)
    elif op == "cvt":
        _convert(m, i)
    elif op in ("setp", "set"):
        truth = _compare(m, i, kind)
        if op == "set":
            m.put(i.operands[0], 0xFFFFFFFF if truth else 0, "u32")
            return
        if "and" in i.modifiers:
            truth = truth and bool(m.get(i.operands[3], "pred"))
        target = i.operands[0]
        if isinstance(target, Pair):
            m.put(target.first, int(truth), "pred")
            m.put(target.second, int(not truth), "pred")
        else:
            m.put(target, int(truth), "pred")
    elif op == "selp":
        m.put(i.operands[0], m.get(i.operands[1 if m.get(i.operands[3], "pred") else 2], kind), kind)
    elif op == "slct":
        data = i.modifiers[-2]
        m.put(i.operands[0], m.get(i.operands[1 if signed(m.get(i.operands[3], "u32"), 32) >= 0 else 2], data), data)
    else:
        value = number(m.get(i.operands[1], kind), kind)
        tests = {"finite": math.isfinite(value), "infinite": math.isinf(value), "notanumber": math.isnan(value),
                 "number": not math.isnan(value)}  # fmt: skip
        m.put(i.operands[0], int(tests[i.modifiers[0]]), "pred")


def _convert_to_short_float(m: Machine, i: Instruction) -> None:
    """By exact fractions: the multiple of the last place that is nearest; a tie goes away from zero, or to even."""
    result = 0
    for one in i.operands[1:]:
        bits = m.get(one, "f32")
        dropped = 13 if i.modifiers[1] == "tf32" else 16
        kept, rest, middle = bits >> dropped, bits & ((1 << dropped) - 1), 1 << (dropped - 1)
        if math.isnan(number(bits, "f32")):
            kept = 0x7FFF
        elif rest > middle or (rest == middle and (dropped == 13 or kept & 1)):
            kept += 1
        result = kept << 13 if dropped == 13 else (result << 16) | kept
    m.put(i.operands[0], result, "u32")


def _convert_and_pack(m: Machine, i: Instruction) -> None:
    to = i.modifiers[2]
    size = width_of(to)
    least, most = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if to[0] == "s" else (0, (1 << size) - 1)
    upper, lower = (min(max(signed(m.get(one, "u32"), 32), least), most) for one in i.operands[1:3])
    below = ((upper & ((1 << size) - 1)) << size) | (lower & ((1 << size) - 1))
    above = m.get(i.operands[3], "u32") << (2 * size) if len(i.operands) == 4 else 0
    m.put(i.operands[0], (above | below) & 0xFFFFFFFF, "u32")


def _move(m: Machine, i: Instruction, kind: str) -> None:
    target, source = i.operands
    if isinstance(source, Vector):
        size = width_of(kind) // len(source.items)
        total = sum(m.get(item, f"b{size}") << (size * index) for index, item in enumerate(source.items))
        m.put(target, total, kind)
    elif isinstance(target, Vector):
        size = width_of(kind) // len(target.items)
        total = m.get(source, kind)
        for index, item in enumerate(target.items):
            m.put(item, (total >> (size * index)) & ((1 << size) - 1), f"b{size}")
    else:
        m.put(target, m.get(source, kind), kind)


def _convert(m: Machine, i: Instruction) -> None:
    target, source = i.modifiers[-2:]
    raw = m.get(i.operands[1], source)
    mode = next((modifier for modifier in i.modifiers if modifier in ("rni", "rzi", "rmi", "rpi")), "")
    if source in ("f32", "f64"):
        value: float = number(raw, source)
        if mode:
            value = _rounded(value, mode)
        if "sat" in i.modifiers:
            value = max(0.0, min(1.0, value))
        result = pattern(value, target) if target in ("f32", "f64") else int(value)
    else:
        whole = signed(raw, width_of(source)) if source.startswith("s") else raw
        if target in ("f32", "f64"):
            result = pattern(rounded_f32(Fraction(whole)) if target == "f32" else float(whole), target)
        else:
            bits = width_of(target)
            if "sat" in i.modifiers:
                low, high = (
                    (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target.startswith("s") else (0, (1 << bits) - 1)
                )
                whole = max(low, min(high, whole))
            result = whole
    m.put(i.operands[0], result & ((1 << width_of(target)) - 1), target)


def _compare(m: Machine, i: Instruction, kind: str) -> bool:
    a_bits, b_bits = m.get(i.operands[1], kind), m.get(i.operands[2], kind)
    name = i.modifiers[0]
    if kind in ("f32", "f64"):
        a, b = number(a_bits, kind), number(b_bits, kind)
        unordered = math.isnan(a) or math.isnan(b)
        if name in ("num", "nan"):
            return unordered == (name == "nan")
        if unordered:
            return name.endswith("u")
        name = name[:2]
    else:
        a, b = (signed(x, width_of(kind)) if kind.startswith("s") else x for x in (a_bits, b_bits))  # type: ignore[assignment]
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "lo": a < b, "ls": a <= b,
            "hi": a > b, "hs": a >= b}[name]  # fmt: skip
