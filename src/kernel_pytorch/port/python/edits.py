"""The shapes of edit that keep the NVIDIA text byte for byte: a choice, a gated statement, a statement beside."""

from __future__ import annotations

import ast

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.rewrite import GATE

_NO_PARENTHESES = (ast.keyword, ast.Assign, ast.AnnAssign, ast.Return, ast.List, ast.Tuple, ast.Dict)
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Import, ast.ImportFrom, ast.Assert, ast.Delete)


def is_editable(module: PythonModule, node: ast.AST) -> bool:
    """Whether a gate may be written at a place.

    Not in f-strings (before Python 3.12 the parser does not know where in them a node stands), and not in code that
    something else than Python compiles: Triton and TorchScript refuse a global that is no constant of theirs.
    """
    parents = (node, *module.parents(node))
    return not any(isinstance(parent, ast.JoinedStr) for parent in parents) and compiler_of(module, node) is None


def compiler_of(module: PythonModule, node: ast.AST) -> str | None:
    """What compiles the function around a node ("triton", "torchscript", "numba"), None where Python runs it."""
    child = node
    for parent in module.parents(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and child in parent.body:
            for decorator in parent.decorator_list:
                kind = _compiler(module, decorator)
                if kind is not None:
                    return kind
        child = parent
    return None


def _compiler(module: PythonModule, decorator: ast.expr) -> str | None:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = module.qualified(target) or ""
    if name in ("triton.jit", "triton.runtime.jit.jit") or name.startswith("triton.experimental.gluon"):
        return "triton"
    if name in ("torch.jit.script", "torch.jit.script_if_tracing"):
        return "torchscript"
    return "numba" if name.startswith("numba.") else None


def is_chosen(module: PythonModule, node: ast.expr) -> bool:
    """Whether an expression is a choice by the gate already, or the gate itself."""
    test = node.test if isinstance(node, ast.IfExp) else node
    return module.gate_value(test) is not None


def choice(module: PythonModule, node: ast.expr, on_rocm: bytes) -> Edit:
    """`node` becomes `on_rocm if IS_ROCM else node`; False for True is `not IS_ROCM`."""
    if isinstance(node, ast.Constant) and node.value is True and on_rocm == b"False":
        return Edit(module.span(node), _wrapped(module, node, b"not " + GATE))
    # What a tuple without parentheses holds is taken apart by `if ... else`.
    original = b"(" + module.text(node) + b")" if _is_bare_tuple(module, node) else module.text(node)
    return Edit(module.span(node), _wrapped(module, node, on_rocm + b" if " + GATE + b" else " + original))


def _is_bare_tuple(module: PythonModule, node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Tuple) and bool(node.elts) and module.span(node).start == module.span(node.elts[0]).start
    )


def false_on_rocm(module: PythonModule, test: ast.expr) -> Edit:
    """A condition that ROCm does not meet, and does not evaluate."""
    text = b"not " + GATE + b" and " + _operand(module, test)
    return Edit(module.span(test), _wrapped(module, test, text))


def true_on_rocm(module: PythonModule, test: ast.expr) -> Edit:
    """A condition that ROCm meets, and does not evaluate."""
    return Edit(module.span(test), _wrapped(module, test, GATE + b" or " + _operand(module, test)))


def _operand(module: PythonModule, node: ast.expr) -> bytes:
    text = module.text(node)
    return b"(" + text + b")" if isinstance(node, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)) else text


def _wrapped(module: PythonModule, node: ast.expr, text: bytes) -> bytes:
    parent = next(module.parents(node))
    is_test = isinstance(parent, (ast.If, ast.While, ast.Assert)) and node is parent.test
    is_argument = isinstance(parent, ast.Call) and node in parent.args
    data, span = module.src.data, module.span(node)
    in_own = data[: span.start].rstrip().endswith(b"(") and data[span.end :].lstrip().startswith(b")")
    is_default = isinstance(parent, ast.arguments)
    free = isinstance(parent, _NO_PARENTHESES) or is_test or is_argument or is_default or in_own
    return text if free else b"(" + text + b")"


def statement_of(module: PythonModule, node: ast.AST) -> ast.stmt:
    """The statement a node is part of."""
    return next(item for item in (node, *module.parents(node)) if isinstance(item, ast.stmt))


def stands_alone(module: PythonModule, statement: ast.stmt) -> bool:
    """Whether only white space stands before a statement on its line and only a comment behind, and Python runs it."""
    if compiler_of(module, statement) is not None:
        return False
    span = module.span(statement)
    assert statement.end_lineno is not None
    before = module.src.data[module.line_span(statement.lineno).start : span.start]
    behind = module.src.data[span.end : module.line_span(statement.end_lineno).end].strip()
    return not before.strip() and (not behind or behind.startswith(b"#"))


def gated_statement(module: PythonModule, statement: ast.stmt) -> Edit | None:
    """`if not IS_ROCM:` in front of a simple statement; None where its line holds more than it."""
    if not isinstance(statement, SIMPLE) or not stands_alone(module, statement):
        return None
    indent = module.indent(statement.lineno)
    text = b"if not " + GATE + b":" + module.newline + indent + _step(indent)
    # The statement is replaced, by itself in the end, so that the gate's definition can go right before it.
    return Edit(module.span(statement), text + module.text(statement))


def rocm_twin(module: PythonModule, statement: ast.stmt, on_rocm: bytes) -> Edit | None:
    """`if IS_ROCM: on_rocm else: statement` for a simple statement, whose own text is not touched."""
    if not isinstance(statement, SIMPLE) or not stands_alone(module, statement):
        return None
    indent = module.indent(statement.lineno)
    newline = module.newline
    inner = newline + indent + _step(indent)
    text = b"if " + GATE + b":" + inner + on_rocm + newline + indent + b"else:" + inner
    return Edit(module.span(statement), text + module.text(statement))


def rocm_only_behind(module: PythonModule, statement: ast.stmt, lines: list[bytes]) -> Edit | None:
    """`if IS_ROCM:` with its own lines, behind a statement."""
    assert statement.end_lineno is not None
    if not stands_alone(module, statement):
        return None
    indent = module.indent(statement.lineno)
    at = module.line_span(statement.end_lineno).end
    newline = module.newline
    ends = module.src.data[:at].endswith((b"\n", b"\r"))
    body = b"".join(indent + _step(indent) + line + newline for line in lines)
    return Edit(Span(at, at), (b"" if ends else newline) + indent + b"if " + GATE + b":" + newline + body)


def rocm_only_before(module: PythonModule, statement: ast.stmt, lines: list[bytes]) -> Edit | None:
    """`if IS_ROCM:` with its own lines, in front of a simple statement or a `return`."""
    if not isinstance(statement, (*SIMPLE, ast.Return)) or not stands_alone(module, statement):
        return None
    at = module.line_span(statement.lineno).start
    indent = module.indent(statement.lineno)
    newline = module.newline
    body = b"".join(indent + _step(indent) + text + newline for text in lines)
    return Edit(Span(at, at), indent + b"if " + GATE + b":" + newline + body)


def _step(indent: bytes) -> bytes:
    return b"\t" if indent.endswith(b"\t") else b"    "
