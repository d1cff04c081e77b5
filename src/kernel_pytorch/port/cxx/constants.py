"""Integer constants through macros, const and constexpr variables, enumerators, casts and arithmetic."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from kernel_pytorch.port.cxx.declarations import Function
from kernel_pytorch.port.cxx.lexer import integer_value
from kernel_pytorch.port.cxx.nodes import Node, parse_fragment
from kernel_pytorch.port.cxx.source import CxxFile, read_once
from kernel_pytorch.port.cxx.syntax import FileSyntax, Macro
from kernel_pytorch.port.cxx.unit import Unit

_MAX_DEPTH = 12
_LONGEST = 2000  # bytes of an expression that is looked at
# The value is looked at but not taken: another constant may be declared inside it, as in a list of parameters. It
# begins with plain letters, which Python finds by themselves.
_DECLARED = re.compile(
    rb"const(?<!\wconst)(?:expr)?\s+(?:static\s+)?[\w:]+(?:\s+[\w:]+)?\s+([A-Za-z_]\w*)\s*=(?=\s*([^;{}]+);)"
)
_NAME = re.compile(rb"(?!(?:true|false|this|nullptr|sizeof|alignof|NULL)\b)[A-Za-z_]\w*")
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_SIZES = {
    "char": 1, "bool": 1, "short": 2, "half": 2, "__half": 2, "int": 4, "unsigned": 4, "float": 4, "int32_t": 4,
    "uint32_t": 4, "double": 8, "float2": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "float4": 16, "int4": 16,
}  # fmt: skip
_WIDTH_NAME = re.compile(r"warp|wave|lane", re.IGNORECASE)
_LIMITS = {"UINT_MAX": 0xFFFFFFFF, "UINT32_MAX": 0xFFFFFFFF, "ULONG_MAX": 2**64 - 1, "UINT64_MAX": 2**64 - 1}


@dataclass(frozen=True)
class Constant:
    """A value, and whether it follows the width of AMD's wave (counted as CUDA's 32): made from the `warpSize` variable
    or from a name that is 64 on AMD."""

    value: int
    from_wave: bool = False


@dataclass(eq=False)
class ConstantTable:
    """The named constants of a unit. A name with two different values in the unit has none, but for a warp's width that
    is 32 for one vendor and 64 for the other."""

    nodes: dict[str, list[tuple[FileSyntax, Node]]] = field(default_factory=dict)
    macros: dict[str, list[tuple[FileSyntax, Macro]]] = field(default_factory=dict)
    _known: dict[str, Constant | None] = field(default_factory=dict)
    _by_vendor: set[str] = field(default_factory=set)

    def lookup(self, name: str, depth: int = 0) -> Constant | None:
        """The value of a name at file scope."""
        if name not in self._known:
            self._known[name] = None  # a name that needs itself has no value
            self._known[name] = self._find(name, depth)
        return self._known[name]

    def _find(self, name: str, depth: int) -> Constant | None:
        if name in _LIMITS:
            return Constant(_LIMITS[name])
        if depth > _MAX_DEPTH:
            return None
        values = set()
        for syntax, node in self.nodes.get(name, []):
            values.add(evaluate(node, syntax.text, self.lookup, depth + 1))
        for _, macro in self.macros.get(name, []):
            if macro.parameters is None:
                values.add(self._macro_value(macro, depth + 1))
        found = _width_by_vendor(values) if _WIDTH_NAME.search(name) else None
        if found is None and len(values) == 1:
            found = values.pop()
        if found is not None and found.from_wave and not self._names_wave_size(name):
            self._by_vendor.add(name)
        return found

    def _names_wave_size(self, name: str) -> bool:
        """Whether a constant that follows the wave's width does so by the `warpSize` variable."""
        texts = [syntax.text(node) for syntax, node in self.nodes.get(name, [])]
        texts += [macro.body.decode("latin-1") for _, macro in self.macros.get(name, [])]
        words = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)} - self._by_vendor
        known = (self._known.get(word) for word in words)
        return "warpSize" in words or any(one is not None and one.from_wave for one in known)

    def widths_by_vendor(self) -> frozenset[str]:
        """The names by which the unit gives its warps 64 lanes on AMD."""
        for name in {*self.nodes, *self.macros}:
            if _WIDTH_NAME.search(name):
                self.lookup(name)
        return frozenset(self._by_vendor)

    def _macro_value(self, macro: Macro, depth: int) -> Constant | None:
        return _value_of_text(macro.body, self.lookup, depth) if len(macro.body) <= 200 else None


def constant_table(files: tuple[FileSyntax, ...]) -> ConstantTable:
    """All constants of a unit."""
    table = ConstantTable()
    for syntax in files:
        for name, _, node in syntax.globals:
            table.nodes.setdefault(name, []).append((syntax, node))
        for macro in syntax.macros:
            table.macros.setdefault(macro.name, []).append((syntax, macro))
    return table


