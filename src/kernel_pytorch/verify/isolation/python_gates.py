"""Which Python expressions are ROCm gates, and their value on NVIDIA.

On an NVIDIA machine `torch.version.hip` is None and `torch.version.cuda` is not. Names such as `is_rocm` are taken for
what they say only when the file itself does not define them otherwise; a name that the file assigns is followed.
"""

from __future__ import annotations

import ast
import re

# What a value is on NVIDIA: True, False, None (the object), or UNKNOWN.
UNKNOWN = object()

_GATE_NAME = re.compile(
    r"^_*(is|on|use|using|has|have)_?(rocm|hip|amd)(_?(available|build|gpu|platform|torch|backend|device))?s?_*$|^_*(is|on)_(gfx\w*|mi\d+\w*)$",
    re.IGNORECASE,
)
# Names that say ROCm and more: `is_rocm_aiter_moe_enabled`, `rocm_aiter_ops.is_enabled()`, `backend == Backend.AITER`.
# They are taken at their word only where nothing else decides, and the report says so.
_PROMISING = re.compile(
    r"^_*is_(?:rocm|hip|aiter)_(?!(?:.*_)?(?:or_|not_|un|dis|miss)|.*(?:cuda|nvidia))\w+$|^_*is_(?:fp8_)?fnuz$",
    re.IGNORECASE,
)
_ROCM_OBJECT = re.compile(r"(?:^|\.)_*(?:rocm|hip|aiter)_\w+\.is_(?!not_|un|dis)\w*(?:enabled|available|supported)$")
_NVIDIA_PLATFORM = re.compile(r"(?:^|\.|_)platform\.is_cuda$")  # a platform's, not a tensor's
_ROCM_MEMBER = re.compile(r"\.(?:ROCM|HIP|AITER)(?:_[A-Z0-9_]+)?$")
_NVIDIA_NAME = re.compile(r"^_*(is|on)_(cuda_build|nvidia)(_?(gpu|platform))?_*$", re.IGNORECASE)


