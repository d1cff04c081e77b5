"""Python: compare two sources after folding, and say where they part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.verify.isolation.python_fold import UNREADABLE, fold_module
from kernel_pytorch.verify.isolation.python_gates import UNKNOWN, GateValues, gate_name_value, looks_like_gate
from kernel_pytorch.verify.isolation.python_unused import drop_imports_that_only_ask, drop_unused_definitions
from kernel_pytorch.verify.isolation.verdict import FileVerdict, Isolation

_IGNORED_FIELDS = {
    "lineno",
    "col_offset",
    "end_lineno",
    "end_col_offset",
    "type_comment",
    "kind",
    "type_ignores",
    "ctx",
}


def compare_python(
    path: str, old: bytes, new: bytes, own: frozenset[str] = frozenset(), leave_out: frozenset[str] = frozenset()
) -> FileVerdict:
    """Whether both sources are the same program where `torch.version.hip` is None.

    `own` are the project's own packages; `leave_out` names functions that are known not to be called there.
    """
    own = own | {path.removeprefix("src/").split("/")[0]}
    strict = _compare(path, old, new, own, leave_out, trusting=False)
    if strict.verdict is Isolation.PROVEN:
        return strict
    # Names that promise more than "this is ROCm" are believed only where they make the difference.
    trusting = _compare(path, old, new, own, leave_out, trusting=True)
    return trusting if trusting.verdict is Isolation.PROVEN else strict


def _compare(
    path: str, old: bytes, new: bytes, own: frozenset[str], leave_out: frozenset[str], trusting: bool
) -> FileVerdict:
    trees = []
    for source, which in ((old, "old"), (new, "new")):
        try:
            trees.append(ast.parse(source))
        except UNREADABLE as error:
            line = getattr(error, "lineno", None)
            reason = f"the {which} file does not parse ({error.msg if isinstance(error, SyntaxError) else error})"
            return FileVerdict(path, Isolation.NOT_PROVEN, reason, line if which == "new" else None)
    gates = [GateValues(tree, trusting) for tree in trees]
    asked = _names_that_are_asked(trees[1], gates[1])
    before, after = fold_module(trees[0], gates[0]), fold_module(trees[1], gates[1])
    assumptions = [f"`{name}` is False on NVIDIA, as it says" for name in sorted(gates[0].promised | gates[1].promised)]
    for tree in (before, after):
        tree.body = [item for item in tree.body if getattr(item, "name", None) not in leave_out]
    _drop_gate_definitions(before, after, gates[0].own, gates[1].own)
    if _strip_docstrings(before) != _strip_docstrings(after):
        assumptions.append("nothing reads docstrings at run time")
    after.body = list(_without_what_serves_rocm_only(before, after, assumptions))
    drop_unused_definitions(before, after, assumptions)
    drop_imports_that_only_ask(own, before, after, asked, assumptions)
    difference = _first_difference(before, after)
    if difference is None:
        return FileVerdict(
            path,
            Isolation.PROVEN,
            "the same syntax tree where torch.version.hip is None",
            assumptions=tuple(assumptions),
        )
    left, right, reason = difference
    undecided = any(isinstance(node, ast.AST) and _mentions_gate(node) for node in (left, right))
    verdict = Isolation.NOT_PROVEN if undecided else Isolation.CHANGED
    return FileVerdict(path, verdict, reason, _line(right), _line(left), tuple(assumptions))


def _drop_gate_definitions(
    before: ast.Module, after: ast.Module, old_gates: dict[str, object], new_gates: dict[str, object]
) -> None:
    """Leaves out gates that only the new file defines, and assignments that give the same gate the same value.

    A function that both files have is compared like any other, whatever its name promises.
    """
    old_names = {name for statement in before.body for name in _bound_here(statement)}
    agreed = {
        name
        for name, value in new_gates.items()
        if value is not UNKNOWN and name in old_gates and old_gates[name] is value
    }

    def is_agreed(statement: ast.stmt) -> bool:
        is_assignment = isinstance(statement, (ast.Assign, ast.AnnAssign))
        return is_assignment and bool(_bound_here(statement)) and _bound_here(statement) <= agreed

    def is_new_gate(statement: ast.stmt) -> bool:
        names = _bound_here(statement)
        return bool(names) and all(
            new_gates.get(name, UNKNOWN) is not UNKNOWN and name not in old_names for name in names
        )

    before.body = [statement for statement in before.body if not is_agreed(statement)]
    after.body = [statement for statement in after.body if not is_agreed(statement) and not is_new_gate(statement)]


def _names_that_are_asked(tree: ast.Module, gates: GateValues) -> frozenset[str]:
    """The names that a gate is asked of: `current_platform` in `current_platform.is_rocm()`."""
    asked: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.Attribute, ast.Compare)) and gates.value(node) is not UNKNOWN:
            asked.update(item.id for item in ast.walk(node) if isinstance(item, ast.Name))
    return frozenset(asked)


def _bound_here(statement: ast.stmt) -> set[str]:
    """The plain names a module-level definition binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _strip_docstrings(tree: ast.Module) -> list[str]:
    """Takes the docstrings out and returns them: they are no part of what runs."""
    taken = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                taken.append(text)
                node.body = node.body[1:] or [ast.Pass()]
    return taken


