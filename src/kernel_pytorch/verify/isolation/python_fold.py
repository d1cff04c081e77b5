"""Python: the syntax tree as it runs on NVIDIA, every gate decided and what it shut off removed.

The definitions of gates stay: whether one may be left out of a comparison depends on the other side having it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kernel_pytorch.verify.isolation.python_gates import UNKNOWN, GateValues, dotted

# What Python raises for a source that it, or we, cannot take in: nothing can be ruled out about such a file.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def fold_module(tree: ast.Module, gates: GateValues | None = None) -> ast.Module:
    """The tree on the NVIDIA path. The given tree is changed in place."""
    folder = _Folder(gates or GateValues(tree))
    tree.body = folder.block(tree.body)
    marks = [item for item in tree.body if _is_module_mark(item)]
    if len(marks) == 1 and isinstance(marks[0], ast.Assign) and folder.never_skips(marks[0].value):
        tree.body.remove(marks[0])
    return tree


def _is_module_mark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(item) for item in node.targets] == ["pytestmark"]


class _Folder(ast.NodeTransformer):
    def __init__(self, gates: GateValues) -> None:
        self.gates = gates

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            visited = self.visit(statement)
            if visited is None:
                continue
            out.extend(visited if isinstance(visited, list) else [visited])
            if out and isinstance(out[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                break  # what follows is dead: an `else` that a gate turned into the rest of the block
        return out

    def never_skips(self, node: ast.expr) -> bool:
        """`pytest.mark.skipif(is_rocm(), ...)` and `xfail`: on NVIDIA they mark nothing."""
        if not isinstance(node, ast.Call) or not node.args:
            return False
        # The visit before may have made the condition a constant.
        value = self.gates.value(node.args[0])
        return (dotted(node.func) or "") in ("pytest.mark.skipif", "pytest.mark.xfail") and value in (False, None)

    def _decorators(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        return [self.visit(item) for item in nodes if not self.never_skips(item)]

    def _body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return self.block(statements) or [ast.Pass()]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A variable that holds a gate's value is that value: `f(use_aiter)` and `f(False)` are the same on NVIDIA."""
        if isinstance(node.ctx, ast.Load) and node.id in self.gates.local:
            value = self.gates.local[node.id]
            assert value is None or isinstance(value, bool)
            return ast.copy_location(ast.Constant(value), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Name) and target.id in self.gates.local:
            return None
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        known = self.gates.value(node.test)
        if known is not UNKNOWN:
            return self.block(node.body if known else node.orelse) or None
        node.test = self.visit(node.test)
        node.body = self._body(node.body)
        node.orelse = self.block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        known = self.gates.value(node.test)
        if known is not UNKNOWN:
            kept: ast.AST = self.visit(node.body if known else node.orelse)
            return kept
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`f(**({"a": 1} if IS_ROCM else {}))` is `f()`."""
        self.generic_visit(node)
        node.keywords = [one for one in node.keywords if one.arg is not None or not _is_empty(one.value)]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`fused=not IS_ROCM` is `fused=True`."""
        known = self.gates.value(node)
        return ast.copy_location(ast.Constant(known), node) if isinstance(known, bool) else self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        is_and = isinstance(node.op, ast.And)
        values: list[ast.expr] = []
        for item in node.values:
            known = self.gates.value(item)
            if known is UNKNOWN:
                values.append(self.visit(item))
            elif bool(known) is not is_and:
                values.append(item if not isinstance(known, bool) else ast.Constant(known))
                break  # decides: nothing behind it is evaluated
        if not values:
            return ast.Constant(is_and)
        if len(values) == 1:
            return values[0]
        node.values = values
        return node

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt] | None:
        known = self.gates.value(node.test)
        if known is not UNKNOWN and not known:
            return self.block(node.orelse) or None
        node.test = self.visit(node.test)
        node.body, node.orelse = self._body(node.body), self.block(node.orelse)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.decorator_list = self._decorators(node.decorator_list)
        node.args = self.visit(node.args)
        node.returns = self.visit(node.returns) if node.returns else None
        node.body = self._body(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = self._decorators(node.decorator_list)
        node.bases = [self.visit(item) for item in node.bases]
        node.keywords = [self.visit(item) for item in node.keywords]
        node.body = self._body(node.body)
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        node.items = [self.visit(item) for item in node.items]
        node.body = self._body(node.body)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        node.body, node.orelse = self._body(node.body), self.block(node.orelse)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        node.body = self._body(node.body)
        for handler in node.handlers:
            handler.body = self._body(handler.body)
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        return node


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict) and not node.keys
