"""Where the user's own rules apply in a Python file, and the edits they make: gated like every other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.python.edits import choice, gated_statement, is_editable, rocm_twin, stands_alone
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.python.scopes import Scope
from kernel_pytorch.port.source import SourceFile
from kernel_pytorch.port.user_rules import UserRule

ImportNode = ast.Import | ast.ImportFrom


def user_findings(src: SourceFile, rules: Sequence[UserRule]) -> Iterator[Finding]:
    """All findings of the user's rules in one Python file."""
    wanted = [rule for rule in rules if rule.source.rpartition(".")[2].encode() in src.data]
    module = python_module(src) if wanted else None
    if module is None:
        return
    guarded: list[Span] = []
    for rule in wanted:
        if rule.kind == "guard-call":
            for finding in _guarded_calls(module, rule):
                guarded.extend(edit.span for edit in finding.edits)
                yield finding
    for rule in wanted:
        if rule.kind == "guard-import":
            yield from _guarded_imports(module, rule, guarded)
        elif rule.kind == "rename":
            yield from _renamed_imports(module, rule)
            yield from _reached_through_imports(module, rule, _uses(module, rule))
        elif rule.kind == "replace-call":
            yield from _reached_through_imports(module, rule, _calls(module, rule))


def _finding(module: PythonModule, rule: UserRule, at: Span, message: str, edits: Sequence[Edit] = ()) -> Finding:
    line, col = module.src.line_col(at.start)
    safety = rule.safety if edits else Safety.MANUAL
    return Finding(rule.code, module.src.path, line, col, message, safety, tuple(edits))


def _for_a_person(module: PythonModule, rule: UserRule, node: ast.expr | ast.stmt, reason: str) -> Finding:
    return _finding(module, rule, module.span(node), f"{rule.message} (not rewritten: {reason})")


# guard


def _guarded_calls(module: PythonModule, rule: UserRule) -> Iterator[Finding]:
    for call in module.calls(rule.source):
        parent = next(module.parents(call))
        edit = gated_statement(module, parent) if isinstance(parent, ast.Expr) else None
        if edit is not None:
            yield _finding(module, rule, module.span(call), rule.message, [edit])
        else:
            reason = "it shares its line" if isinstance(parent, ast.Expr) else "its value is used"
            yield _for_a_person(module, rule, call, reason)


def _guarded_imports(module: PythonModule, rule: UserRule, guarded: Sequence[Span]) -> Iterator[Finding]:
    for node in _imports(module):
        names = [alias for alias in node.names if _is_or_below(_imported(module, node, alias), rule.source)]
        if not names or not _is_ours_to_change(module, node):
            continue
        kept = [alias for alias in node.names if alias not in names]
        edit = rocm_twin(module, node, _import_text(node, kept)) if kept else gated_statement(module, node)
        if edit is None:
            yield _for_a_person(module, rule, node, "it shares its line")
        else:
            yield _finding(module, rule, module.span(node), rule.message, [edit])
    for use in _expressions(module, rule.source):
        span = module.span(use)
        if module.reached_on_rocm(use) and not any(one.start <= span.start < one.end for one in guarded):
            message = f"{rule.source} is not imported on ROCm, and used here: guard the use too"
            yield _finding(module, rule, span, message)


# rename


def _renamed_imports(module: PythonModule, rule: UserRule) -> Iterator[Finding]:
    """Imports that bind the name itself: on ROCm the same local name comes from elsewhere, and no use changes."""
    for node in _imports(module):
        lines: list[bytes] = []
        kept: list[ast.alias] = []
        for alias in node.names:
            full = _imported(module, node, alias)
            new = rule.to + full.removeprefix(rule.source) if _is_or_below(full, rule.source) else None
            if new is None or not _binds_itself(node, alias, rule.source):
                kept.append(alias)
            else:
                lines += _binding(node, alias, new, rule)
        if not lines or not _is_ours_to_change(module, node):
            continue
        if kept:
            lines.append(_import_text(node, kept))
        separator = module.newline + module.indent(node.lineno) + _step(module, node)
        edit = rocm_twin(module, node, separator.join(lines))
        if edit is None:
            yield _for_a_person(module, rule, node, "it shares its line")
        else:
            yield _finding(module, rule, module.span(node), rule.message, [edit])


def _binds_itself(node: ImportNode, alias: ast.alias, source: str) -> bool:
    """Not `import a.b`, which binds a, for a rule about a.b: there the uses change."""
    return isinstance(node, ast.ImportFrom) or bool(alias.asname) or "." not in source


