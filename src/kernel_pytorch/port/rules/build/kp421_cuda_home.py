"""CUDA_HOME

What: A build that stops, or leaves its extension out, when torch's CUDA_HOME is None; a path made of it; a name that is
    bound only where CUDA_HOME is there and used later.
Why: It is None on ROCm, where torch finds the compiler through ROCM_HOME.
Fix: A question that means "is there a GPU compiler?" is answered with yes on ROCm: `IS_ROCM or CUDA_HOME is not None`,
    `not IS_ROCM and CUDA_HOME is None`, in a condition, an assertion, an assignment or a return. Code that needs the
    CUDA folder itself is left to you: torch's ROCM_HOME has the counterpart, but the folders inside differ.
Source: Dao-AILab/flash-attention#1635; ROCm/DeepEP#1;
    https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.python.cuda_home import (
    HomeQuestion,
    bound_only_with_home,
    folder_uses,
    home_questions,
    is_about_gpu,
    is_home,
    leaves,
    only_talks,
)
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP421", "cuda-home", ("python",), Safety.SAFE, (b"CUDA_HOME", b"CUDA_PATH"))

# Where a question is the whole expression and needs no brackets.
_STAND_ALONE = (ast.If, ast.IfExp, ast.Assert, ast.Assign, ast.Return)
# Functions that only look at a path: beside a question they are part of it.
_LOOKS = frozenset({"os.path.exists", "os.path.isdir", "os.path.isfile", "os.path.islink"})


def check(module: PythonModule) -> Iterator[Finding]:
    for question in home_questions(module):
        if module.reached_on_rocm(question.node) and not _already_gated(module, question.node):
            yield from _answered(module, question)
    yield from _unbound_names(module)
    yield from _folders(module)


def _answered(module: PythonModule, question: HomeQuestion) -> Iterator[Finding]:
    message = _why(module, question)
    if message is None:
        return
    needed = folder_uses(module, question.where_there)
    looks = tuple(node for node in needed if _is_looked_at(module, node))
    if len(looks) < len(needed):
        if any(b"xtension(" in module.text(node) for node in question.where_there if isinstance(node, ast.stmt)):
            message = (
                "CUDA_HOME is None on ROCm: the extension is left out, and the code that builds it uses the CUDA folder"
            )
            yield RULE.finding(module.src, module.span(question.node), message)
        return
    span = _with_looks(module, question, looks)
    text = module.src.data[span.start : span.end]
    text = b"(" + text + b")" if looks else text
    gate = b"IS_ROCM or " if question.present else b"not IS_ROCM and "
    whole = gate + text
    if not isinstance(
        next(module.parents(question.node), None), (ast.If, ast.IfExp, ast.Assert, ast.Assign, ast.Return)
    ):
        whole = b"(" + whole + b")"
    yield RULE.finding(module.src, span, message, [Edit(span, whole)])


def _why(module: PythonModule, question: HomeQuestion) -> str | None:
    """What happens on ROCm as the code stands; None where nothing is lost."""
    if isinstance(question.holder, ast.Assert) or (question.where_not and leaves(question.where_not)):
        return "CUDA_HOME is None on ROCm: the build stops here"
    if isinstance(question.holder, (ast.If, ast.IfExp)):
        both = (*question.where_there, *question.where_not)
        does_something = not only_talks(question.where_there) or not only_talks(question.where_not)
        if does_something and is_about_gpu(module, both) and not _sets_home(module, question.where_not):
            return "CUDA_HOME is None on ROCm: the GPU sources are left out"
        return None
    if isinstance(question.holder, (ast.Assign, ast.AnnAssign, ast.Return)):
        return "CUDA_HOME is None on ROCm: this code then assumes that there is no GPU compiler"
    return None


def _sets_home(module: PythonModule, nodes: tuple[ast.AST, ...]) -> bool:
    """`CUDA_HOME = "/usr/local/cuda"` where it is missing: the code has an answer of its own."""
    stored = (node for top in nodes for node in ast.walk(top) if isinstance(node, ast.Name))
    return any(isinstance(node.ctx, ast.Store) and "HOME" in node.id.upper() for node in stored)


def _is_looked_at(module: PythonModule, node: ast.AST) -> bool:
    """`os.path.isdir(CUDA_HOME)` as an operand of the same condition."""
    for parent in module.parents(node):
        if isinstance(parent, ast.Call) and module.qualified(parent.func) in _LOOKS:
            return isinstance(next(module.parents(parent), None), ast.BoolOp)
        if not isinstance(parent, (ast.Call, ast.BinOp, ast.JoinedStr, ast.FormattedValue)):
            return False
    return False


def _with_looks(module: PythonModule, question: HomeQuestion, looks: tuple[ast.AST, ...]) -> Span:
    """The question, and all that follows it in its condition up to the last look at the folder."""
    span = module.span(question.node)
    if not looks:
        return span
    condition = next(module.parents(question.node))
    assert isinstance(condition, ast.BoolOp)
    last = max(module.span(one).end for one in condition.values if any(node in looks for node in ast.walk(one)))
    return Span(span.start, last)


def _already_gated(module: PythonModule, node: ast.expr) -> bool:
    """Beside a gate in the same condition: `IS_ROCM or CUDA_HOME is not None`."""
    for parent in module.parents(node):
        if isinstance(parent, ast.BoolOp) and any(module.gate_value(item) is not None for item in parent.values):
            return True
        if not isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
            return False
    return False


def _unbound_names(module: PythonModule) -> Iterator[Finding]:
    """A condition on a name that only the CUDA folder's branch binds is false on ROCm, and must not be asked there."""
    names = bound_only_with_home(module)
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id not in names:
            continue
        if not module.reached_on_rocm(node) or _is_below(module, node, names[node.id]):
            continue
        test = _condition_around(module, node)
        message = f"{node.id} is set only where CUDA_HOME exists: NameError on ROCm"
        if test is None:
            yield RULE.finding(module.src, module.span(node), message)
        elif not any(isinstance(one, ast.Name) and one.id in names for one in _before(test, node)):
            span = module.span(test)
            text = module.text(test)
            text = b"(" + text + b")" if isinstance(test, (ast.BoolOp, ast.IfExp, ast.NamedExpr)) else text
            yield RULE.finding(module.src, span, message, [Edit(span, b"not IS_ROCM and " + text)])


