"""Compute capability in Python source: which expressions are one, and what a comparison of one means on AMD."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.definitions import arguments_of, definitions, returned
from kernel_pytorch.port.python.flow import ends, field_values
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.python.per_module import per_module

QUERY = "torch.cuda.get_device_capability"
PROPERTIES = "torch.cuda.get_device_properties"

# AMD reports the leading digits of its target: gfx906 and gfx90a are (9, 0), gfx942 (9, 4), gfx1100 (11, 0).
SMALLEST_AMD = (9, 0)
AMPERE = (8, 0)
FP8 = (8, 9)
_MAX_DEPTH = 6
_SM_NAME = re.compile(r"(?:sm_?|compute_?)?(\d{2,3})[af]?")
_FLIPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@dataclass(frozen=True)
class CapabilityTest:
    """A comparison of a capability. `misleads`: its outcome on an AMD GPU is an accident."""

    node: ast.expr
    shown: str
    feature_absent: bool  # what the comparison should come to where NVIDIA's feature is absent
    is_fp8: bool
    misleads: bool


@dataclass(frozen=True)
class _Question:
    """One comparison: an operator between a capability of some kind and what it is compared with."""

    operator: ast.cmpop
    kind: str
    right: ast.expr
    given: Mapping[str, ast.expr] = field(default_factory=dict)  # constants that a call gives to the parameters


def is_capability(module: PythonModule, node: ast.expr, depth: int = 0) -> str | None:
    """Which form of a capability an expression is: None for anything else.

    "pair" is (9, 0), "major" and "minor" its parts, "sm" the number 90, "float" 9.0, "name" the text "sm90".
    """
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Call):
        return _call_kind(module, node, depth)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        part = {0: "major", 1: "minor"}.get(node.slice.value) if isinstance(node.slice.value, int) else None
        return part if is_capability(module, node.value, depth + 1) == "pair" else None
    if isinstance(node, ast.Attribute):
        if node.attr in ("major", "minor") and _is_properties(module, node.value):
            return node.attr
        return _one_kind(module, field_values(module, node), depth)
    if isinstance(node, ast.Name):
        kind = _one_kind(module, [value for value in bindings(module, node) if value is not None], depth)
        return kind or _unpacked_part(module, node, depth)
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:
        parts = [is_capability(module, item, depth + 1) for item in node.elts]
        return "pair" if parts == ["major", "minor"] else None
    if isinstance(node, ast.BinOp):
        return _number_kind(module, node, depth)
    return _text_kind(module, node, depth) if isinstance(node, ast.JoinedStr) else None


def _one_kind(module: PythonModule, values: list[ast.expr], depth: int) -> str | None:
    """The kind that all values have; constants (`return 0` where there is no GPU) do not count."""
    kinds = {is_capability(module, value, depth + 1) for value in values if not _is_plain(value)}
    return kinds.pop() if len(kinds) == 1 else None


def _is_plain(node: ast.expr) -> bool:
    items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return all(isinstance(item, (ast.Constant, ast.UnaryOp)) for item in items)


def _call_kind(module: PythonModule, call: ast.Call, depth: int) -> str | None:
    if module.qualified(call.func) == QUERY:
        return "pair"
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in ("int", "float", "str", "tuple") and len(call.args) == 1:
        inner = is_capability(module, call.args[0], depth + 1) or _joined(module, call.args[0], depth)
        if name == "tuple" or inner in ("major", "minor"):
            return inner
        kinds = {("int", "name"): "sm", ("int", "sm"): "sm", ("str", "sm"): "name", ("float", "name"): "float"}
        return kinds.get((name, inner or ""))
    for one in definitions(module, call.func):
        function = one.function
        if function is not None and function is one.node:
            kind = _one_kind(one.module, list(returned(function)), depth)
            if kind is not None:
                return kind
    return None


def _joined(module: PythonModule, node: ast.expr, depth: int) -> str | None:
    """`"".join(map(str, capability))`: its digits."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "join":
        return None
    parts = (item for item in ast.walk(node) if isinstance(item, (ast.Name, ast.Call)) and item is not node)
    return "name" if any(is_capability(module, item, depth + 1) == "pair" for item in parts) else None


def _number_kind(module: PythonModule, node: ast.BinOp, depth: int) -> str | None:
    """`major * 10 + minor`, `major * 10`, `major + minor / 10`."""
    left, right = is_capability(module, node.left, depth + 1), is_capability(module, node.right, depth + 1)
    if isinstance(node.op, ast.Mult):
        pairs = ((left, node.right), (right, node.left))
        return "sm" if any(kind == "major" and _constant(other) == 10 for kind, other in pairs) else None
    if isinstance(node.op, ast.Div):
        return "tenth" if left == "minor" and _constant(node.right) == 10 else None
    if isinstance(node.op, ast.Add):
        kinds = {left, right}
        return "sm" if kinds == {"sm", "minor"} else "float" if kinds == {"major", "tenth"} else None
    return None


