"""How many threads the blocks of a kernel have at most, read from every place that launches it.

A launch says it as a number, or through constants, variables, `dim3`, a condition, `min` and `max`, a function that
returns it, or template parameters of the function that launches. Where such a parameter goes on to the kernel, the
answer is an expression of the kernel's own parameters. Where it does not, it is the largest of all instantiations.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_pytorch.port.cxx.calls import split_arguments
from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.tokens import closing, text_at, words
from kernel_pytorch.port.cxx.unit import Unit, unit_of
from kernel_pytorch.port.wave.facts import Facts, strip
from kernel_pytorch.port.wave.kernel_uses import Use, facts_with, is_definition, template_arguments, uses_of

_MAX_DEPTH = 12
_EXACT: dict[str, Callable[[int, int], int]] = {"%": operator.mod, "/": operator.floordiv, "-": operator.sub}
_SHIFTS: dict[str, Callable[[int, int], int]] = {"<<": operator.lshift, ">>": operator.rshift}
_GROWING: dict[str, Callable[[int, int], int]] = {"*": operator.mul, "+": operator.add}


@dataclass(frozen=True)
class Size:
    """A number that a size cannot exceed, or one in terms of the kernel's template parameters (`value` is None)."""

    text: str
    value: int | None
    is_exact: bool = True


def number(value: int, *, is_exact: bool = True) -> Size:
    return Size(str(value), value, is_exact)


@dataclass(frozen=True)
class Scope:
    """A function, and what names in it stand for."""

    unit: Unit
    facts: Facts
    known: Mapping[str, Size] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)  # a type of the launching function, in the kernel's words


def threads_of(name: bytes, parameters: Sequence[str], unit: Unit) -> Size | None:
    """The threads of a block at most, over all uses of a kernel; None where one of them does not show it."""
    uses = uses_of(name, unit)
    if not uses:
        return None
    sizes = [_threads(use, parameters, unit) for use in uses]
    return _largest(sizes)


def _threads(use: Use | None, parameters: Sequence[str], unit: Unit) -> Size | None:
    if use is None:
        return None
    own = _template_names(use.facts)
    # A name of the launching function that goes on to the kernel is one of the kernel's own parameters there.
    passed = {given: name for given, name in zip(use.arguments, parameters, strict=False) if given in own}
    known = {given: Size(name, None) for given, name in passed.items()}
    return _block(use.block, Scope(unit, use.facts, known, passed), 0)


def _block(node: Node, scope: Scope, depth: int) -> Size | None:
    """The product of the extents of a block."""
    facts = scope.facts
    if depth > _MAX_DEPTH:
        return None
    node = strip(node)
    if node.kind == "identifier" and "dim3" in facts.types.get(facts.text(node), "") + _auto(facts, node):
        name = facts.text(node)
        values = facts.assigned.get(name, []) or _read_as_types(facts, name)
        if not values or name in facts.compound or re.search(rf"\b{name}\s*\.\s*[xyz]\s*[-+*/]?=[^=]", _body(facts)):
            return None
        return _largest([_block(value, scope, depth + 1) for value in values])
    if node.kind == "conditional_expression":
        return _largest([_block(side, scope, depth + 1) for side in _sides(node)])
    listed = _extents(facts, node)
    if listed is None:
        return _size(node, scope, depth)
    product: Size | None = number(1)
    for one in listed:
        product = _combined("*", product, _size(one, scope, depth + 1))
    return product


def _auto(facts: Facts, node: Node) -> str:
    """`auto block = dim3(...)` is a dim3 too."""
    values = facts.assigned.get(facts.text(node), [])
    return "dim3" if values and all(_extents(facts, one) is not None for one in values) else ""


def _read_as_types(facts: Facts, name: str) -> list[Node]:
    """`dim3 block(kLanes, kWarps);` reads as the declaration of a function, since the names might be types."""
    for declaration in facts.declarations.get(name, []):
        declarator = declaration.child("declarator")
        listed = declarator.child("parameters") if declarator is not None else None
        if listed is not None and declarator is not None and declarator.kind == "function_declarator":
            return [listed]
    return []


def _body(facts: Facts) -> str:
    return facts.function.source.characters[facts.function.start : facts.function.end]


