"""Questions about torch's CUDA_HOME in a build file: which there are, and what hangs on each.

torch's CUDA_HOME is None on ROCm, where ROCM_HOME takes its place. Code asks for it in two senses: "is there a GPU
compiler?", which ROCm can answer with yes, and "where is CUDA?", which it cannot answer at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kernel_pytorch.port.python.extension_calls import CUDA_HOME
from kernel_pytorch.port.python.module import PythonModule

_LEAVES = (ast.Raise, ast.Return)
_EXITS = ("sys.exit", "exit", "quit", "os._exit")
_TALK = ("print", "warn", "warning", "info", "error", "debug", "write")
_ABOUT_GPU = (b"xtension", b"cuda", b"CUDA", b"nvcc", b"NVCC", b"gpu", b"GPU", b".cu")


@dataclass(frozen=True, eq=False)
class HomeQuestion:
    """One place that asks whether CUDA_HOME is there. `present` is true where the answer "yes" makes it true."""

    node: ast.expr
    present: bool
    holder: ast.AST  # the statement or conditional expression that the answer decides
    where_there: tuple[ast.AST, ...]  # what runs only where CUDA_HOME is there
    where_not: tuple[ast.AST, ...]  # what runs only where it is not


def home_questions(module: PythonModule) -> Iterator[HomeQuestion]:
    """Every question, in the order of the file."""
    for node in ast.walk(module.tree):
        present = _asks(module, node)
        if present is not None:
            assert isinstance(node, ast.expr)
            yield _question(module, node, present)


def is_home(module: PythonModule, node: ast.AST) -> bool:
    """Whether an expression is torch's CUDA_HOME, by whatever name it was imported."""
    return isinstance(node, (ast.Name, ast.Attribute)) and module.qualified(node) == CUDA_HOME


def folder_uses(module: PythonModule, nodes: Iterator[ast.AST] | tuple[ast.AST, ...]) -> tuple[ast.AST, ...]:
    """Where the folder itself is used below some nodes: CUDA_HOME in any place that is not a question."""
    found = []
    for top in nodes:
        for node in ast.walk(top):
            if is_home(module, node) and not _is_asked(module, node) and not isinstance(node.ctx, ast.Store):  # type: ignore[attr-defined]
                found.append(node)
    return tuple(found)


def leaves(nodes: tuple[ast.AST, ...]) -> bool:
    """Whether some statements stop the build or the function."""
    return any(
        isinstance(node, _LEAVES) or (isinstance(node, ast.Call) and ast.unparse(node.func) in _EXITS)
        for top in nodes
        for node in ast.walk(top)
    )


def only_talks(nodes: tuple[ast.AST, ...]) -> bool:
    """Whether some statements do nothing but print or log."""
    return all(
        isinstance(node, ast.Pass)
        or (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func).rpartition(".")[2] in _TALK
        )
        for node in nodes
    )


def is_about_gpu(module: PythonModule, nodes: tuple[ast.AST, ...]) -> bool:
    """Whether some code speaks of extensions, CUDA or GPUs."""
    texts = [module.text(node) for node in nodes if isinstance(node, (ast.expr, ast.stmt))]
    return any(word in text for text in texts for word in _ABOUT_GPU)


@lru_cache(maxsize=1)
def bound_only_with_home(module: PythonModule) -> dict[str, ast.AST]:
    """Names that are bound nowhere but where CUDA_HOME is there, and the question that decides it."""
    inside: dict[str, ast.AST] = {}
    counted: dict[str, int] = {}
    for question in home_questions(module):
        for top in question.where_there:
            for name in _bound(top):
                inside.setdefault(name, question.node)
                counted[name] = counted.get(name, 0) + 1
    every: dict[str, int] = {}
    for name in _bound(module.tree):
        every[name] = every.get(name, 0) + 1
    return {name: node for name, node in inside.items() if every.get(name) == counted[name]}


def _bound(top: ast.AST) -> Iterator[str]:
    for node in ast.walk(top):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _asks(module: PythonModule, node: ast.AST) -> bool | None:
    """True for "is it there", False for "is it missing", None for anything else."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and is_home(module, node.left):
        right = node.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)):
                return True
            if isinstance(node.ops[0], (ast.Is, ast.Eq)):
                return False
    return True if is_home(module, node) and _is_truth_test(module, node) else None


def _is_asked(module: PythonModule, node: ast.AST) -> bool:
    parent = next(module.parents(node), None)
    return _asks(module, node) is not None or (parent is not None and _asks(module, parent) is not None)


def _is_truth_test(module: PythonModule, node: ast.AST) -> bool:
    parent = next(module.parents(node), None)
    if isinstance(parent, (ast.If, ast.IfExp, ast.While, ast.Assert)):
        return parent.test is node
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id == "bool"
    return isinstance(parent, ast.BoolOp) and _is_condition(module, parent)


def _is_condition(module: PythonModule, node: ast.BoolOp) -> bool:
    """`A and B` as a condition, not as a value: `home = CUDA_HOME or "/usr/local/cuda"` is a value."""
    child: ast.AST = node
    for parent in module.parents(node):
        if isinstance(parent, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            return parent.test is child
        if not isinstance(parent, (ast.BoolOp, ast.UnaryOp, ast.NamedExpr)):
            return False
        child = parent
    return False


def _question(module: PythonModule, node: ast.expr, present: bool) -> HomeQuestion:
    child: ast.AST = node
    true_when_there = present
    after: list[ast.AST] = []  # later operands of an `and`: they run only where the question came out true
    for parent in module.parents(node):
        if isinstance(parent, ast.BoolOp):
            later = parent.values[parent.values.index(child) + 1 :]  # type: ignore[arg-type]
            if isinstance(parent.op, ast.And) is true_when_there:
                after += later
        elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            true_when_there = not true_when_there
        elif isinstance(parent, (ast.If, ast.IfExp)) and parent.test is child:
            body = tuple(parent.body) if isinstance(parent, ast.If) else (parent.body,)
            other = tuple(parent.orelse) if isinstance(parent, ast.If) else (parent.orelse,)
            there, not_there = (body, other) if true_when_there else (other, body)
            return HomeQuestion(node, present, parent, (*after, *there), not_there)
        elif isinstance(parent, ast.stmt):
            return HomeQuestion(node, present, parent, tuple(after), ())
        child = parent
    return HomeQuestion(node, present, module.tree, tuple(after), ())
