"""mma.sync, ldmatrix, stmatrix and movmatrix: calls of our own functions, which keep PTX's lane layout.

The functions are in tables/hip_shims/warp_mma.h and warp_matrix.h. A form that they do not have is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.port.ptx.lower import CPP, Handler, Lowering, NotTranslated, expect, only
from kernel_pytorch.port.ptx.ops_memory import shared_address
from kernel_pytorch.port.ptx.parse import Address, Instruction, Operand, Vector

# The functions that a rewritten block may call: a file that does carries their definitions.
FUNCTIONS = (
    "kpt_mma", "kpt_mma_m8n8k4", "kpt_ldmatrix", "kpt_stmatrix", "kpt_movmatrix", "kpt_own_copy", "kpt_own_copies_done",
)  # fmt: skip


@dataclass(frozen=True)
class _Format:
    """How many elements a 32-bit register holds (0: one in a 64-bit one), and for which K by M there are forms."""

    per_register: int
    k_of_m8: tuple[int, ...]
    k_of_m16: tuple[int, ...]


_FORMATS = {
    "f16": _Format(2, (), (8, 16)),
    "bf16": _Format(2, (), (8, 16)),
    "tf32": _Format(1, (), (4, 8)),
    "f64": _Format(0, (4,), (4, 8, 16)),
    **dict.fromkeys(("e4m3", "e5m2"), _Format(4, (), (16, 32))),
    **dict.fromkeys(("s8", "u8"), _Format(4, (16,), (16, 32))),
    **dict.fromkeys(("s4", "u4"), _Format(8, (32,), (32, 64))),
    "b1": _Format(32, (128,), (128, 256)),
}
# The formats that multiply each other, and the types of C and D.
_GROUPS = (
    ({"f16"}, {"f16", "f32"}),
    ({"bf16"}, {"f32"}),
    ({"tf32"}, {"f32"}),
    ({"f64"}, {"f64"}),
    ({"e4m3", "e5m2"}, {"f16", "f32"}),
    ({"s8", "u8"}, {"s32"}),
    ({"s4", "u4"}, {"s32"}),
    ({"b1"}, {"s32"}),
)
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)\Z")
_WORDS = {"f16": "b32", "f32": "f32", "s32": "s32", "f64": "f64"}


def _no_form(item: Instruction) -> NotTranslated:
    return NotTranslated(f"{item.name} has no C++ form in the table")


def _multiply(state: Lowering, item: Instruction) -> None:
    shape = next((found for modifier in item.modifiers if (found := _SHAPE.match(modifier))), None)
    layouts = [modifier for modifier in item.modifiers if modifier in ("row", "col")]
    types = [modifier for modifier in item.modifiers if modifier in _FORMATS or modifier in _WORDS]
    if shape is None or not item.has("sync") or len(layouts) != 2 or len(types) != 4:
        raise _no_form(item)
    bits = {"xor", "and", "popc"} if types[1] == "b1" else set()
    limits = {"satfinite"} if types[3] == "s32" and types[1] != "b1" else set()
    # Blackwell's name for the same product, where the elements have 8 bits.
    kinds = {"kind::f8f6f4"} if {*types[1:3]} <= {"e4m3", "e5m2"} and shape[3] == "32" else set()
    only(item, {"sync", "aligned", shape.group(), *layouts, *types, *bits, *limits, *kinds})
    m, n, k = (int(size) for size in shape.groups())
    if types[0] != types[3] or n != 8:
        raise _no_form(item)
    if (m, k, types[1], types[2]) == (8, 4, "f16", "f16") and types[0] in ("f16", "f32"):
        flags = ", ".join(
            "true" if left != right else "false" for left, right in zip(layouts, ("row", "col"), strict=True)
        )
        _call(state, item, f"kpt_mma_m8n8k4<{flags}>", types[0], "b32", (8 if types[0] == "f32" else 4, 2, 2))
        return
    known = any(types[1] in formats and types[2] in formats and types[0] in sums for formats, sums in _GROUPS)
    form = _FORMATS.get(types[1])
    if (
        not known
        or form is None
        or layouts != ["row", "col"]
        or k not in {8: form.k_of_m8, 16: form.k_of_m16}.get(m, ())
    ):
        raise _no_form(item)
    names = [f"kpt_{name}" for name in types[1:3]]
    if bits:
        operation = [word for word in ("xor", "and") if item.has(word)]
        if len(operation) != 1 or not item.has("popc"):
            raise _no_form(item)
        names = [f"{name}_{operation[0]}" for name in names]
    into = "f16" if types[0] == "f16" else "limited" if item.has("satfinite") else "same"
    words = k // (4 * max(1, form.per_register))
    count = m // 8 * (1 if types[0] == "f16" else 2)
    function = f"kpt_mma<{m}, {k}, {', '.join(names)}, kpt_into_{into}>"
    _call(state, item, function, types[0], "f64" if types[1] == "f64" else "b32", (count, m // 8 * words, words))


def _call(
    state: Lowering, item: Instruction, function: str, kind: str, factors: str, counts: tuple[int, int, int]
) -> None:
    """`counts` are the registers of D (and C), A and B."""
    operands = expect(item, 4)
    word = _WORDS[kind]
    d, a, b, c = (
        _registers(item, operand, count) for operand, count in zip(operands, (*counts, counts[0]), strict=True)
    )
    number = len(state.lines)
    left, right, sums = f"kpt_a{number}", f"kpt_b{number}", f"kpt_d{number}"
    for name, registers in ((left, a), (right, b)):
        values = ", ".join(state.read(operand, factors) for operand in registers)
        state.lines.append(f"const {CPP[factors]} {name}[] = {{{values}}};")
    values = ", ".join(state.read(operand, word) for operand in c)
    state.lines.append(f"{CPP[word]} {sums}[] = {{{values}}};")
    state.lines.append(f"{function}({sums}, {left}, {right});")
    for index, operand in enumerate(d):
        state.write(operand, word, f"{sums}[{index}]")


def _registers(item: Instruction, operand: Operand, count: int) -> tuple[Operand, ...]:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != count or isinstance(operand, Address):
        raise NotTranslated(f"{item.text}: {len(items)} registers where the form has {count}")
    return items


def _matrices(item: Instruction) -> tuple[int, str]:
    """How many matrices an ldmatrix or stmatrix moves, and whether it transposes them, as C++."""
    only(item, {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta", "b16"})
    count = next((size for size in (1, 2, 4) if item.has(f"x{size}")), 0)
    if not count or not item.has("m8n8") or not item.has("b16"):
        raise _no_form(item)
    return count, "true" if item.has("trans") else "false"


def _load(state: Lowering, item: Instruction) -> None:
    count, transposed = _matrices(item)
    destination, address = expect(item, 2)
    registers = _registers(item, destination, count)
    name = f"kpt_m{len(state.lines)}"
    state.lines.append(f"unsigned {name}[{count}];")
    state.lines.append(f"kpt_ldmatrix<{transposed}>({name}, {shared_address(state, item, address)});")
    for index, operand in enumerate(registers):
        state.write(operand, "b32", f"{name}[{index}]")


def _store(state: Lowering, item: Instruction) -> None:
    count, transposed = _matrices(item)
    address, source = expect(item, 2)
    values = ", ".join(state.read(operand, "b32") for operand in _registers(item, source, count))
    name = f"kpt_m{len(state.lines)}"
    state.lines.append(f"const unsigned {name}[{count}] = {{{values}}};")
    state.lines.append(f"kpt_stmatrix<{transposed}>({shared_address(state, item, address)}, {name});")


def _transpose(state: Lowering, item: Instruction) -> None:
    only(item, {"sync", "aligned", "m8n8", "trans", "b16"})
    destination, source = expect(item, 2)
    state.write(destination, "b32", f"kpt_movmatrix({state.read(source, 'b32')})")


HANDLERS: dict[str, Handler] = {
    "mma": _multiply, "ldmatrix": _load, "stmatrix": _store, "movmatrix": _transpose,
}  # fmt: skip