def _extents(facts: Facts, node: Node) -> list[Node] | None:
    """The numbers in `dim3(x, y)`, `dim3{x, y}` and `{x, y}`."""
    if node.kind in ("argument_list", "initializer_list", "parameter_list"):
        return list(node.children)
    if node.kind in ("call_expression", "compound_literal_expression"):
        callee, given = node.child("function") or node.child("type"), node.child("arguments") or node.child("value")
        if callee is not None and given is not None and facts.text(callee) == "dim3":
            return list(given.children)
    return None


def _sides(node: Node) -> list[Node]:
    return [one for one in (node.child("consequence"), node.child("alternative")) if one is not None]


def _largest(sizes: Sequence[Size | None]) -> Size | None:
    """A bound for every one of some sizes."""
    known = {one.text: one for one in sizes if one is not None}
    if not sizes or None in sizes:
        return None
    if len(known) == 1:
        return next(iter(known.values()))
    values = [one.value for one in known.values() if one.value is not None]
    terms = sorted(one.text for one in known.values() if one.value is None)
    if not terms:
        return number(max(values), is_exact=False)
    terms += [str(max(values))] if values else []
    text = terms[0]
    for other in terms[1:]:
        text = f"(({text}) > ({other}) ? ({text}) : ({other}))"
    return Size(text, None, is_exact=False) if len(terms) <= 3 else None


def _combined(sign: str, left: Size | None, right: Size | None) -> Size | None:
    if left is None or right is None:
        return None
    exact = left.is_exact and right.is_exact
    if sign not in _GROWING and not (right.is_exact and (left.is_exact or sign != "%")):
        return None  # what is subtracted or divided by must not be a bound
    if left.value is not None and right.value is not None:
        rule = _GROWING.get(sign) or _EXACT.get(sign) or _SHIFTS.get(sign)
        if rule is None or (sign in ("/", "%") and right.value <= 0) or (sign in _SHIFTS and not 0 <= right.value < 32):
            return None
        return number(rule(left.value, right.value), is_exact=exact)
    if sign == "*" and 1 in (left.value, right.value):
        return right if left.value == 1 else left
    return Size(f"{_bracketed(left)} {sign} {_bracketed(right)}", None, exact)


def _bracketed(size: Size) -> str:
    return size.text if re.fullmatch(r"[\w:]+", size.text) else f"({size.text})"


def _size(node: Node, scope: Scope, depth: int) -> Size | None:
    """An expression of the launching function."""
    if depth > _MAX_DEPTH:
        return None
    node = strip(node)
    facts = scope.facts
    if node.kind in ("argument_list", "initializer_list") and len(node.children) == 1:
        return _size(node.children[0], scope, depth + 1)
    if node.kind in ("parameter_declaration", "type_descriptor") and len(node.children) == 1:
        node = node.children[0]  # a name that reads as a type
    if node.kind in ("identifier", "type_identifier"):
        return _named(facts.text(node), scope, depth)
    if node.kind == "qualified_identifier":
        return _member(facts.text(node), scope)
    if node.kind == "conditional_expression":
        return _largest([_size(side, scope, depth + 1) for side in _sides(node)])
    if node.kind == "cast_expression":
        inner = node.child("value")
        return None if inner is None else _size(inner, scope, depth + 1)
    if node.kind == "call_expression":
        return _called(node, scope, depth)
    if node.kind == "binary_expression":
        left, sign, right = node.child("left"), node.child("operator"), node.child("right")
        if left is None or sign is None or right is None:
            return None
        return _combined(sign.kind, _size(left, scope, depth + 1), _size(right, scope, depth + 1))
    return _constant(facts.text(node), scope) if node.kind == "number_literal" else None


def _constant(text: str, scope: Scope) -> Size | None:
    """A constant of the launching file, or else of the unit: files of a project often define the same names anew."""
    for unit in (unit_of(scope.facts.function.source), scope.unit):
        value = constant_value(text.encode("latin-1", "replace"), unit, of_warps=True)
        if value is not None:
            return number(value)
    return None


def _member(text: str, scope: Scope) -> Size | None:
    """`Traits::threads`: a constant of the unit, or of a type that goes on to the kernel."""
    kind, _, name = text.rpartition("::")
    if kind in scope.types:
        return Size(f"{scope.types[kind]}::{name}", None)
    if kind in _template_names(scope.facts) or "<" in kind:
        return None
    return _constant(name, scope)