def _is_below(module: PythonModule, node: ast.AST, question: ast.AST) -> bool:
    holder = next((one for one in module.parents(question) if isinstance(one, (ast.If, ast.IfExp))), None)
    return holder is not None and any(parent is holder for parent in module.parents(node))


def _condition_around(module: PythonModule, node: ast.AST) -> ast.expr | None:
    child: ast.AST = node
    for parent in module.parents(node):
        if isinstance(parent, ast.If):
            return parent.test if parent.test is child else None
        if isinstance(parent, ast.stmt):
            return None
        child = parent
    return None


def _before(test: ast.expr, node: ast.AST) -> list[ast.AST]:
    """What of a condition comes before a node: one edit is enough for all the names in it."""
    every = list(ast.walk(test))
    return every[: every.index(node)]


def _folders(module: PythonModule) -> Iterator[Finding]:
    """Paths made of CUDA_HOME where nobody asked whether it is there, and environment variables taken for granted."""
    guarded = {
        id(node) for question in home_questions(module) for top in question.where_there for node in ast.walk(top)
    }
    given = {_variable(module, node) for node in ast.walk(module.tree) if _gives_variable(module, node)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and module.reached_on_rocm(node):
            key = _variable(module, node)
            if key in ("CUDA_HOME", "CUDA_PATH") and key not in given:
                message = f"os.environ[{key!r}] raises on ROCm: torch.utils.cpp_extension.ROCM_HOME is the counterpart"
                yield RULE.finding(module.src, module.span(node), message)
        elif is_home(module, node) and id(node) not in guarded and module.reached_on_rocm(node):
            yield from _folder(module, node)


def _takes_none(call: ast.Call) -> bool:
    """`print(CUDA_HOME)`, `"... {}".format(CUDA_HOME)`, `logger.info("%s", CUDA_HOME)`: None is as good as a path."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in ("format", "append", "debug", "info", "warn", "warning", "error", "log")
    return ast.unparse(call.func) in ("print", "bool", "str", "repr", "isinstance")


def _gives_variable(module: PythonModule, node: ast.AST) -> bool:
    """`os.environ["CUDA_HOME"] = folder`, `os.environ.setdefault("CUDA_HOME", folder)`: then it is there to be read."""
    if isinstance(node, ast.Call):
        return module.qualified(node.func) == "os.environ.setdefault" and bool(node.args)
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)


def _variable(module: PythonModule, node: ast.AST) -> str | None:
    """The environment variable that an expression names."""
    name: ast.expr | None = None
    if isinstance(node, ast.Subscript) and module.qualified(node.value) == "os.environ":
        name = node.slice
    elif isinstance(node, ast.Call) and node.args:
        name = node.args[0]
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def _folder(module: PythonModule, node: ast.AST) -> Iterator[Finding]:
    parent = next(module.parents(node), None)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add):
        yield RULE.finding(
            module.src, module.span(parent), "CUDA_HOME is None on ROCm: it cannot be joined to a string"
        )
    elif isinstance(parent, ast.Call) and node in parent.args and not _takes_none(parent):
        message = "CUDA_HOME is None on ROCm: a path made of it raises TypeError"
        yield RULE.finding(module.src, module.span(parent), message)
