"""Work out values in a setup.py without running it.

A small interpreter over the syntax tree: literals, lists, dictionaries, concatenation, simple loops, the
`open("requirements.txt").read().splitlines()` idioms and calls of functions of the same file. Everything else is
UNKNOWN, and the caller reports the line instead of guessing. Files are read, nothing is executed or written.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from kernel_pytorch.core.read_file import read_text
from kernel_pytorch.port.deps.static_values import (
    UNKNOWN,
    OpenFile,
    added,
    compared,
    guarded,
    has_unknown,
    indexed,
    method,
)

_MAX_STEPS = 50_000
_MAX_SEARCHED = 500


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Continue(Exception):
    pass


class _Break(Exception):
    pass


class TooLong(Exception):
    """The file computes more than a dependency list should need."""


class StaticModule:
    """The names a Python file binds at module level, as far as they can be known."""

    def __init__(self, tree: ast.Module, folder: Path) -> None:
        self.folder = folder.resolve()
        self.steps = 0
        self.functions: dict[str, ast.FunctionDef] = {}
        self.names: dict[str, Any] = {"__file__": str(self.folder / "setup.py"), "__name__": "__main__"}
        self.setup_calls: list[tuple[ast.Call, dict[str, Any]]] = []
        self.conditions: list[int] = []
        self.depth = 0
        self._body(tree.body, self.names)

    # --- statements -------------------------------------------------------------------------------------------
    def _body(self, body: list[ast.stmt], scope: dict[str, Any]) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: dict[str, Any]) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise TooLong
        if isinstance(node, ast.FunctionDef):
            self.functions[node.name] = node
        elif isinstance(node, ast.Assign):
            value = self.value(node.value, scope)
            for target in node.targets:
                self._assign(target, value, scope)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self.value(node.value, scope), scope)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            old, new = scope.get(node.target.id, UNKNOWN), self.value(node.value, scope)
            scope[node.target.id] = added(old, new) if isinstance(node.op, ast.Add) else UNKNOWN
        elif isinstance(node, ast.AugAssign):
            container, key = self._subscript(node.target, scope)
            if isinstance(container, dict):
                container[key] = added(container.get(key, UNKNOWN), self.value(node.value, scope))
        elif isinstance(node, ast.Expr):
            self.value(node.value, scope)
        elif isinstance(node, ast.Return):
            raise _Return(self.value(node.value, scope) if node.value else None)
        elif isinstance(node, (ast.Continue, ast.Break)):
            raise _Continue if isinstance(node, ast.Continue) else _Break
        elif isinstance(node, ast.With):
            for item in node.items:
                opened = self.value(item.context_expr, scope)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, opened, scope)
            self._body(node.body, scope)
        elif isinstance(node, ast.If):
            self._branch(node, scope)
        elif isinstance(node, ast.For):
            self._loop(node, scope)
        elif isinstance(node, ast.Try):
            self._body(node.body, scope)
            self._body(node.finalbody, scope)

    def _branch(self, node: ast.If, scope: dict[str, Any]) -> None:
        test = self.value(node.test, scope)
        if not has_unknown(test):
            self._body(node.body if test else node.orelse, scope)
            return
        # Which branch runs is not known: both are read, and a name they give different values is not known,
        # except that lists are joined, since either content may be required.
        self.conditions.append(node.lineno)
        names = _bound_names([*node.body, *node.orelse])
        before = {name: scope.get(name, UNKNOWN) for name in names}
        outcomes = []
        for branch in (node.body, node.orelse):
            self._body(branch, scope)
            outcomes.append({name: scope.get(name, UNKNOWN) for name in names})
            scope.update({name: value for name, value in before.items() if not isinstance(value, (list, dict))})
        for name in names:
            scope[name] = _either(before[name], *(outcome[name] for outcome in outcomes))

    def _loop(self, node: ast.For, scope: dict[str, Any]) -> None:
        iterable = self.value(node.iter, scope)
        items = iterable.lines() if isinstance(iterable, OpenFile) else iterable
        if not isinstance(items, (list, tuple, dict, set, str)) or has_unknown(items):
            for name in _bound_names(node.body):
                scope[name] = UNKNOWN
            return
        for item in list(items):
            self._assign(node.target, item, scope)
            try:
                self._body(node.body, scope)
            except (_Continue, _Break) as jump:
                if isinstance(jump, _Break):
                    break

    def _assign(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = list(value) if isinstance(value, (list, tuple)) else []
            for index, inner in enumerate(target.elts):
                fits = len(values) == len(target.elts)
                self._assign(inner, values[index] if fits else UNKNOWN, scope)
        elif isinstance(target, ast.Subscript):
            container, key = self._subscript(target, scope)
            if isinstance(container, dict):
                container[key] = value

    def _subscript(self, target: ast.expr, scope: dict[str, Any]) -> tuple[Any, Any]:
        if not isinstance(target, ast.Subscript):
            return UNKNOWN, UNKNOWN
        key = self.value(target.slice, scope)
        return self.value(target.value, scope), key if isinstance(key, (str, int)) else UNKNOWN

    # --- expressions ------------------------------------------------------------------------------------------
    def value(self, node: ast.expr | None, scope: dict[str, Any]) -> Any:
        """The value of an expression, or UNKNOWN (possibly inside a list or dictionary)."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise TooLong
        if node is None:
            return None
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return scope.get(node.id, self.names.get(node.id, UNKNOWN))
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return self._elements(node.elts, scope)
        if isinstance(node, ast.Dict):
            return self._dictionary(node, scope)
        if isinstance(node, ast.BinOp):
            left, right = self.value(node.left, scope), self.value(node.right, scope)
            if isinstance(node.op, ast.Add):
                return added(left, right)
            if isinstance(node.op, ast.Mod) and isinstance(left, str) and not has_unknown(right):
                return guarded(lambda: left % (tuple(right) if isinstance(right, list) else right))
            if isinstance(node.op, ast.Div) and isinstance(left, Path) and isinstance(right, str):
                return left / right
            return UNKNOWN
        if isinstance(node, ast.JoinedStr):
            return self._joined(node, scope)
        if isinstance(node, ast.Subscript):
            return indexed(self.value(node.value, scope), self.value(node.slice, scope))
        if isinstance(node, ast.Attribute):
            held = self.value(node.value, scope)
            return held.parent if isinstance(held, Path) and node.attr == "parent" else UNKNOWN
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._comprehension(node.elt, node.generators, scope)
        if isinstance(node, ast.DictComp):
            pair = ast.Tuple(elts=[node.key, node.value], ctx=ast.Load())
            pairs = self._comprehension(pair, node.generators, scope)
            return UNKNOWN if has_unknown(pairs) else dict(pairs)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            held = self.value(node.operand, scope)
            return UNKNOWN if has_unknown(held) else not held
        if isinstance(node, ast.BoolOp):
            values = [self.value(part, scope) for part in node.values]
            if any(has_unknown(part) for part in values):
                return UNKNOWN
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return compared(self.value(node.left, scope), node.ops[0], self.value(node.comparators[0], scope))
        if isinstance(node, ast.IfExp):
            test = self.value(node.test, scope)
            return UNKNOWN if has_unknown(test) else self.value(node.body if test else node.orelse, scope)
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        return UNKNOWN

    def _elements(self, elements: list[ast.expr], scope: dict[str, Any]) -> list[Any]:
        result: list[Any] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                inner = self.value(element.value, scope)
                result += list(inner) if isinstance(inner, (list, tuple)) else [UNKNOWN]
            else:
                result.append(self.value(element, scope))
        return result

    def _dictionary(self, node: ast.Dict, scope: dict[str, Any]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value(value, scope)
            if key is None:
                result.update(held if isinstance(held, dict) else {})
                continue
            name = self.value(key, scope)
            if isinstance(name, (str, int)):
                result[name] = held
        return result

    def _joined(self, node: ast.JoinedStr, scope: dict[str, Any]) -> Any:
        parts = []
        for part in node.values:
            held = self.value(part.value if isinstance(part, ast.FormattedValue) else part, scope)
            if has_unknown(held):
                return UNKNOWN
            parts.append(str(held))
        return "".join(parts)

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension], scope: dict[str, Any]) -> Any:
        if len(generators) != 1:
            return UNKNOWN
        generator = generators[0]
        iterable = self.value(generator.iter, scope)
        items = iterable.lines() if isinstance(iterable, OpenFile) else iterable
        if not isinstance(items, (list, tuple, set, str)):
            return UNKNOWN
        result = []
        for item in items:
            inner = dict(scope)
            self._assign(generator.target, item, inner)
            tests = [self.value(test, inner) for test in generator.ifs]
            if any(has_unknown(test) for test in tests):
                return UNKNOWN
            if all(tests):
                result.append(self.value(element, inner))
        return result

    # --- calls ------------------------------------------------------------------------------------------------
    def _call(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        name = _call_name(node)
        if name == "setup":
            self.setup_calls.append((node, dict(scope)))
            return None
        args = self._elements(node.args, scope)
        if isinstance(node.func, ast.Attribute):
            held = self.value(node.func.value, scope)
            known = (
                self._path_method(held, node.func.attr, args)
                if isinstance(held, Path)
                else method(held, node.func.attr, args)
            )
            if known is not None:
                return known[0]
            dotted = ast.unparse(node.func)
            if dotted.endswith(("path.join",)) and all(isinstance(part, str) for part in args):
                return str(Path(*args))
            if dotted.endswith(("path.dirname",)) and args and isinstance(args[0], str):
                return str(Path(args[0]).parent)
            if dotted.endswith(("path.abspath", "path.realpath", "path.normpath")) and args:
                return args[0]
            if dotted.endswith("path.exists") and args and isinstance(args[0], str):
                return self._inside(args[0]) is not None
            if dotted == "re.findall" and len(args) == 2 and all(isinstance(part, str) for part in args):
                return _findall(args[0], args[1])
            if dotted in {"io.open", "codecs.open"}:
                name = "open"
        if name == "open":
            return self._open(args)
        if name in {"Path", "pathlib.Path"} and len(args) == 1 and isinstance(args[0], str):
            return Path(args[0])
        if name in {"list", "tuple", "sorted", "set"} and len(args) == 1:
            items = args[0].lines() if isinstance(args[0], OpenFile) else args[0]
            return list(items) if isinstance(items, (list, tuple, dict, set)) else UNKNOWN
        if name in {"list", "dict"} and not args:
            return [] if name == "list" else {word.arg: self.value(word.value, scope) for word in node.keywords}
        if name in {"str", "print", "len"}:
            return str(args[0]) if name == "str" and args and isinstance(args[0], (str, Path)) else UNKNOWN
        if name in self.functions:
            return self._apply(self.functions[name], args, node, scope)
        return UNKNOWN

    def _apply(self, function: ast.FunctionDef, args: list[Any], node: ast.Call, scope: dict[str, Any]) -> Any:
        if self.depth > 6:
            return UNKNOWN
        parameters = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
        local: dict[str, Any] = dict.fromkeys(parameters, UNKNOWN)
        defaults = function.args.defaults
        for parameter, default in zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True):
            local[parameter] = self.value(default, scope)
        rest = args[len(parameters) :]
        local.update(zip(parameters, args, strict=False))
        if function.args.vararg:
            local[function.args.vararg.arg] = rest
        local.update({word.arg: self.value(word.value, scope) for word in node.keywords if word.arg})
        self.depth += 1
        try:
            self._body(function.body, local)
        except _Return as result:
            return result.value
        finally:
            self.depth -= 1
        return None

    def _path_method(self, held: Path, name: str, args: list[Any]) -> tuple[Any]:
        if name == "joinpath" and all(isinstance(part, str) for part in args):
            return (held.joinpath(*args),)
        if name in {"resolve", "absolute"}:
            return (held,)
        opened = self._open([held]) if name in {"read_text", "open"} else UNKNOWN
        if name == "read_text" and isinstance(opened, OpenFile):
            return (opened.text,)
        return (opened,)

    def _inside(self, name: str) -> Path | None:
        path = (self.folder / name).resolve()
        return path if path.is_file() and path.is_relative_to(self.folder) else None

    def _open(self, args: list[Any]) -> Any:
        if not args or not isinstance(args[0], (str, Path)):
            return UNKNOWN
        if len(args) > 1 and isinstance(args[1], str) and set(args[1]) & set("wax+"):
            return UNKNOWN
        path = self._inside(str(args[0]))
        try:
            return UNKNOWN if path is None else OpenFile(read_text(path, limit=1_000_000, errors="replace"))
        except OSError:
            return UNKNOWN


def _call_name(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and node.func.attr == "setup":
        return "setup"
    return ast.unparse(node.func) if isinstance(node.func, ast.Attribute) else ""


def _findall(pattern: str, text: str) -> Any:
    if len(text) > _MAX_SEARCHED:
        return UNKNOWN  # A pattern of a stranger's may take for ever on a long text.
    try:
        found = re.findall(pattern, text)
    except re.error:
        return UNKNOWN
    return [list(entry) if isinstance(entry, tuple) else entry for entry in found]


def _either(before: Any, first: Any, second: Any) -> Any:
    if isinstance(before, (list, dict)) and first is before and second is before:
        return before  # Changed in place by append and the like: it now holds what either branch adds.
    if isinstance(first, list) and isinstance(second, list):
        return first + [item for item in second if item not in first]
    for known, other in ((first, second), (second, first)):
        if isinstance(known, list) and other is UNKNOWN:
            return known
    return first if first == second else UNKNOWN


def _bound_names(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                held = node.func.value
                if isinstance(held, ast.Name) and node.func.attr in {"append", "extend", "insert", "update"}:
                    names.add(held.id)
    return names