def _named(name: str, scope: Scope, depth: int) -> Size | None:
    facts = scope.facts
    if name in scope.known:
        return scope.known[name]
    if name in facts.assigned:
        if name in facts.compound or not facts.assigned[name]:
            return None
        return _largest([_size(value, scope, depth + 1) for value in facts.assigned[name]])
    own = _template_names(facts)
    if name in own:
        return _over_instantiations(facts, own.index(name), scope.unit, depth)
    if any(name == one.name for one in facts.function.parameters):
        return None  # callers outside this file may give any number
    return _constant(name, scope)


def _called(node: Node, scope: Scope, depth: int) -> Size | None:
    """`min`, `max`, a cast, or a function of the unit that returns the size."""
    callee, given = node.child("function"), node.child("arguments")
    if callee is None or given is None:
        return None
    name = scope.facts.text(callee).removeprefix("std::")
    sizes = [_size(one, scope, depth + 1) for one in given.children]
    if name == "max":
        return _largest(sizes)
    if name == "min":
        values = [one.value for one in sizes if one is not None and one.value is not None]
        return number(min(values), is_exact=False) if values else None
    if name.startswith("static_cast") or name in ("int", "unsigned", "size_t"):
        return sizes[0] if len(sizes) == 1 else None
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return None
    found = [one for one in facts_with(name.encode(), scope.unit) if one.function.name == name]
    if len(found) != 1 or not found[0].returns:
        return None
    own = {one.name: size for one, size in zip(found[0].function.parameters, sizes, strict=False) if size is not None}
    inside = Scope(scope.unit, found[0], own)
    return _largest([_block(one, inside, depth + 1) for one in found[0].returns])


def _template_names(facts: Facts) -> list[str]:
    """The template parameters of a function in their order, types too."""
    source = facts.function.source
    return template_parameters(source, facts.function.start)


def template_parameters(source: CxxFile, start: int) -> list[str]:
    """The names in the `template <...>` that ends before an offset."""
    code = source.code
    last = next((at for at in range(len(code.starts) - 1, -1, -1) if code.starts[at] < start), None)
    if last is None or text_at(source, last) not in (b">", b">>"):
        return []
    depth, at = 0, last
    while at >= 0:
        text = text_at(source, at)
        depth += text.count(b">") if text in (b">", b">>") else -1 if text == b"<" else 0
        if text == b"<" and depth == 0:
            break
        if text in (b";", b"{", b"}"):
            return []
        at -= 1
    if at < 1 or text_at(source, at - 1) != b"template":
        return []
    spans = split_arguments(source, at, last)
    texts = (source.characters[span.start : span.end].split("=")[0] for span in spans)
    return [(re.findall(r"[A-Za-z_]\w*", text) or [""])[-1] for text in texts]


def _over_instantiations(facts: Facts, place: int, unit: Unit, depth: int) -> Size | None:
    """The largest value of a template parameter that does not go on to the kernel, over all uses of its function."""
    sizes: list[Size | None] = []
    name = facts.function.name.encode("latin-1", "replace")
    callers = facts_with(name, unit)
    for file in unit.files:
        for index in words(file).get(name, ()):
            if not is_definition(file, index):
                sizes.append(_given(file, index, place, callers, unit, depth))
    return _largest(sizes)


def _given(file: CxxFile, index: int, place: int, callers: Sequence[Facts], unit: Unit, depth: int) -> Size | None:
    """A template argument of one use, in the function that has it or outside of all."""
    start = file.code[index].start
    for caller in callers:
        if caller.function.source.path == file.path and caller.function.start <= start < caller.function.end:
            node = next((one.callee for one in caller.calls if one.callee.start <= start < one.callee.end), None)
            given = [] if node is None else template_arguments(node)
            return _size(given[place], Scope(unit, caller), depth + 1) if place < len(given) else None
    texts = list(_texts_after(file, index))
    value = constant_value(texts[place], unit, of_warps=True) if place < len(texts) else None
    return None if value is None else number(value)


def _texts_after(file: CxxFile, index: int) -> Iterator[bytes]:
    """The template arguments of an explicit instantiation."""
    if text_at(file, index + 1) != b"<":
        return
    close = next((at for at in range(index + 2, min(index + 200, len(file.code))) if text_at(file, at) == b"("), None)
    if close is None or closing(file, close) is None:
        return
    for span in split_arguments(file, index + 1, close - 1):
        yield file.data[span.start : span.end]