Lookup = Callable[[str, int], Constant | None]


def _width_by_vendor(values: Collection[Constant | None]) -> Constant | None:
    return Constant(32, from_wave=True) if values == {Constant(32), Constant(64)} else None


def constant_value(text: bytes, unit: Unit, *, of_warps: bool = False) -> int | None:
    """The value of an expression by its text and the macros and constants of the unit; None where it is not one.

    One that comes from the width of a warp counts only with `of_warps`: then a warp has 32 lanes.
    """
    if _has_unknown_name(text, unit):  # most expressions are none, and no parser is needed to see it
        return None
    found = _value_of_text(text, lambda name, depth: _in_unit(name.encode("latin-1"), unit, depth), 0)
    return None if found is None or (found.from_wave and not of_warps) else found.value


def _has_unknown_name(text: bytes, unit: Unit) -> bool:
    """Whether an expression names something that is no constant of the unit, where that leaves it without a value."""
    if len(text) > _LONGEST or any(mark in text for mark in _NOT_EVERY_NAME_COUNTS) or _MAY_BE_CAST.search(text):
        return False
    names = (name for name in _NAMES.findall(text) if name not in _NO_CONSTANTS)
    return any(_in_unit(name, unit, 0) is None for name in names)


# A condition is not computed, a namespace has no value, a comment says anything.
_NOT_EVERY_NAME_COUNTS = (b"?", b"::", b"sizeof", b"//", b"/*", b'"', b"'")
_MAY_BE_CAST = re.compile(rb"\(\s*[A-Za-z_][\w\s]*\**\s*\)")
_NAMES = re.compile(rb"(?<![\w.])[A-Za-z_]\w*")
# Words of casts, and what `evaluate` knows by itself.
_NO_CONSTANTS = frozenset(
    b"int unsigned signed long short char bool float double const size_t int32_t int64_t uint32_t uint64_t uint uint32 "
    b"uint64 int32 int64 int8_t uint8_t int16_t uint16_t std static_cast true false warpSize".split()
)


@lru_cache(maxsize=2)  # a unit is large: the values go with it
def _known_in(unit: Unit) -> dict[tuple[bytes, int], Constant | None]:
    return {}


def _in_unit(name: bytes, unit: Unit, depth: int) -> Constant | None:
    known = _known_in(unit)
    if (name, depth) not in known:
        known[name, depth] = _find_in_unit(name, unit, depth)
    return known[name, depth]


def _find_in_unit(name: bytes, unit: Unit, depth: int) -> Constant | None:
    macros = unit.macros.get(name, ())
    texts = {macro.body for macro in macros if macro.parameters is None}
    if len(macros) > 1 or len(texts) < len(macros):
        return None
    if not macros:
        texts = set().union(*(_declared(file).get(name, ()) for file in unit.files))
    if len(texts) != 1:
        return None
    return _value_of_text(texts.pop(), lambda other, deeper: _in_unit(other.encode("latin-1"), unit, deeper), depth)


@read_once
def _declared(file: CxxFile) -> dict[bytes, set[bytes]]:
    """The constants of a file with the texts of their values."""
    found: dict[bytes, set[bytes]] = {}
    for name, value in _DECLARED.findall(file.data):
        found.setdefault(name, set()).add(value)
    return found


_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _value_of_text(text: bytes, lookup: Lookup, depth: int) -> Constant | None:
    if depth > _MAX_DEPTH or len(text) > _LONGEST:
        return None
    text = _COMMENT.sub(b" ", text).strip()
    if _NAME.fullmatch(text):  # most are names: no parser is needed
        return Constant(32, from_wave=True) if text == b"warpSize" else lookup(text.decode("ascii"), depth + 2)
    text = b"(" + text + b")"  # `A * B` by itself would declare a pointer
    statement = next((one for one in parse_fragment(text, 0).walk() if one.kind == "expression_statement"), None)
    if statement is None or not statement.children:
        return None
    return evaluate(statement.children[0], lambda one: text[one.start : one.end].decode("latin-1"), lookup, depth)


def evaluate(node: Node, text: Callable[[Node], str], lookup: Lookup, depth: int = 0) -> Constant | None:
    """The value of an expression, or None where it is not a constant we can see."""
    if depth > _MAX_DEPTH:
        return None
    kind = node.kind
    if kind == "number_literal":
        return number(text(node))
    if kind in ("true", "false"):
        return Constant(int(kind == "true"))
    if kind in ("identifier", "qualified_identifier"):
        name = text(node).split("::")[-1].strip()
        return Constant(32, from_wave=True) if name == "warpSize" else lookup(name, depth + 1)
    if kind in ("parenthesized_expression", "condition_clause"):
        inner = [one for one in node.children if one.kind not in ("(", ")")]
        return evaluate(inner[0], text, lookup, depth + 1) if len(inner) == 1 else None
    if kind == "unary_expression":
        return _unary(node, text, lookup, depth)
    if kind == "binary_expression":
        return _binary(node, text, lookup, depth)
    if kind == "conditional_expression":
        sides = (node.child("consequence"), node.child("alternative"))
        return _width_by_vendor({evaluate(side, text, lookup, depth + 1) for side in sides if side is not None})
    if kind == "cast_expression":
        return _cast(node.child("type"), node.child("value"), text, lookup, depth)
    if kind == "call_expression":
        return _functional_cast(node, text, lookup, depth)
    if kind == "sizeof_expression":
        size = _SIZES.get(re.sub(r"^sizeof\W*(?:unsigned\s+)?|\W+$", "", text(node)))
        return None if size is None else Constant(size)
    if kind == "initializer_list":
        inner = [one for one in node.children if one.kind not in ("{", "}", ",")]
        return evaluate(inner[0], text, lookup, depth + 1) if len(inner) == 1 else None
    return None