def _text_kind(module: PythonModule, node: ast.JoinedStr, depth: int) -> str | None:
    """f"sm{major}{minor}", also "sm_90a", "90" and "9.0"."""
    values = [item.value for item in node.values if isinstance(item, ast.FormattedValue)]
    kinds = [is_capability(module, item, depth + 1) for item in values]
    text = "".join(str(item.value) for item in node.values if isinstance(item, ast.Constant))
    whole = kinds == ["major", "minor"] or kinds == ["sm"]
    return "name" if whole and re.fullmatch(r"(?:sm_?|compute_?)?\.?[af]?", text) else None


def _is_properties(module: PythonModule, node: ast.expr, depth: int = 0) -> bool:
    if isinstance(node, ast.Name):
        values = (value for value in bindings(module, node) if isinstance(value, ast.Call))
        return depth < _MAX_DEPTH and any(_is_properties(module, value, depth + 1) for value in values)
    if isinstance(node, ast.Attribute):
        values = (value for value in field_values(module, node) if isinstance(value, ast.Call))
        return depth < _MAX_DEPTH and any(_is_properties(module, value, depth + 1) for value in values)
    return isinstance(node, ast.Call) and module.qualified(node.func) == PROPERTIES


def _unpacked_part(module: PythonModule, name: ast.Name, depth: int) -> str | None:
    """`major, minor = torch.cuda.get_device_capability()`, also of a wrapper of it."""
    scope = module.scope(name)
    while name.id not in scope.others and scope.parent is not None:
        scope = scope.parent
    given = _unpacked_names(module).get((scope.node, name.id), [])
    parts = {part for part, value in given if is_capability(module, value, depth + 1) == "pair"}
    return parts.pop() if len(parts) == 1 else None


@per_module
def _unpacked_names(module: PythonModule) -> dict[tuple[ast.AST, str], list[tuple[str, ast.expr]]]:
    """Names that are one of two of something: which of them, and of what."""
    found: dict[tuple[ast.AST, str], list[tuple[str, ast.expr]]] = {}
    for node in nodes_of(module, ast.Assign):
        target = node.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else []
        for part, item in zip(("major", "minor"), names, strict=False):
            if isinstance(item, ast.Name) and isinstance(node.value, (ast.Call, ast.Name)):
                found.setdefault((module.scope(node).node, item.id), []).append((part, node.value))
    return found


def capability_tests(module: PythonModule) -> Iterator[CapabilityTest]:
    """Comparisons of a capability with numbers written down, and calls of functions that make one.

    `has_capability(9, 0)` is a comparison where the project's function of that name compares its arguments.
    """
    for node in nodes_of(module, ast.Compare):
        if any(_holds_constant(item) for item in (node.left, *node.comparators)):
            yield from _judged(module, node, [*_questions(module, node)])
    for call in nodes_of(module, ast.Call):
        if any(_holds_constant(item) for item in (*call.args, *(item.value for item in call.keywords))):
            yield from _judged(module, call, [*_asked_inside(module, call)])


def _holds_constant(node: ast.expr) -> bool:
    """A number or text, or a display of some: only those can be compared here. Asked first, as it costs nothing."""
    first = node.elts[0] if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and node.elts else node
    return isinstance(first, ast.Constant) and first.value is not None


def sm_values(module: PythonModule) -> Iterator[ast.expr]:
    """SM numbers and names made of a capability (`major * 10 + minor`, f"sm{major}") that go on to more than tests."""
    made = [*nodes_of(module, ast.BinOp), *nodes_of(module, ast.JoinedStr), *nodes_of(module, ast.Call)]
    for node in made:
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in ("int", "float")):
            continue
        is_outermost = isinstance(node, ast.expr) and is_capability(module, node) in ("sm", "name", "float")
        if is_outermost and not _is_part(module, node) and module.reached_on_rocm(node):
            last = [place for place in ends(module, node) if not _is_part(place.module, place.node)]
            if not all(isinstance(next(place.module.parents(place.node)), ast.Compare) for place in last):
                yield node


def _is_part(module: PythonModule, node: ast.expr) -> bool:
    """Part of a larger expression of the same sort, which is the one to speak of."""
    for parent in module.parents(node):
        if isinstance(parent, ast.stmt):
            return False
        if isinstance(parent, ast.expr) and is_capability(module, parent) in ("sm", "name", "float"):
            return True
    return False


def fp8_for_nvidia_only(module: PythonModule) -> Iterator[ast.Call]:
    """Calls that ask for FP8 by (8, 9), of a function that its author lets answer for NVIDIA only."""
    for call in nodes_of(module, ast.Call):
        if not any(_holds_constant(item) for item in (*call.args, *(item.value for item in call.keywords))):
            continue
        if not module.reached_on_rocm(call) or is_rocm_branch(module, call) or _is_beside_rocm(module, call):
            continue
        answers = [_answer(question) for question in _asked_inside(module, call, on_rocm=False)]
        if any(answer is not None and answer.is_fp8 and not answer.feature_absent for answer in answers):
            yield call