def _mentions_gate(node: ast.AST) -> bool:
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return looks_like_gate(node.test)
    return looks_like_gate(node)


def _without_what_serves_rocm_only(before: ast.Module, after: ast.Module, assumptions: list[str]) -> Iterator[ast.stmt]:
    """Drops from the new module what cannot act on NVIDIA: imports of gate names, and of torch for their sake.

    A plain import that became `try: import x except ImportError: ...` is the import again, provided that it works.
    """
    old_imports = {ast.dump(node) for node in ast.walk(before) if isinstance(node, (ast.Import, ast.ImportFrom))}
    loaded = _loaded_packages(before)
    at_top = {ast.dump(node) for node in before.body if isinstance(node, ast.Import)}
    for statement in after.body:
        if isinstance(statement, ast.Import) and ast.dump(statement) not in at_top:
            # `import torch` beside `from torch import nn` loads nothing; it only binds the name the gate asks.
            unused = not any(
                _name_is_used(after, alias.asname or alias.name.split(".")[0]) for alias in statement.names
            )
            if unused and all(alias.name in loaded for alias in statement.names):
                continue
        if isinstance(statement, ast.Try) and _is_import_fallback(statement):
            inner = statement.body
            if {ast.dump(item) for item in inner} <= old_imports and not _has_same_try(before, statement):
                names = ", ".join(ast.unparse(item) for item in inner)
                assumptions.append(f"`{names}` succeeds on NVIDIA as it had to before")
                yield from inner
                continue
        if isinstance(statement, ast.ImportFrom):
            left = [item for item in statement.names if not _is_gate_import(item, statement, old_imports)]
            if not left:
                continue
            if len(left) < len(statement.names):
                statement.names = left
        yield statement


def _loaded_packages(tree: ast.Module) -> set[str]:
    """Every package that the module-level imports load: `torch.nn` loads torch as well."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module)
    return {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 2)}


def _name_is_used(tree: ast.AST, name: str) -> bool:
    """Whether the module's own name is used: a function that imports the name itself means its own."""
    if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)) and _imports(tree, name):
        return False
    if isinstance(tree, ast.Name) and tree.id == name:
        return True
    return any(_name_is_used(child, name) for child in ast.iter_child_nodes(tree))


def _imports(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether a function's own body binds a name by an import, and does not declare it global."""
    pending: list[ast.AST] = list(function.body)
    binds = False
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Global) and name in node.names:
            return False
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            binds = binds or any((alias.asname or alias.name.split(".")[0]) == name for alias in node.names)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)
    return binds


def _is_gate_import(item: ast.alias, statement: ast.ImportFrom, old_imports: set[str]) -> bool:
    name = item.asname or item.name
    return gate_name_value(name) is not UNKNOWN and ast.dump(statement) not in old_imports


def _is_import_fallback(node: ast.Try) -> bool:
    catches = all(
        isinstance(handler.type, ast.Name) and handler.type.id in ("ImportError", "ModuleNotFoundError")
        for handler in node.handlers
    )
    plain = all(isinstance(item, (ast.Import, ast.ImportFrom)) for item in node.body)
    return bool(node.handlers) and catches and plain and not node.orelse and not node.finalbody


def _has_same_try(tree: ast.Module, node: ast.Try) -> bool:
    return any(isinstance(item, ast.Try) and ast.dump(item) == ast.dump(node) for item in tree.body)


def _first_difference(left: object, right: object) -> tuple[object, object, str] | None:
    """The innermost pair of nodes that differ, outermost statement first."""
    if isinstance(left, ast.AST) and isinstance(right, ast.AST):
        if type(left) is not type(right):
            return left, right, f"{_shown(left)} became {_shown(right)}"
        for name in left._fields:
            if name in _IGNORED_FIELDS:
                continue
            found = _first_difference(getattr(left, name, None), getattr(right, name, None))
            if found is not None:
                # A bare value has no line of its own: name the node that holds it.
                if not isinstance(found[0], ast.AST) and not isinstance(found[1], ast.AST):
                    return left, right, f"{_shown(left)} became {_shown(right)}"
                return found
        return None
    if isinstance(left, list) and isinstance(right, list):
        for a, b in zip(left, right, strict=False):
            found = _first_difference(a, b)
            if found is not None:
                return found
        if len(left) < len(right):
            return None, right[len(left)], f"{_shown(right[len(left)])} is new"
        if len(left) > len(right):
            return left[len(right)], None, f"{_shown(left[len(right)])} is gone"
        return None
    if isinstance(left, ast.AST) or isinstance(right, ast.AST):
        return left, right, f"{_shown(left)} became {_shown(right)}"
    same = type(left) is type(right) and left == right
    return None if same else (left, right, f"{left!r} became {right!r}")


def _line(node: object) -> int | None:
    return getattr(node, "lineno", None)


def _shown(node: object) -> str:
    if not isinstance(node, ast.AST):
        return "nothing" if node is None else repr(node)
    try:
        text = ast.unparse(ast.fix_missing_locations(node)).split("\n")[0]
    except (AttributeError, ValueError, RecursionError):
        text = type(node).__name__
    return f"`{text if len(text) < 70 else text[:67] + '...'}`"
