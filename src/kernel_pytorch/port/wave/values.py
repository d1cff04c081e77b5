"""What values mean: a set of tags for every variable, found by following assignments, calls, returns and fields.

Tags: `thread` differs between the lanes of a warp, `row` depends on threadIdx.y or z, `lane` is an index in the warp,
`warp` is a warp's number, `blockdim` a block's extent, `warps` a number of warps, `mask` a lane mask, `wave` was made
with the warpSize variable, `w32` with a literal 32, `memory` was loaded or came from another lane.
The order of statements is not looked at: a variable has the tags of everything it is ever given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernel_pytorch.port.cxx.constants import Constant, ConstantTable
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.collectives import COLLECTIVES, MASK_FAMILIES, MASK_READERS
from kernel_pytorch.port.wave.facts import Facts

Tags = frozenset[str]
NONE: Tags = frozenset()
_WIDTHS = frozenset({"wave", "w32"})
_INDEX = frozenset({"lane", "warp", "warps", "mask"})
_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!=", "&&", "||"})
_WARP_SIZE_NAME = re.compile(r"^\(?\w*w(?:arp|ave)_?size\)?$", re.IGNORECASE)
_ROUNDS = 6
_MAX_DEPTH = 150  # of an expression: deeper ones are machine-made, and say nothing about lanes


@dataclass(eq=False)
class ValueModel:
    """The tags of all variables of a unit."""

    table: ConstantTable
    facts: list[Facts]
    by_name: dict[str, list[Facts]] = field(default_factory=dict)
    variables: dict[tuple[int, str], Tags] = field(default_factory=dict)
    fields: dict[str, Tags] = field(default_factory=dict)
    results: dict[str, Tags] = field(default_factory=dict)
    depth: int = 0
    # The functions that a change since their last reading concerns, by id.
    stale: set[int] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)  # those with a variable that got new tags
    callers: dict[str, list[int]] = field(default_factory=dict)

    def of(self, facts: Facts, node: Node | None) -> Tags:
        """The tags of an expression."""
        if node is None or self.depth > _MAX_DEPTH:
            return NONE
        self.depth += 1
        try:
            return _tags(self, facts, node)
        finally:
            self.depth -= 1

    def variable(self, facts: Facts, name: str) -> Tags:
        """The tags of a variable of a function."""
        return self.variables.get((id(facts), name), NONE)

    def _add(self, facts: Facts, name: str, tags: Tags) -> None:
        key = (id(facts), name)
        old = self.variables.get(key, NONE)
        if not tags <= old:
            self.variables[key] = old | tags
            self.stale.add(key[0])
            self.changed.add(key[0])

    def solve(self, fresh: list[Facts]) -> None:
        """Follows values until nothing new is learnt. A function is read again where something it reads has changed."""
        for one in self.facts:
            self.by_name.setdefault(one.function.name, []).append(one)
            for name in one.called:
                self.callers.setdefault(name, []).append(id(one))
        self.stale.update(map(id, fresh))
        for _ in range(_ROUNDS):
            for one in self.facts:
                if id(one) in self.stale:
                    self.stale.discard(id(one))
                    self._round(one)
            if not self.stale:
                return

    def _round(self, facts: Facts) -> None:
        for name, values in facts.assigned.items():
            for value in values:
                self._add(facts, name, self.of(facts, value))
        for name in facts.lane_asm:
            self._add(facts, name, frozenset({"thread", "lane"}))
        for name in facts.mask_asm:
            self._add(facts, name, frozenset({"thread", "mask"}))
        for name, value in facts.fields:
            tags = self.of(facts, value) & {"mask", "lane", "warp", "wave", "w32"}
            if not tags <= self.fields.get(name, NONE):
                self.fields[name] = self.fields.get(name, NONE) | tags
                self.stale.update(map(id, self.facts))
        for value in facts.returns:
            tags = self.of(facts, value)
            old = self.results.get(facts.function.name, NONE)
            if not tags <= old:
                self.results[facts.function.name] = old | tags
                self.stale.update(self.callers.get(facts.function.name, ()))
        for call in facts.calls:
            callees = self.by_name.get(call.name)
            if callees is None:
                continue
            given = [self.of(facts, argument) for argument in call.arguments]
            for callee in callees:
                for parameter, tags in zip(callee.function.parameters, given, strict=False):
                    self._add(callee, parameter.name, tags)


def value_model(
    table: ConstantTable, facts: list[Facts], known: ValueModel | None = None, fresh: list[Facts] | None = None
) -> ValueModel:
    """The solved model of a unit. With `known` only the functions in `fresh` are new; the rest starts from there."""
    model = ValueModel(table, facts)
    if known is not None:
        model.variables.update(known.variables)
        model.fields.update(known.fields)
        model.results.update(known.results)
    model.solve(facts if known is None or fresh is None else fresh)
    return model


def _tags(model: ValueModel, facts: Facts, node: Node) -> Tags:
    kind = node.kind
    if kind == "identifier":
        return _identifier(model, facts, facts.text(node))
    if kind == "field_expression":
        return _field(model, facts, node)
    if kind == "binary_expression":
        return _binary(model, facts, node)
    if kind == "call_expression":
        return _call(model, facts, node)
    if kind == "subscript_expression":
        return _subscript(model, facts, node)
    if kind == "assignment_expression":
        return model.of(facts, node.child("right"))
    if kind == "cast_expression":
        return model.of(facts, node.child("value"))
    if kind in ("number_literal", "string_literal", "lambda_expression", "type_descriptor"):
        return NONE
    if kind == "conditional_expression":
        return (
            model.of(facts, node.child("consequence"))
            | model.of(facts, node.child("alternative"))
            | (model.of(facts, node.child("condition")) & {"thread"})
        )
    result = NONE
    for one in node.children:
        result |= model.of(facts, one)
    if kind == "unary_expression" and any(one.kind == "!" for one in node.children):
        return result - _INDEX
    return result


def _identifier(model: ValueModel, facts: Facts, name: str) -> Tags:
    if name in facts.types or name in facts.assigned:
        return model.variable(facts, name)
    if name == "warpSize":
        return frozenset({"wave"})
    constant = model.table.lookup(name)
    if constant is not None and constant.from_wave:
        return frozenset({"wave"})
    return NONE


def _field(model: ValueModel, facts: Facts, node: Node) -> Tags:
    base, name = node.child("argument"), node.child("field")
    base_text = facts.text(base) if base is not None else ""
    word = facts.text(name) if name is not None else ""
    if base_text == "threadIdx":
        return frozenset({"thread"}) if word == "x" else frozenset({"row"})
    if base_text == "blockDim":
        return frozenset({"blockdim"})
    if base_text in ("blockIdx", "gridDim"):
        return NONE
    return model.fields.get(word, NONE) | (model.of(facts, base) & {"thread", "memory"})


def _binary(model: ValueModel, facts: Facts, node: Node) -> Tags:
    left, sign, right = node.child("left"), node.child("operator"), node.child("right")
    if left is None or right is None or sign is None:
        return NONE
    a, b = model.of(facts, left), model.of(facts, right)
    symbol = sign.kind
    if symbol in _COMPARISONS:
        return ((a | b) & {"thread", "memory", "row"}) if not _is_whole_warp_test(facts, node) else NONE
    if symbol in ("&", "%", "/", ">>") and a & {"thread", "row", "blockdim"}:
        derived = _derived(facts, symbol, a, right)
        if derived is not None:
            return derived
    if symbol == "-" and "thread" in a and "lane" in b and "lane" not in a:
        return a - {"thread"}  # the first thread of the warp
    if symbol in ("&", "|", "^", "<<", ">>"):
        kept = (a | b) - {"lane", "warp", "warps"}
        return kept if symbol not in ("<<", ">>") or "mask" in a else kept - {"mask"}
    return ((a | b) - _INDEX) | ((a | b) & {"warp", "warps"} if "thread" not in a | b else NONE)


def _derived(facts: Facts, symbol: str, a: Tags, right: Node) -> Tags | None:
    """Lane, warp number or warp count out of a thread index or a block's extent."""
    constant = facts.constant(right)
    # A parameter whose value is not seen may still have a name that says what it is.
    named = constant is None and _WARP_SIZE_NAME.search(facts.text(right)) is not None
    if named:
        constant = Constant(32)
    if constant is None:
        return None
    value = constant.value
    width = NONE if named else frozenset({"wave" if constant.from_wave else "w32"})
    if (symbol == "&" and value == 31) or (symbol == "%" and value == 32):
        return frozenset({"lane"}) | (a & {"thread", "row"}) | width
    if symbol in ("&", "%"):
        return (a & {"thread", "row"}) | (width & {"wave"})
    if (symbol == "/" and value == 32) or (symbol == ">>" and value == 5):
        number = "warp" if a & {"thread", "row"} else "warps"
        return frozenset({number}) | width
    whole = (symbol == "/" and value > 0 and value % 32 == 0) or (symbol == ">>" and value > 5)
    return (a - {"thread"}) if whole else a


