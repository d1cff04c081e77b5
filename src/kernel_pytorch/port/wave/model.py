"""A unit as the wave analysis sees it: its functions, their values, and which wave width it is written for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from kernel_pytorch.port.cxx.constants import ConstantTable, constant_table
from kernel_pytorch.port.cxx.declarations import Function
from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.syntax import FileSyntax, file_syntax
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.wave.collectives import COLLECTIVES, is_wave_file, is_wave_function
from kernel_pytorch.port.wave.facts import Facts, read_facts
from kernel_pytorch.port.wave.values import ValueModel, value_model

_PRINTS = frozenset({"printf", "fprintf", "sprintf", "snprintf", "print", "format", "log"})
_ATTRIBUTES = re.compile(r"cudaDevAttrWarpSize|CU_DEVICE_ATTRIBUTE_WARP_SIZE")


@dataclass(eq=False)
class WaveModel:
    """One unit, analysed. `wave` is "logical32" or "native"."""

    wave: str
    files: tuple[FileSyntax, ...]
    table: ConstantTable
    facts: list[Facts]
    values: ValueModel
    concerned: bool  # whether a file of the unit says anything about warps
    queries: list[tuple[Facts, Node]] = field(default_factory=list)
    own_warp_size: bool = False
    widths_by_vendor: frozenset[str] = frozenset()  # names that are 64 on AMD
    own_collectives: frozenset[str] = frozenset()  # macros of the program that are called like an intrinsic
    groups: list[list[Facts]] = field(default_factory=list)  # device functions that call each other
    evidence: dict[int, frozenset[str]] = field(default_factory=dict)  # by id of Facts, of its whole call group
    own_evidence: dict[int, frozenset[str]] = field(default_factory=dict)
    readings: dict[str, frozenset[Any]] = field(default_factory=dict)  # by function: what divergence.py found out

    def facts_in(self, source: CxxFile) -> list[Facts]:
        """The functions and macro bodies of one file."""
        return self._by_source.get(source, [])

    @cached_property
    def _by_source(self) -> dict[CxxFile, list[Facts]]:
        found: dict[CxxFile, list[Facts]] = {}
        for one in self.facts:
            found.setdefault(one.function.source, []).append(one)
        return found

    def syntax_of(self, source: CxxFile) -> FileSyntax | None:
        """The syntax of one file of the unit."""
        return next((one for one in self.files if one.source == source), None)

    @property
    def follows_hardware(self) -> bool:
        """Whether the program follows the wave's width: it asks the device for it, or has 64 for AMD."""
        return bool(self.queries or self.widths_by_vendor)

    def is_thirty_two(self, facts: Facts) -> bool:
        """Whether a function counts lanes in 32s: nothing it is called with or calls uses the warpSize variable."""
        group = self.evidence.get(id(facts), frozenset())
        own = self.own_evidence.get(id(facts), frozenset())
        return "wave" not in group or ("w32" in own and "wave" not in own)

    def is_builtin_wave_size(self, facts: Facts) -> bool:
        """Whether `warpSize` in a function is CUDA's variable and not a name of the program's own."""
        function = facts.function
        own = {one.name for one in (*function.parameters, *function.template_parameters)}
        return not self.own_warp_size and "warpSize" not in own and "warpSize" not in facts.declarations


# The last unit that was analysed from the beginning, by wave. Broken C++ is read again after its edits: then one file
# has changed, and what is known of the others stays.
_WHOLE: dict[str, tuple[Unit, WaveModel]] = {}


@lru_cache(maxsize=2)
def wave_model(unit: Unit, wave: str = "logical32") -> WaveModel:
    """Analyses a unit. Files without a word about warps are not parsed."""
    if wave in _WHOLE:
        before, known = _WHOLE[wave]
        differ = sum(old is not new for old, new in zip(before.files, unit.files, strict=False))
        if len(before.files) == len(unit.files) and differ == 1:
            return _analysed(unit, wave, known)
    model = _analysed(unit, wave)
    _WHOLE[wave] = unit, model
    return model


