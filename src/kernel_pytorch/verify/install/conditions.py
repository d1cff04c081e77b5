"""Compiles a build description so that every condition of it notes the answers it gives. Used by the worker only.

The two runs of a build description are then compared condition by condition: the ones that answer differently on CUDA
and on ROCm decide what is lost.
"""

from __future__ import annotations

import ast
import builtins
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

_NOTE = "__kpt_note__"
# A condition's place: file, line, column, end line, end column.
_Place = tuple[str, int, int, int, int]


class ConditionNotes:
    """The answers of every condition that was asked, in the files for which `is_inside` holds."""

    def __init__(self, is_inside: Any) -> None:
        self._is_inside = is_inside
        self._places: list[tuple[_Place, str]] = []
        self._answers: dict[int, list[bool]] = {}

    def install(self) -> None:
        """Note the conditions of every module of the project that is imported from now on."""
        setattr(builtins, _NOTE, self._note)
        plain = SourceFileLoader.source_to_code

        def source_to_code(loader: Any, data: Any, path: Any, **options: Any) -> Any:
            if isinstance(data, bytes) and self._is_inside(str(path)):
                return self.compiled(data, str(path))
            return plain(loader, data, path, **options)

        SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign,assignment]

    def compiled(self, source: bytes, file: str) -> CodeType:
        """The code of a file. One that cannot be taken apart is compiled as it is."""
        try:
            tree = _Noting(self, file).visit(ast.parse(source, file))
            return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
        except (RecursionError, ValueError):
            return compile(source, file, "exec", dont_inherit=True)

    def number(self, file: str, node: ast.expr, kind: str) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        place = (file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        self._places.append((place, kind))
        return len(self._places) - 1

    def _note(self, number: int, value: Any) -> Any:
        kind = self._places[number][1]
        if kind != "flag" or isinstance(value, bool):
            try:
                answer = bool(value)
            except Exception:  # the project's own code gets to see it, at the same place
                return value
            answers = self._answers.setdefault(number, [])
            if answer not in answers:
                answers.append(answer)
        return value

    def asked(self) -> list[tuple[_Place, str, list[bool]]]:
        """Every condition that was asked, with its answers."""
        return [(*self._places[number], sorted(answers)) for number, answers in sorted(self._answers.items())]


class _Noting(ast.NodeTransformer):
    """Puts every condition into a call that notes its value and gives it back.

    Kinds: "test" decides a statement or an expression, "operand" is part of one, "flag" is any value that is assigned,
    returned or passed by name, and noted where it is True or False.
    """

    def __init__(self, notes: ConditionNotes, file: str) -> None:
        self.notes = notes
        self.file = file

    def _noted(self, node: ast.expr, kind: str) -> ast.expr:
        if isinstance(node, ast.Constant):
            return node
        number = self.notes.number(self.file, node, kind)
        inner: ast.expr = self.visit(node)
        call = ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(number), inner], [])
        return ast.copy_location(call, node)

    def visit(self, node: ast.AST) -> Any:
        """By kind of node: more than one kind is noted in the same way."""
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            return self._test(node)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.keyword)):
            return self._value(node)
        return super().visit(node)

    def _test(self, node: Any) -> Any:
        node.test = self._noted(node.test, "test")
        for name, value in ast.iter_fields(node):
            if name == "test":
                continue
            if isinstance(value, list):
                setattr(node, name, [self.visit(item) for item in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self._noted(item, "operand" if item is not node.values[-1] else "flag") for item in node.values]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        node.ifs = [self._noted(item, "test") for item in node.ifs]
        return node

    def _value(self, node: Any) -> Any:
        if node.value is not None:
            node.value = self._noted(node.value, "flag")
        return node