def dotted(node: ast.expr) -> str | None:
    """`torch.version.hip` for the expression that spells it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return None


def gate_name_value(name: str) -> object:
    """The value that a name promises by itself: `IS_ROCM` is False on NVIDIA."""
    last = name.rsplit(".", 1)[-1]
    if _GATE_NAME.match(last):
        return False
    return True if _NVIDIA_NAME.match(last) else UNKNOWN


def looks_like_gate(node: ast.AST) -> bool:
    """Whether ROCm is spoken of anywhere below: such a condition, left over, is undecided rather than unrelated."""
    return any(
        re.search(r"rocm|hip\b|_hip|amdgpu|gfx\d", word, re.IGNORECASE) is not None
        for child in ast.walk(node)
        for word in _words(child)
    )


def _words(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (node.attr,)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    return ()


class GateValues:
    """Values of expressions on NVIDIA, with what the file defines itself taken into account."""

    def __init__(self, tree: ast.Module, trusting: bool = False) -> None:
        self.trusting = trusting
        self.own: dict[str, object] = {}
        self.local: dict[str, object] = {}  # variables of functions, set once to a gate's value
        self.promised: set[str] = set()  # what was decided by such a name alone
        self._collect(tree)

    def value(self, node: ast.expr) -> object:
        """True, False, None or UNKNOWN."""
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool)):
            return node.value
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.value(node.operand)
            return UNKNOWN if inner is UNKNOWN else not inner
        if isinstance(node, ast.BoolOp):
            return self._bool(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            test = self.value(node.test)
            return UNKNOWN if test is UNKNOWN else self.value(node.body if test else node.orelse)
        return UNKNOWN

    def _name(self, node: ast.expr) -> object:
        name = dotted(node)
        if name is None:
            return UNKNOWN
        if name in self.own:
            return self.own[name]
        if name.endswith("version.hip"):
            return None
        return self._by_name(name)

    def _by_name(self, name: str) -> object:
        known = gate_name_value(name)
        if (
            known is UNKNOWN
            and self.trusting
            and (_PROMISING.match(name.rsplit(".", 1)[-1]) or _ROCM_OBJECT.search(name))
        ):
            self.promised.add(name)
            return False
        if self.trusting and _NVIDIA_PLATFORM.search(name):
            self.promised.add(f"not {name}")
            return True
        return known

    def _call(self, node: ast.Call) -> object:
        name = dotted(node.func)
        if name is None:
            return UNKNOWN
        if name == "bool" and len(node.args) == 1:
            inner = self.value(node.args[0])
            return UNKNOWN if inner is UNKNOWN else bool(inner)
        if name in ("getattr", "hasattr"):
            return self._attribute_query(name, node)
        if name in self.own:
            return self.own[name]
        return self._by_name(name)

    def _attribute_query(self, name: str, node: ast.Call) -> object:
        about_hip = (
            len(node.args) >= 2
            and isinstance(node.args[1], ast.Constant)
            and node.args[1].value == "hip"
            and (dotted(node.args[0]) or "").endswith("version")
        )
        if not about_hip:
            return UNKNOWN
        # The attribute exists in every torch of the last years; an old one without it is not ROCm either, so
        # `hasattr(...) and hip is not None` is False both ways. Alone, hasattr says nothing.
        return None if name == "getattr" else UNKNOWN

    def _bool(self, node: ast.BoolOp) -> object:
        is_and = isinstance(node.op, ast.And)
        values = [self.value(item) for item in node.values]
        for value in values:
            if value is not UNKNOWN and bool(value) is not is_and:
                return value
        return values[-1] if all(value is not UNKNOWN for value in values) else UNKNOWN

    def _compare(self, node: ast.Compare) -> object:
        left, right = self.value(node.left), self.value(node.comparators[0])
        operator = node.ops[0]
        if left is UNKNOWN or right is UNKNOWN:
            if right is None and (dotted(node.left) or "").endswith("version.cuda"):
                return isinstance(operator, (ast.IsNot, ast.NotEq))
            member = dotted(node.comparators[0]) or ""
            if (
                self.trusting
                and _ROCM_MEMBER.search(member)
                and isinstance(operator, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot))
            ):
                self.promised.add(f"{ast.unparse(node.left)} == {member}")
                return isinstance(operator, (ast.NotEq, ast.IsNot))
            return UNKNOWN
        if isinstance(operator, (ast.Is, ast.Eq)):
            return left is right or left == right
        if isinstance(operator, (ast.IsNot, ast.NotEq)):
            return not (left is right or left == right)
        return UNKNOWN

    def _collect(self, tree: ast.Module) -> None:
        """Module-level `X = <gate>` and `def f(): return <gate>`; a name bound twice is not followed."""
        bound = _times_bound(tree)
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._define(statement.targets[0], statement.value, bound)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self._define(statement.target, statement.value, bound)
            elif isinstance(statement, ast.FunctionDef) and bound.get(statement.name) == 1:
                self._define_function(statement)
        self._define_set_under_gates(tree, bound)
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._define_locals(function, bound)

    def _define(self, target: ast.expr, value: ast.expr, bound: dict[str, int]) -> None:
        if isinstance(target, ast.Name):
            known = self.value(value)
            plain_constant = isinstance(value, ast.Constant)
            if bound.get(target.id) == 1 and known is not UNKNOWN and not plain_constant:
                self.own[target.id] = known
            elif gate_name_value(target.id) is not UNKNOWN:
                self.own[target.id] = UNKNOWN

    def _define_set_under_gates(self, tree: ast.Module, bound: dict[str, int]) -> None:
        """`use_hip = False`, then `if torch.version.hip: use_hip = True`: what is left on NVIDIA is the value."""
        kept: dict[str, list[ast.expr]] = {}
        shut: dict[str, int] = {}
        self._assignments(tree.body, kept, shut, is_shut=False)
        for name, times in shut.items():
            values = kept.get(name, [])
            if len(values) + times == bound.get(name) and len(values) == 1 and self.own.get(name, UNKNOWN) is UNKNOWN:
                known = self.value(values[0])
                if known is not UNKNOWN:
                    self.own[name] = known

    def _assignments(
        self, statements: list[ast.stmt], kept: dict[str, list[ast.expr]], shut: dict[str, int], is_shut: bool
    ) -> None:
        """The plain assignments of a block, and how many of each name a gate shuts off."""
        for statement in statements:
            if isinstance(statement, ast.If):
                known = self.value(statement.test)
                decided = known is not UNKNOWN
                self._assignments(statement.body, kept, shut, is_shut or (decided and not known))
                self._assignments(statement.orelse, kept, shut, is_shut or (decided and bool(known)))
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name) and is_shut:
                    shut[target.id] = shut.get(target.id, 0) + 1
                elif isinstance(target, ast.Name):
                    kept.setdefault(target.id, []).append(statement.value)

    def _define_locals(self, function: ast.FunctionDef | ast.AsyncFunctionDef, bound: dict[str, int]) -> None:
        """`use_aiter = is_rocm() and wanted`, where nothing else in the file has that name."""
        for node in ast.walk(function):
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name) or bound.get(target.id) != 1:
                continue
            known = self.value(node.value)
            if known is not UNKNOWN and not isinstance(node.value, ast.Constant):
                self.own[target.id] = self.local[target.id] = known

    def _define_function(self, node: ast.FunctionDef) -> None:
        body = [item for item in node.body if not _is_docstring(item)]
        imports_only = all(isinstance(item, (ast.Import, ast.ImportFrom)) for item in body[:-1])
        known: object = UNKNOWN
        if body and imports_only and isinstance(body[-1], ast.Return) and body[-1].value is not None:
            known = self.value(body[-1].value)
        if known is not UNKNOWN or gate_name_value(node.name) is not UNKNOWN:
            self.own[node.name] = known if known is not UNKNOWN else gate_name_value(node.name)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _times_bound(tree: ast.Module) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            counts[node.id] = counts.get(node.id, 0) + 1
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            counts[node.name] = counts.get(node.name, 0) + 1
        elif isinstance(node, ast.arg):
            counts[node.arg] = counts.get(node.arg, 0) + 1
        elif isinstance(node, ast.alias):
            name = node.asname or node.name.split(".")[0]
            counts[name] = counts.get(name, 0) + 1
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            counts.update({name: counts.get(name, 0) + 1 for name in node.names})
        elif isinstance(node, ast.ExceptHandler) and node.name:
            counts[node.name] = counts.get(node.name, 0) + 1
    return counts