def _binding(node: ImportNode, alias: ast.alias, new: str, rule: UserRule) -> list[bytes]:
    if isinstance(node, ast.Import):
        if alias.asname or "." not in alias.name:
            return [f"import {new} as {alias.asname or alias.name}".encode()]
        return [f"import {new}".encode(), f"import {rule.to} as {rule.source}".encode()]
    home, _, name = new.rpartition(".")
    local = alias.asname or alias.name
    if alias.name == "*":
        return [f"from {home} import *".encode()]
    shown = name if name == local else f"{name} as {local}"
    return [(f"from {home} import {shown}" if home else f"import {shown}").encode()]


# rename through a module, and replace-call: the use changes, and what it uses is imported beside


@dataclass(frozen=True)
class _Use:
    """A place that changes: the node, what stands there on ROCm, and the identifier its name starts with."""

    node: ast.expr
    on_rocm: bytes
    head: ast.Name
    target: str  # the module that has to be imported for it
    reason: str = ""  # why it cannot be rewritten


def _uses(module: PythonModule, rule: UserRule) -> Iterator[_Use]:
    as_module = any(
        isinstance(node, ast.Import) and any(_is_or_below(alias.name, rule.source) for alias in node.names)
        for node in _imports(module)
    )
    target = rule.to if as_module else rule.to.rpartition(".")[0] or rule.to
    for node in _expressions(module, rule.source, exactly=True):
        head = _head(node)
        bound = module.scope(head).resolve(head.id)
        if bound is None or _is_or_below(bound, rule.source) or not module.reached_on_rocm(node):
            continue
        is_read = isinstance(getattr(node, "ctx", None), ast.Load)
        reason = "" if is_read else "it is assigned to"
        yield _Use(node, rule.to.encode(), head, target, reason)


def _calls(module: PythonModule, rule: UserRule) -> Iterator[_Use]:
    renamed = dict(rule.keywords)
    target = rule.to.rpartition(".")[0]
    changed: list[Span] = []
    for call in sorted(module.calls(rule.source), key=lambda one: (module.span(one).start, -module.span(one).end)):
        span = module.span(call)
        if any(one.start <= span.start and span.end <= one.end for one in changed):
            continue  # inside a call that is written out as a whole: it is rendered there
        hidden = bool(renamed) and any(keyword.arg is None for keyword in call.keywords)
        reason = "**keywords may hold one that is renamed" if hidden else ""
        if any(keyword.arg in renamed for keyword in call.keywords):
            changed.append(span)
            yield _Use(call, _rendered(module, call, rule), _head(call.func), target, reason)
        else:
            yield _Use(call.func, rule.to.encode(), _head(call.func), target, reason)


def _rendered(module: PythonModule, call: ast.Call, rule: UserRule) -> bytes:
    """The call on ROCm, its arguments one behind the other. Calls of the same function inside it are rendered too."""
    renamed = dict(rule.keywords)
    parts = [_argument(module, item, rule) for item in call.args]
    for keyword in call.keywords:
        name = renamed.get(keyword.arg, keyword.arg) if keyword.arg else None
        if keyword.arg and name is None:
            continue
        value = _argument(module, keyword.value, rule)
        if isinstance(keyword.value, (ast.NamedExpr, ast.Yield, ast.YieldFrom)):
            value = b"(" + value + b")"
        parts.append((f"{name}=".encode() if name else b"**") + value)
    return rule.to.encode() + b"(" + b", ".join(parts) + b")"


def _argument(module: PythonModule, node: ast.expr, rule: UserRule) -> bytes:
    span = module.span(node)
    inner = [one for one in ast.walk(node) if isinstance(one, ast.Call) and module.qualified(one.func) == rule.source]
    text, at = b"", span.start
    for call in sorted(inner, key=lambda one: (module.span(one).start, -module.span(one).end)):
        here = module.span(call)
        if here.start >= at:
            text += module.src.data[at : here.start] + _rendered(module, call, rule)
            at = here.end
    return text + module.src.data[at : span.end]


def _reached_through_imports(module: PythonModule, rule: UserRule, uses: Iterator[_Use]) -> Iterator[Finding]:
    """One finding for all uses through one import: they change together with it, or not at all."""
    by_import: dict[ImportNode, list[_Use]] = {}
    for use in uses:
        statement = _binding_statement(module, use.head)
        reason = use.reason or ("" if is_editable(module, use.node) else "something else than Python compiles it")
        if not reason and statement is None:
            reason = "the import that binds its name was not found"
        if not reason and _is_taken(module.scope(use.head), use.target):
            reason = f"the name {use.target.split('.')[0]} means something else here"
        if reason or statement is None:
            yield _for_a_person(module, rule, use.node, reason)
        else:
            by_import.setdefault(statement, []).append(use)
    for statement, found in by_import.items():
        edits = [choice(module, use.node, use.on_rocm) for use in found]
        if not _is_imported(module, statement, found[0].target):
            if not stands_alone(module, statement):
                yield _for_a_person(module, rule, found[0].node, "the import of its module shares its line")
                continue
            edits.append(_import_beside(module, statement, found[0].target))
        places = f" ({len(found)} places)" if len(found) > 1 else ""
        yield _finding(module, rule, module.span(found[0].node), rule.message + places, edits)


