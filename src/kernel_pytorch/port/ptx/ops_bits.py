"""Bits and bytes: counting, fields, three-way logic, byte permutation, dot products, shifting video instructions."""

from __future__ import annotations

from kernel_pytorch.port.ptx import logic3
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
from kernel_pytorch.port.ptx.parse import Instruction


def _count(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b32 b64")
    only(item, {kind})
    destination, source = expect(item, 2)
    name = {"popc": "__popc", "clz": "__clz", "brev": "__brev"}[item.opcode] + ("ll" if kind == "b64" else "")
    result = kind if item.opcode == "brev" else "u32"
    argument = state.read(source, kind)
    state.write(destination, result, f"({CPP[result]}){name}({argument})" if result == "u32" else f"{name}({argument})")


def _find(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "u32 s32 u64 s64")
    only(item, {"shiftamt", kind})
    destination, source = expect(item, 2)
    width = bits_of(kind)
    value = state.hold(source, kind)
    clz = "__clz" if width == 32 else "__clzll"
    bits = f"({CPP[unsigned_of(kind)]})({value} < 0 ? ~{value} : {value})" if kind.startswith("s") else value
    # Of zero: __clz gives the width, so the position is -1; shiftamt has -1 there too.
    if item.has("shiftamt"):
        state.write(destination, "u32", f"({bits} == 0 ? ~0u : (unsigned){clz}({bits}))")
    else:
        state.write(destination, "u32", f"(unsigned)({width - 1} - {clz}({bits}))")


def _extract(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "u32 s32 u64 s64")
    only(item, {kind})
    destination, source, position, length = expect(item, 4)
    width, unsigned = bits_of(kind), unsigned_of(kind)
    at, count = state.constant(position), state.constant(length)
    if at is not None and count is not None and at >= 0 and count > 0 and at + count <= width:
        left = width - at - count
        value = state.read(source, unsigned)
        state.write(destination, kind, f"({CPP[kind]})({value} << {left}) >> {width - count}")
        return
    value, start, size = state.hold(source, unsigned), state.hold(position, "u32"), state.hold(length, "u32")
    number = len(state.lines)
    p, n, raw = f"kpt_p{number}", f"kpt_l{number}", f"kpt_f{number}"
    state.lines.append(f"const unsigned {p} = {start} & 0xffu, {n} = {size} & 0xffu;")
    mask = f"({n} >= {width}u ? ~({CPP[unsigned]})0 : (({CPP[unsigned]})1 << {n}) - 1)"
    state.lines.append(f"{CPP[unsigned]} {raw} = ({p} >= {width}u ? 0 : {value} >> {p}) & {mask};")
    if kind.startswith("s"):
        # The sign is bit min(pos + len - 1, msb) of the source; above the field the result repeats it.
        top = f"({p} + {n} - 1 > {width - 1}u ? {width - 1}u : {p} + {n} - 1)"
        have = f"({p} >= {width}u ? 0u : {p} + {n} > {width}u ? {width}u - {p} : {n})"
        state.lines.append(
            f"if ({n} != 0 && (({value} >> {top}) & 1) != 0 && {have} < {width}u) "
            f"{raw} |= ~({CPP[unsigned]})0 << {have};"
        )
    state.write(destination, unsigned, raw)


def _insert(state: Lowering, item: Instruction) -> None:
    kind = type_of(item, "b32 b64")
    only(item, {kind})
    destination, field, base, position, length = expect(item, 5)
    width = bits_of(kind)
    value, into = state.hold(field, kind), state.hold(base, kind)
    start, size = state.hold(position, "u32"), state.hold(length, "u32")
    number = len(state.lines)
    p, n, mask = f"kpt_p{number}", f"kpt_l{number}", f"kpt_m{number}"
    state.lines.append(f"const unsigned {p} = {start} & 0xffu, {n} = {size} & 0xffu;")
    ones = f"({n} >= {width}u ? ~({CPP[kind]})0 : (({CPP[kind]})1 << {n}) - 1)"
    state.lines.append(f"const {CPP[kind]} {mask} = {p} >= {width}u ? 0 : {ones} << {p};")
    state.write(destination, kind, f"({into} & ~{mask}) | (({p} >= {width}u ? 0 : {value} << {p}) & {mask})")


def _logic3(state: Lowering, item: Instruction) -> None:
    only(item, {"b32"})
    destination, *sources, table = expect(item, 5)
    lut = state.constant(table)
    if lut is None and not state.is_constant(table):
        raise NotTranslated("lop3 with a table that is not a literal")
    a, b, c = (state.hold(source, "u32") for source in sources)
    if lut is None:
        # "n"(a template's parameter): one term for each bit of the table, which the compiler folds.
        chosen = state.hold(table, "u32")
        terms = (
            f"({'' if at & 4 else '~'}{a} & {'' if at & 2 else '~'}{b} & {'' if at & 1 else '~'}{c} & "
            f"(0u - ({chosen} >> {at} & 1u)))"
            for at in range(8)
        )
        state.write(destination, "u32", " | ".join(terms))
        return
    state.write(destination, "u32", logic3.expression(lut, a, b, c))


def _permute(state: Lowering, item: Instruction) -> None:
    only(item, {"b32"})  # the f4e, b4e, rc8, ecl, ecr, rc16 modes are refused
    destination, low, high, selector = expect(item, 4)
    select = state.constant(selector)
    if select is not None and not select & 0x8888:
        # __byte_perm ignores a selector's top bit, PTX repeats the byte's sign there: equal only without it.
        state.write(
            destination,
            "u32",
            f"__byte_perm({state.read(low, 'u32')}, {state.read(high, 'u32')}, 0x{select & 0x7777:04x}u)",
        )
        return
    a, b, s = state.read(low, "u32"), state.read(high, "u32"), state.hold(selector, "u32")
    number = len(state.lines)
    both, result = f"kpt_both{number}", f"kpt_r{number}"
    state.lines.append(f"const unsigned long long {both} = ((unsigned long long){b} << 32) | {a};")
    state.lines.append(f"unsigned {result} = 0;")
    state.lines.append(
        f"for (int kpt_i = 0; kpt_i < 4; ++kpt_i) {{ const unsigned kpt_s = ({s} >> (4 * kpt_i)) & 0xfu; "
        f"const unsigned kpt_b = (unsigned)({both} >> (8 * (kpt_s & 7u))) & 0xffu; "
        f"{result} |= ((kpt_s & 8u) ? ((kpt_b & 0x80u) ? 0xffu : 0u) : kpt_b) << (8 * kpt_i); }}"
    )
    state.write(destination, "u32", result)


def _dot(state: Lowering, item: Instruction) -> None:
    """dp4a: four byte products and an addend; dp2a: two 16-bit by byte products, .lo or .hi pair of bytes."""
    only(item, {"u32", "s32", "lo", "hi"})
    types = [modifier for modifier in item.modifiers if modifier in ("u32", "s32")]
    if (
        len(types) != 2
        or (item.opcode == "dp4a" and item.has("lo", "hi"))
        or (item.opcode == "dp2a" and not item.has("lo", "hi"))
    ):
        raise NotTranslated(f"{item.name} has no known C++ form")
    destination, left, right, addend = expect(item, 4)
    a, b, c = state.hold(left, "u32"), state.hold(right, "u32"), state.read(addend, "u32")
    a_bytes = "signed char" if types[0] == "s32" else "unsigned char"
    b_bytes = "signed char" if types[1] == "s32" else "unsigned char"
    terms: list[str]
    if item.opcode == "dp4a":
        terms = [f"({a_bytes})({a} >> {shift}) * ({b_bytes})({b} >> {shift})" for shift in (0, 8, 16, 24)]
    else:
        halves = "short" if types[0] == "s32" else "unsigned short"
        base = 16 if item.has("hi") else 0
        terms = [f"({halves})({a} >> {16 * index}) * ({b_bytes})({b} >> {base + 8 * index})" for index in (0, 1)]
    total = " + ".join(f"(unsigned)({term})" for term in terms)
    state.write(destination, "u32", f"{c} + {total}")


def _video_shift(state: Lowering, item: Instruction) -> None:
    """vshl and vshr of whole unsigned words with an addition: the rest of the video instructions is refused."""
    if item.modifiers[:3] != ("u32", "u32", "u32") or item.modifiers[3:] not in (("clamp", "add"), ("wrap", "add")):
        raise NotTranslated(f"{item.name} has no C++ form in the table")
    destination, source, amount, addend = expect(item, 4)
    value = state.read(source, "u32")
    operator = "<<" if item.opcode == "vshl" else ">>"
    if item.has("wrap"):
        shifted = f"({value} {operator} ({state.read(amount, 'u32')} & 31u))"
    else:
        count = state.hold(amount, "u32")
        shifted = f"({count} > 31u ? 0u : {value} {operator} {count})"
    state.write(destination, "u32", f"{shifted} + {state.read(addend, 'u32')}")


HANDLERS: dict[str, Handler] = {
    "popc": _count, "clz": _count, "brev": _count, "bfind": _find, "bfe": _extract, "bfi": _insert,
    "lop3": _logic3, "prmt": _permute, "dp4a": _dot, "dp2a": _dot, "vshl": _video_shift, "vshr": _video_shift,
}  # fmt: skip