def _is_whole_warp_test(facts: Facts, node: Node) -> bool:
    """thread < 32 * n: all lanes of a warp answer alike."""
    sign = node.child("operator")
    right = facts.constant(node.child("right"))
    left = facts.constant(node.child("left"))
    if sign is None:
        return False
    named = node.child("right")
    if right is None and named is not None and sign.kind in ("<", ">=") and _WARP_SIZE_NAME.search(facts.text(named)):
        return True
    if right is not None and sign.kind in ("<", ">="):
        return right.value % 32 == 0 and right.value > 0
    if right is not None and sign.kind in ("<=", ">"):
        return (right.value + 1) % 32 == 0
    if left is not None and sign.kind in (">", "<="):
        return left.value % 32 == 0 and left.value > 0
    return False


def _call(model: ValueModel, facts: Facts, node: Node) -> Tags:
    callee, arguments = node.child("function"), node.child("arguments")
    name = facts.text(callee).split("::")[-1].split("<")[0].strip() if callee is not None else ""
    values = arguments.children if arguments is not None else []
    collective = COLLECTIVES.get(name)
    if collective is not None:
        if collective.family in MASK_FAMILIES:
            return frozenset({"mask"})
        if collective.family == "shuffle":
            return _shuffled(model, facts, name, values)
        return NONE
    inner = NONE
    for one in values:
        inner |= model.of(facts, one)
    if name in MASK_READERS:
        return inner & {"thread", "memory"}
    if name == "LaneId":
        return frozenset({"thread", "lane", "wave"})
    if name == "WarpId":
        return frozenset({"warp", "wave"})
    if name in model.by_name:
        return model.results.get(name, NONE)
    if name in ("min", "max", "static_cast") or name.endswith("_cast"):
        return inner
    return inner & {"thread", "memory", "row"}


def _shuffled(model: ValueModel, facts: Facts, name: str, values: Sequence[Node]) -> Tags:
    """All lanes read one lane: the result is the same in the whole warp. Else it may be anything."""
    position = {"__shfl": 1, "__shfl_sync": 2}.get(name)
    if position is not None and len(values) > position:
        lane = model.of(facts, values[position])
        if not lane & {"thread", "memory"}:
            return NONE
    return frozenset({"thread", "memory"})


def _subscript(model: ValueModel, facts: Facts, node: Node) -> Tags:
    base, index = node.child("argument"), node.child("indices") or node.child("index")
    kept = model.of(facts, base) & {"mask", "memory"}
    if model.of(facts, index) & {"thread", "memory", "lane"}:
        kept |= {"memory"}
    return kept
