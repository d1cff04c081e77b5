"""The form of one row of the instruction table.

A row says what one mnemonic does, as C over typed operands. The code generator knows nothing else about
instructions; where one reads and writes comes from the row's signature.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Operand types of `lane` and `scalar` rows: (C type, registers).
TYPES: dict[str, tuple[str, int]] = {
    "u32": ("uint32_t", 1),
    "i32": ("int32_t", 1),
    "f32": ("float", 1),
    "u64": ("uint64_t", 2),
    "i64": ("int64_t", 2),
    "f64": ("double", 2),
    "u16": ("uint16_t", 1),
    "i16": ("int16_t", 1),
    "f16": ("float", 1),  # the value, exact; a result is rounded to half once
    "h16": ("uint16_t", 1),  # the bits of a half, with neg and abs applied
    "mask": ("uint32_t", 0),  # one bit per lane in SGPRs; 0 or 1 in the lane's body
}
FLOATS = frozenset({"f16", "h16", "f32", "f64"})
HALVES = frozenset({"u16", "i16", "f16", "h16"})

KINDS = ("lane", "scalar", "wave", "memory", "control")
SOURCE_NAMES = ("a", "b", "c", "f", "g", "h")
RESULT_NAMES = ("d", "e")


class TableError(ValueError):
    """A row of the instruction table is malformed: a mistake of ours, found when the table is built."""


@dataclass(frozen=True)
class Row:
    """What one mnemonic does. See `lane`, `scalar`, `wave`, `memory` and `control` for how rows are written."""

    name: str
    kind: str
    results: tuple[str, ...]
    sources: tuple[str, ...]
    body: str
    families: tuple[str, ...] = ()  # "gfx9", "gfx10", "gfx11", "gfx12" or a target; empty: all
    saturated: str = ""  # the body with the clamp modifier, for integer results
    packed: int = 0  # 2: the body runs for both halves, chosen by op_sel, op_sel_hi, neg_lo and neg_hi
    alone: bool = False  # the host compiler cannot vectorise the body: it gets a lane loop of its own
    keeps_high: bool = False  # a 16-bit result leaves the upper half of the register as it was, on gfx9 too
    sets_scc: bool = False
    writes_exec: bool = False
    counts_as: str = ""  # the KptCounters field, where the kind does not say it
    modifiers: tuple[str, ...] = ()  # accepted beyond those of the kind
    facts: tuple[tuple[str, str], ...] = ()  # of `memory` and `control` rows

    def fact(self, name: str) -> str:
        """A fact of a memory or control row, or an empty text."""
        return dict(self.facts).get(name, "")


def signature(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`"u32 mask = u32 u32"` as results and sources. A result written `+f32` is read too: `d` starts as its value."""
    results, equals, sources = text.partition("=")
    if not equals:
        raise TableError(f"signature {text!r} has no '='")
    return tuple(results.split()), tuple(sources.split())


def lane(names: str, types: str, body: str, **extra: object) -> tuple[Row, ...]:
    """An instruction that works on every active lane by itself, in VGPRs (the fused lane loops are made of these)."""
    return _rows("lane", names, types, body, extra)


def scalar(names: str, types: str, body: str, **extra: object) -> tuple[Row, ...]:
    """An instruction on SGPRs. A body that mentions `scc` reads or writes the scalar condition code."""
    if "scc" in body:
        extra.setdefault("sets_scc", True)
    return _rows("scalar", names, types, body, extra)


def wave(names: str, types: str, body: str, **extra: object) -> tuple[Row, ...]:
    """An instruction that sees the whole wave: lanes of other lanes, matrices, one lane's value."""
    return _rows("wave", names, types, body, extra)


def memory(names: str, **facts: str) -> tuple[Row, ...]:
    """A memory instruction; the facts say what `codegen/memory.py` has to know."""
    return tuple(
        Row(name, "memory", (), (), "", counts_as=facts.get("counts_as", ""), facts=tuple(sorted(facts.items())))
        for name in names.split("|")
    )


def control(names: str, action: str, **facts: str) -> tuple[Row, ...]:
    """An instruction of the flow of control, or one that orders memory and does nothing here."""
    facts["action"] = action
    return tuple(Row(name, "control", (), (), "", facts=tuple(sorted(facts.items()))) for name in names.split("|"))


def _rows(kind: str, names: str, types: str, body: str, extra: dict[str, object]) -> tuple[Row, ...]:
    results, sources = signature(types)
    if len(sources) > len(SOURCE_NAMES) or len(results) > len(RESULT_NAMES):
        raise TableError(f"{names}: more operands than there are names for")
    for one in (*results, *sources):
        plain = one.removeprefix("+")
        if plain not in TYPES and not (kind == "wave" and plain[:1] in "vs" and plain[1:].isdigit()):
            raise TableError(f"{names}: {one!r} is not an operand type")
    return tuple(Row(name, kind, results, sources, body, **extra) for name in names.split("|"))  # type: ignore[arg-type]
