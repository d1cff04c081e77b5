"""cvt, mov (with packing), setp, selp, slct, set: values moved, converted, compared and chosen."""

from __future__ import annotations

from kernel_pytorch.port.ptx.lower import (
    CPP,
    Handler,
    Lowering,
    NotTranslated,
    bits_of,
    expect,
    is_float,
    only,
    type_of,
)
from kernel_pytorch.port.ptx.ops_float import half_bits, half_value
from kernel_pytorch.port.ptx.ops_special import special_register
from kernel_pytorch.port.ptx.parse import Instruction, Operand, Pair, Register, Special, Vector

_ROUND_TO_INTEGER = {"rni": "rn", "rzi": "rz", "rmi": "rd", "rpi": "ru"}
_ROUND_FLOAT = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_LETTERS = {"s32": "int", "u32": "uint", "s64": "ll", "u64": "ull", "f32": "float", "f64": "double"}
_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


def _convert_and_pack(state: Lowering, item: Instruction) -> None:
    """cvt.pack.sat: two values narrowed and put side by side, above them the low bits of a third."""
    modifiers = item.modifiers[1:]
    if modifiers[:1] != ("sat",) or len(modifiers) not in (3, 4) or modifiers[1] not in ("u8", "s8", "u16", "s16"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    target, source, with_third = modifiers[1], modifiers[2], modifiers[3:] == ("b32",)
    if source != "s32" or with_third == (bits_of(target) == 16):
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, upper, lower, *third = expect(item, 4 if with_third else 3)
    width = bits_of(target)
    unsigned = f"(unsigned)({CPP['u' + str(width)]})"
    high, low = (f"{unsigned}{_saturated(state, target, source, one)}" for one in (upper, lower))
    text = f"({high} << {width}) | {low}"
    if third:
        text = f"({state.read(third[0], 'u32')} << {2 * width}) | {text}"
    state.write(destination, "u32", text)


def _convert_pair(state: Lowering, item: Instruction) -> None:
    """cvt.rn.f16x2.f32 and cvt.rn.bf16x2.f32: two floats, the first in the upper half."""
    destination, *sources = expect(item, 3)
    if item.modifiers[1] == "f16x2":
        parts = [half_bits(f"__float2half_rn({state.read(one, 'f32')})", "f16") for one in sources]
    else:
        bits = [state.hold(one, "u32") for one in sources]
        parts = [
            f"(({one} & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : ({one} + 0x7fffu + ({one} >> 16 & 1u)) >> 16)"
            for one in bits
        ]
    state.write(destination, "u32", f"(unsigned){parts[0]} << 16 | {parts[1]}")


def _convert_to_tf32(state: Lowering, item: Instruction) -> None:
    """Round to 10 bits behind the point, halves away from zero. Infinity and NaN stay."""
    destination, source = expect(item, 2)
    bits = state.hold(source, "u32")
    rounded = f"({bits} + 0x1000u) & 0xffffe000u"
    state.write(destination, "u32", f"(({bits} & 0x7f800000u) == 0x7f800000u ? {bits} : {rounded})")


def _convert(state: Lowering, item: Instruction) -> None:
    if item.modifiers[:1] == ("pack",):
        _convert_and_pack(state, item)
        return
    if item.modifiers in (("rn", "f16x2", "f32"), ("rn", "bf16x2", "f32")):
        _convert_pair(state, item)
        return
    if item.modifiers == ("rna", "tf32", "f32"):
        _convert_to_tf32(state, item)
        return
    if len(item.modifiers) < 2:
        raise NotTranslated(f"{item.name} has no known C++ form")
    target, source = item.modifiers[-2:]
    extra = item.modifiers[:-2]
    if target not in CPP or source not in CPP:
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, operand = expect(item, 2)
    rounding = [modifier for modifier in extra if modifier not in ("ftz", "sat")]
    if len(rounding) > 1:
        raise NotTranslated(f"{item.name} has no known C++ form")
    mode = rounding[0] if rounding else ""
    text, kind = _converted(state, item, (target, source), mode, operand)
    state.write(destination, kind, text)


def _converted(
    state: Lowering, item: Instruction, types: tuple[str, str], mode: str, operand: Operand
) -> tuple[str, str]:
    target, source = types
    saturates = item.has("sat")
    if target in _INTEGERS and source in _INTEGERS:
        if mode:
            raise NotTranslated(f"{item.name} has no known C++ form")
        if saturates:
            return _saturated(state, target, source, operand), target
        return f"({CPP[target]}){_read_narrow(state, operand, source)}", target
    if saturates:
        if target == "f32" and source == "f32" and not mode:
            return f"__saturatef({state.read(operand, 'f32')})", "f32"
        raise NotTranslated(f"{item.name} has no known C++ form")
    if is_float(source) and target in ("s32", "u32", "s64", "u64"):
        if mode not in _ROUND_TO_INTEGER:
            raise NotTranslated(f"{item.name} has no known C++ form")
        name = f"__{_LETTERS[source]}2{_LETTERS[target]}_{_ROUND_TO_INTEGER[mode]}"
        return f"{name}({state.read(operand, source)})", target
    if source in _INTEGERS and is_float(target):
        if mode != "rn" and not (target == "f64" and bits_of(source) <= 32 and mode == "rn"):
            raise NotTranslated(f"{item.name} has no known C++ form")
        return f"({CPP[target]}){_read_narrow(state, operand, source)}", target
    return _float_to_float(state, item, types, mode, operand), target


def _read_narrow(state: Lowering, operand: Operand, kind: str) -> str:
    """cvt reads the low bits of a register that may be wider than the type."""
    return state.read(operand, kind)


def _saturated(state: Lowering, target: str, source: str, operand: Operand) -> str:
    width = bits_of(target)
    if bits_of(source) > 32:
        raise NotTranslated(f"cvt.sat from .{source} has no known C++ form")
    low = -(1 << (width - 1)) if target.startswith("s") else 0
    high = (1 << (width - 1)) - 1 if target.startswith("s") else (1 << width) - 1
    state.temporaries += 1
    name = f"kpt_t{state.temporaries}"
    state.lines.append(f"const long long {name} = (long long){_read_narrow(state, operand, source)};")
    return f"({CPP[target]})({name} < {low}ll ? {low}ll : {name} > {high}ll ? {high}ll : {name})"


def _float_to_float(state: Lowering, item: Instruction, types: tuple[str, str], mode: str, operand: Operand) -> str:
    target, source = types
    if is_float(target) and target == source and mode in _ROUND_FLOAT:
        name = _ROUND_FLOAT[mode] + ("f" if target == "f32" else "")
        return f"{name}({state.read(operand, source)})"
    if is_float(target) and target == source and not mode:
        return state.read(operand, source)
    if (target, source, mode) in (("f32", "f64", "rn"), ("f64", "f32", "")):
        return f"({CPP[target]}){state.read(operand, source)}"
    if (target, source, mode) == ("f16", "f32", "rn"):
        return half_bits(f"__float2half_rn({state.read(operand, source)})", "f16")
    if (target, source, mode) == ("f32", "f16", ""):
        return f"__half2float({half_value(state.read(operand, source), 'f16')})"
    raise NotTranslated(f"{item.name} has no known C++ form")


def _move(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 pred")
    only(item, {kind})
    destination, source = expect(item, 2)
    if isinstance(source, Vector):
        _pack(state, kind, destination, source.items)
    elif isinstance(destination, Vector):
        _unpack(state, kind, destination.items, source)
    elif isinstance(source, (Special, Register)) and source.name not in state.registers:
        special_register(state, item, kind, destination, source.name)
    else:
        state.write(destination, kind, state.read(source, kind))


def _pack(state: Lowering, kind: str, destination: Operand, items: tuple[Operand, ...]) -> None:
    width = bits_of(kind) // len(items)
    if width not in (16, 32) or bits_of(kind) % len(items):
        raise NotTranslated(f"mov.{kind} of {len(items)} parts has no known C++ form")
    part = f"u{width}"
    whole = "u32" if bits_of(kind) == 32 else "u64"
    pieces = []
    for index, item in enumerate(items):
        value = f"({CPP[whole]}){state.read(item, part)}"
        pieces.append(f"({value} << {index * width})" if index else value)
    state.write(destination, whole, " | ".join(reversed(pieces)))


def _unpack(state: Lowering, kind: str, items: tuple[Operand, ...], source: Operand) -> None:
    width = bits_of(kind) // len(items)
    if width not in (16, 32) or bits_of(kind) % len(items):
        raise NotTranslated(f"mov.{kind} to {len(items)} parts has no known C++ form")
    whole = "u32" if bits_of(kind) == 32 else "u64"
    state.temporaries += 1
    name = f"kpt_t{state.temporaries}"
    state.lines.append(f"const {CPP[whole]} {name} = {state.read(source, whole)};")
    for index, item in enumerate(items):
        part = f"{name} >> {index * width}" if index else name
        state.write(item, f"u{width}", f"({CPP[f'u{width}']})({part})")


_COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}


def _comparison(state: Lowering, item: Instruction, kind: str, left: Operand, right: Operand) -> str:
    name = next((modifier for modifier in item.modifiers if modifier in _COMPARISONS or modifier in _UNORDERED), "")
    if name in _UNORDERED:
        if not is_float(kind):
            raise NotTranslated(f"{item.name} has no known C++ form")
        a, b = state.hold(left, kind), state.hold(right, kind)
        return _UNORDERED[name].format(a=a, b=b)
    if not name or (name in ("lo", "ls", "hi", "hs") and not kind.startswith(("u", "b"))):
        raise NotTranslated(f"{item.name} has no known C++ form")
    if name == "ne" and is_float(kind):  # ordered: false for NaN, unlike C++
        a, b = state.hold(left, kind), state.hold(right, kind)
        return f"({a} < {b} || {a} > {b})"
    return f"({state.read(left, kind)} {_COMPARISONS[name]} {state.read(right, kind)})"


_UNORDERED = {
    "equ": "!({a} < {b} || {a} > {b})", "neu": "({a} != {b})", "ltu": "!({a} >= {b})", "leu": "!({a} > {b})",
    "gtu": "!({a} <= {b})", "geu": "!({a} < {b})", "num": "({a} == {a} && {b} == {b})",
    "nan": "({a} != {a} || {b} != {b})",
}  # fmt: skip
_COMPARED = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"
_COMBINE = {"and": "&&", "or": "||", "xor": "!="}


def _set_predicate(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _COMPARED)
    only(item, {kind, "ftz", *_COMPARISONS, *_UNORDERED, *_COMBINE})
    combine = next((modifier for modifier in item.modifiers if modifier in _COMBINE), None)
    operands = expect(item, 4 if combine else 3)
    text = _comparison(state, item, kind, operands[1], operands[2])
    if combine:
        text = f"({text} {_COMBINE[combine]} {state.read(operands[3], 'pred')})"
    if isinstance(operands[0], Pair):
        if combine:
            raise NotTranslated(f"{item.name} with two predicates and .{combine} has no known C++ form")
        state.write(operands[0].first, "pred", text)
        state.write(operands[0].second, "pred", f"!{state.read(operands[0].first, 'pred')}")
    else:
        state.write(operands[0], "pred", text)


def _set(state: Lowering, item: Instruction) -> None:
    if len(item.modifiers) < 3 or item.modifiers[-2] not in ("u32", "s32", "f32"):
        raise NotTranslated(f"{item.name} has no known C++ form")
    kind = type_of(item, _COMPARED)
    target = item.modifiers[-2]
    only(item, {kind, target, "ftz", *_COMPARISONS, *_UNORDERED})
    destination, left, right = expect(item, 3)
    text = _comparison(state, item, kind, left, right)
    state.write(
        destination, target, f"({text} ? 1.0f : 0.0f)" if target == "f32" else f"({CPP[target]})({text} ? ~0u : 0u)"
    )


def _select(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, _COMPARED)
    only(item, {kind})
    destination, first, second, chosen = expect(item, 4)
    text = f"({state.read(chosen, 'pred')} ? {state.read(first, kind)} : {state.read(second, kind)})"
    state.write(destination, kind, text)


def _select_by_sign(state: Lowering, item: Instruction) -> None:
    if (
        len(item.modifiers) < 2
        or item.modifiers[-1] not in ("s32", "f32")
        or item.modifiers[-2] not in _COMPARED.split()
    ):
        raise NotTranslated(f"{item.name} has no known C++ form")
    kind, sign = item.modifiers[-2:]
    only(item, {kind, sign, "ftz"})
    destination, first, second, chosen = expect(item, 4)
    text = f"({state.read(chosen, sign)} >= 0 ? {state.read(first, kind)} : {state.read(second, kind)})"
    state.write(destination, kind, text)


HANDLERS: dict[str, Handler] = {
    "cvt": _convert, "mov": _move, "setp": _set_predicate, "set": _set, "selp": _select, "slct": _select_by_sign,
}  # fmt: skip