def number(text: str) -> Constant | None:
    """An integer literal with its suffix."""
    value = integer_value(text.encode("latin-1", "replace"))
    return None if value is None else Constant(value)


def _unary(node: Node, text: Callable[[Node], str], lookup: Lookup, depth: int) -> Constant | None:
    argument = node.child("argument")
    sign = node.child("operator")
    if argument is None or sign is None:
        return None
    value = evaluate(argument, text, lookup, depth + 1)
    if value is None:
        return None
    if sign.kind == "-":
        return Constant(-value.value, value.from_wave)
    if sign.kind == "~":
        return Constant(~value.value, value.from_wave)
    return value if sign.kind == "+" else None


def _binary(node: Node, text: Callable[[Node], str], lookup: Lookup, depth: int) -> Constant | None:
    left, sign, right = node.child("left"), node.child("operator"), node.child("right")
    if left is None or sign is None or right is None:
        return None
    a, b = evaluate(left, text, lookup, depth + 1), evaluate(right, text, lookup, depth + 1)
    if a is None or b is None:
        return None
    wave = a.from_wave or b.from_wave
    if sign.kind in _OPERATORS:
        value = _OPERATORS[sign.kind](a.value, b.value)
        return Constant(value, wave) if abs(value) < 1 << 64 else None
    if sign.kind in ("/", "%") and b.value > 0 and a.value >= 0:
        return Constant(a.value // b.value if sign.kind == "/" else a.value % b.value, wave)
    if sign.kind in ("<<", ">>") and 0 <= b.value < 64 and a.value >= 0:
        return Constant(a.value << b.value if sign.kind == "<<" else a.value >> b.value, wave)
    return None


def _cast(
    kind: Node | None, inner: Node | None, text: Callable[[Node], str], lookup: Lookup, depth: int
) -> Constant | None:
    value = evaluate(inner, text, lookup, depth + 1) if inner is not None else None
    if value is None or kind is None:
        return None
    return _as_type(value, text(kind))


def _functional_cast(node: Node, text: Callable[[Node], str], lookup: Lookup, depth: int) -> Constant | None:
    callee, arguments = node.child("function"), node.child("arguments")
    if callee is None or arguments is None:
        return None
    values = [one for one in arguments.children if one.kind not in ("(", ")", ",")]
    name = text(callee)
    match = re.match(r"static_cast\s*<\s*([\w\s:]+?)\s*>$", name)
    type_name = match.group(1) if match else name
    if len(values) != 1 or not re.fullmatch(
        r"(?:std::)?(?:u?int(?:32|64)?(?:_t)?|unsigned(?: int| long long)?|long long)", type_name
    ):
        return None
    value = evaluate(values[0], text, lookup, depth + 1)
    return None if value is None else _as_type(value, type_name)


def _as_type(value: Constant, type_name: str) -> Constant:
    wide = "64" in type_name or "long" in type_name or "size_t" in type_name
    if "unsigned" in type_name or type_name.split("::")[-1].startswith("u"):
        return Constant(value.value & (2**64 - 1 if wide else 0xFFFFFFFF), value.from_wave)
    return value


def function_lookup(function: Function, table: ConstantTable, locals_: Mapping[str, Node]) -> Lookup:
    """Names as a function sees them: its own constants first, then the unit's."""
    # A template parameter's default says nothing about the value in other instances.
    hidden = frozenset(one.name for one in (*function.parameters, *function.template_parameters))
    return _NamesInFunction(function, table, locals_, hidden)


@dataclass(frozen=True, eq=False)
class _NamesInFunction:
    """A lookup that may ask itself. It is no closure: one that names itself never dies without the collector, and it
    would keep the tokens of its whole unit."""

    function: Function
    table: ConstantTable
    locals_: Mapping[str, Node]
    hidden: frozenset[str]

    def __call__(self, name: str, depth: int) -> Constant | None:
        if name in self.hidden or depth > _MAX_DEPTH:
            return None
        if name in self.locals_:
            return evaluate(self.locals_[name], self.function.text, self, depth + 1)
        return self.table.lookup(name, depth)