def _analysed(unit: Unit, wave: str, known: WaveModel | None = None) -> WaveModel:
    """The model of a unit. Where all but one file is known, only the functions of that one are new."""
    seen = [one for one in unit.files if _matters(one)]
    concerned = any(map(is_wave_file, seen))
    read = {id(one.source): one for one in known.files} if known is not None and known.concerned == concerned else {}
    files = tuple(
        # A helper that makes a lane number may stand in a header that says nothing else about warps.
        read.get(id(one))
        or file_syntax(one, is_wave_function, parse=is_wave_file(one) or (concerned and one.holds(b"threadIdx")))
        for one in seen
    )
    table = constant_table(files)
    old = {id(one.function): one for one in known.facts} if known is not None else {}
    facts = [old.get(id(function)) or read_facts(function, table) for syntax in files for function in syntax.functions]
    fresh = [one for one in facts if id(one.function) not in old]
    values = value_model(table, facts) if known is None else value_model(table, facts, known.values, fresh)
    model = WaveModel(wave, files, table, facts, values, concerned)
    model.widths_by_vendor = table.widths_by_vendor()
    model.own_warp_size = "warpSize" in table.macros or "warpSize" in table.nodes
    model.own_collectives = frozenset(
        name
        for name, all_of in table.macros.items()
        if name in COLLECTIVES and any(one.parameters is not None for _, one in all_of)
    )
    for one in facts:
        if one.function.kind == "host":
            model.queries.extend((one, node) for node in _width_queries(one))
    _collect_evidence(model, known)
    return model


def _collect_evidence(model: WaveModel, known: WaveModel | None) -> None:
    """Which widths the functions that call each other count in."""
    # Of a function whose values did not change, what is known stays.
    before = known.own_evidence if known is not None and known.own_warp_size == model.own_warp_size else {}
    same = before.keys() - model.values.changed
    group = {id(one): id(one) for one in model.facts}

    def root(key: int) -> int:
        while group[key] != key:
            group[key] = group[group[key]]  # or chains of calls would be walked again and again
            key = group[key]
        return key

    for one in model.facts:
        if not is_device(one.function):
            continue
        key = id(one)
        model.own_evidence[key] = before[key] if key in same else _own_evidence(model, one)
        for name in one.called:
            for callee in model.values.by_name.get(name, ()):
                if is_device(callee.function):
                    group[root(key)] = root(id(callee))
    merged: dict[int, frozenset[str]] = {}
    for key, found in model.own_evidence.items():
        merged[root(key)] = merged.get(root(key), frozenset()) | found
    model.evidence = {key: merged[root(key)] for key in model.own_evidence}
    members: dict[int, list[Facts]] = {}
    for one in model.facts:
        if is_device(one.function):
            members.setdefault(root(id(one)), []).append(one)
    model.groups = list(members.values())


def _own_evidence(model: WaveModel, facts: Facts) -> frozenset[str]:
    found: set[str] = set()
    for name in facts.assigned:
        tags = model.values.variable(facts, name)
        if tags & {"lane", "warp", "warps"}:
            found |= tags & {"wave", "w32"}
    function = facts.function
    if function.mentions(b"warpSize") and function.uses("warpSize") and model.is_builtin_wave_size(facts):
        found.add("wave")
    if any(function.mentions(name.encode()) and function.uses(name) for name in model.widths_by_vendor):
        found.add("wave")
    if "w32" not in found and any(_counts_from_sixteen(facts, loop) for loop in function.of_kind("for_statement")):
        found.add("w32")
    return frozenset(found)


def _counts_from_sixteen(facts: Facts, loop: Node) -> bool:
    start = loop.child("initializer")
    for one in start.walk() if start is not None else ():
        value = one.child("value") or one.child("right")
        constant = facts.constant(value)
        if constant is not None and constant.value == 16 and not constant.from_wave:
            return True
    return False


def _matters(source: CxxFile) -> bool:
    # Constants that wave code uses may stand in a header that says nothing else about waves.
    return source.language == "cuda" or (source.language == "c++" and b"#" in source.data)


def _width_queries(facts: Facts) -> list[Node]:
    """Where host code takes the wave width from the device, other than to print it."""
    found: list[Node] = []
    if not any(facts.function.mentions(word) for word in (b"warpSize", b"WarpSize", b"WARP_SIZE")):
        return found
    for node in facts.function.of_kind("field_expression", "identifier"):
        if node.kind == "field_expression":
            name = node.child("field")
            if name is None or facts.text(name) != "warpSize":
                continue
        elif not _ATTRIBUTES.fullmatch(facts.text(node)):
            continue
        if not _is_printed(facts, node):
            found.append(node)
    return found


def _is_printed(facts: Facts, node: Node) -> bool:
    for above in node.ancestors():
        if above.kind == "call_expression":
            callee = above.child("function")
            name = facts.text(callee).split("::")[-1].lower() if callee is not None else ""
            return name in _PRINTS or "print" in name
        if above.kind == "binary_expression" and any(one.kind == "<<" for one in above.children):
            return True
        if above.kind.endswith("_statement") or above.kind == "declaration":
            return False
    return False


def is_device(function: Function) -> bool:
    """Whether a function's body runs on the device. Macros may."""
    return function.kind in ("kernel", "device", "macro")


def has_collective(facts: Facts) -> bool:
    """Whether a function itself calls a warp intrinsic that moves values between lanes."""
    return any(COLLECTIVES[call.name].family != "syncwarp" for call in facts.calls if call.name in COLLECTIVES)