def _is_beside_rocm(module: PythonModule, node: ast.expr) -> bool:
    """`has_cuda_capability(8, 9) or has_rocm_capability(9, 4)`: AMD has a test of its own there."""
    for parent in module.parents(node):
        if not isinstance(parent, ast.expr):
            return False
        if isinstance(parent, ast.BoolOp) and re.search(rb"rocm|hip|amd|gfx|mi3", module.text(parent).lower()):
            return True
    return False


def _asked_inside(module: PythonModule, call: ast.Call, *, on_rocm: bool = True) -> Iterator[_Question]:
    """The comparison that a function of the project returns, its parameters replaced by what the call gives.

    With `on_rocm` those that ROCm evaluates, else those that it does not get to.
    """
    for one in definitions(module, call.func):
        function = one.function
        if function is None or function is not one.node:
            continue
        given = {name: item for name, item in arguments_of(one, call).items() if _is_plain(item)}
        for value in returned(function):
            for compare in (item for item in ast.walk(value) if isinstance(item, ast.Compare)):
                if one.module.reached_on_rocm(compare) is not on_rocm or is_rocm_branch(one.module, compare):
                    continue
                for question in _questions(one.module, compare):
                    used = {item.id for item in ast.walk(question.right) if isinstance(item, ast.Name)}
                    if used and used <= set(given):
                        yield _Question(question.operator, question.kind, question.right, given)


def _questions(module: PythonModule, node: ast.Compare) -> Iterator[_Question]:
    sides = [node.left, *node.comparators]
    for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
        kind = is_capability(module, left)
        if kind is not None:
            yield _Question(operator, kind, right)
        elif (kind := is_capability(module, right)) is not None and type(operator) in (*_FLIPPED, ast.Eq, ast.NotEq):
            flipped = _FLIPPED.get(type(operator))
            yield _Question(flipped() if flipped is not None else operator, kind, left)


def _judged(module: PythonModule, node: ast.expr, questions: list[_Question]) -> Iterator[CapabilityTest]:
    answers = [(question, _answer(question)) for question in questions if question.kind not in ("minor", "tenth")]
    known = [(question, answer) for question, answer in answers if answer is not None]
    if not known or len(known) < len(answers) or not module.reached_on_rocm(node) or is_rocm_branch(module, node):
        return
    misleads = all(answer.misleads for _, answer in known)
    absent = all(answer.feature_absent for _, answer in known)
    is_fp8 = len(known) == 1 and known[0][1].is_fp8
    yield CapabilityTest(node, ast.unparse(node), absent, is_fp8, misleads)


@dataclass(frozen=True)
class _Answer:
    feature_absent: bool
    is_fp8: bool
    misleads: bool


def _answer(question: _Question) -> _Answer | None:
    operator, kind, right = question.operator, question.kind, question.right
    if isinstance(operator, (ast.In, ast.NotIn)):
        items = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else []
        numbers = [_number(item, kind, question.given) for item in items]
        known = [number for number in numbers if number is not None]
        if not known or len(known) < len(numbers):
            return None
        return _Answer(isinstance(operator, ast.NotIn), False, max(known) >= SMALLEST_AMD)
    number = _number(right, kind, question.given)
    if number is None:
        return None
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        return _Answer(isinstance(operator, ast.NotEq), False, number >= SMALLEST_AMD)
    if isinstance(operator, (ast.Gt, ast.LtE)):
        number = (number[0] + 1, 0) if kind == "major" else (number[0], number[1] + 1)
    # Ampere's features (bf16, asynchronous work) are there on every AMD GPU that PyTorch supports; later ones are not.
    absent = isinstance(operator, (ast.Lt, ast.LtE))
    return _Answer(absent, number == FP8, number > AMPERE)


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _number(node: ast.expr, kind: str, given: Mapping[str, ast.expr]) -> tuple[int, int] | None:
    """What a capability is compared with, as (major, minor)."""
    if isinstance(node, ast.Name) and node.id in given:
        node = given[node.id]
    if kind == "pair":
        items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
        values = [_constant(given.get(item.id, item) if isinstance(item, ast.Name) else item) for item in items]
        whole = [value for value in values if isinstance(value, int)]
        return (whole[0], whole[1] if len(whole) == 2 else 0) if len(whole) == len(items) in (1, 2) else None
    value = _constant(node)
    if kind == "major" and isinstance(value, int):
        return (value, 0)
    if kind == "sm" and isinstance(value, int) and 20 <= value < 200:
        return divmod(value, 10)
    if kind == "float" and isinstance(value, (int, float)):
        return divmod(round(value * 10), 10)
    match = _SM_NAME.fullmatch(value.replace(".", "")) if kind == "name" and isinstance(value, str) else None
    return divmod(int(match[1]), 10) if match is not None else None