def _import_beside(module: PythonModule, statement: ImportNode, target: str) -> Edit:
    """`if IS_ROCM: import target` in front of an import, whose own bytes stay.

    The statement is replaced, by itself in the end, so that the gate's definition can go right before it.
    """
    indent, newline = module.indent(statement.lineno), module.newline
    text = b"import " + target.encode()
    if not is_rocm_branch(module, statement):
        text = b"if IS_ROCM:" + newline + indent + _step(module, statement) + text
    return Edit(module.span(statement), text + newline + indent + module.text(statement))


def _binding_statement(module: PythonModule, head: ast.Name) -> ImportNode | None:
    scope: Scope | None = module.scope(head)
    while scope is not None and head.id not in scope.imports:
        scope = scope.parent
    for node in _imports(module):
        if scope is not None and module.scope(node) is scope and module.reached_on_rocm(node):
            local = [
                alias.asname or (_first(alias.name) if isinstance(node, ast.Import) else alias.name)
                for alias in node.names
            ]
            if head.id in local:
                return node
    return None


def _is_taken(scope: Scope, target: str) -> bool:
    """Whether the first part of a dotted module already means something else at a place."""
    name = _first(target)
    current: Scope | None = scope
    while current is not None:
        if name in current.others:
            return True
        if name in current.imports:
            return current.imports[name] != name
        current = current.parent
    return False


def _is_imported(module: PythonModule, beside: ImportNode, target: str) -> bool:
    scope = module.scope(beside)
    return any(
        isinstance(node, ast.Import)
        and module.scope(node) is scope
        and node.lineno <= beside.lineno
        and any(alias.name == target and not alias.asname for alias in node.names)
        for node in _imports(module)
    )


# what all of them ask


def _imports(module: PythonModule) -> list[ImportNode]:
    found: list[ImportNode] = [*nodes_of(module, ast.Import), *nodes_of(module, ast.ImportFrom)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _is_ours_to_change(module: PythonModule, node: ImportNode) -> bool:
    return module.reached_on_rocm(node) and not module.is_type_checking_only(node) and not is_rocm_branch(module, node)


def _imported(module: PythonModule, node: ImportNode, alias: ast.alias) -> str:
    """The dotted name that one part of an import stands for; relative imports count from the file's package."""
    if isinstance(node, ast.Import):
        return alias.name
    base = node.module or ""
    if node.level:
        parts = module.package.split(".") if module.package else []
        base = ".".join([*parts[: len(parts) - (node.level - 1)], *([node.module] if node.module else [])])
    if alias.name == "*":
        return f"{base}.*"
    return f"{base}.{alias.name}" if base else alias.name


def _import_text(node: ImportNode, aliases: Sequence[ast.alias]) -> bytes:
    names = ", ".join(f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in aliases)
    if isinstance(node, ast.Import):
        return f"import {names}".encode()
    return f"from {'.' * node.level}{node.module or ''} import {names}".encode()


def _expressions(module: PythonModule, source: str, exactly: bool = False) -> Iterator[ast.expr]:
    """Expressions that mean a name, or anything below it: `a.b` once in `a.b.c`, not its parts."""
    found: list[ast.expr] = [*nodes_of(module, ast.Attribute), *nodes_of(module, ast.Name)]
    for node in sorted(found, key=lambda one: (one.lineno, one.col_offset)):
        name = module.qualified(node)
        if name is None or not (name == source or (not exactly and _is_or_below(name, source))):
            continue
        parent = next(module.parents(node), None)
        inner = isinstance(parent, ast.Attribute) and module.qualified(parent) is not None
        if exactly or not inner:
            yield node


def _head(node: ast.expr) -> ast.Name:
    while isinstance(node, ast.Attribute):
        node = node.value
    assert isinstance(node, ast.Name), "only what starts with a name is resolved through imports"
    return node


def _is_or_below(name: str, source: str) -> bool:
    return name == source or name.startswith(f"{source}.")


def _first(dotted: str) -> str:
    return dotted.split(".")[0]


def _step(module: PythonModule, node: ast.stmt) -> bytes:
    return b"\t" if module.indent(node.lineno).endswith(b"\t") else b"    "
