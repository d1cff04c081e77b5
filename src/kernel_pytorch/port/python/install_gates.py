"""Gates for a build description that a trial of the install asked for: the least that lets ROCm get past one place.

Each function gives edits that keep the NVIDIA text as it is. Which of them helps is decided by running the install
again, not here.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.python.cuda_home import is_home, leaves
from kernel_pytorch.port.python.edits import (
    choice,
    false_on_rocm,
    gated_statement,
    is_editable,
    statement_of,
    true_on_rocm,
)
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.rewrite import GATE

Place = tuple[int, int, int, int]  # line, column, end line, end column, as `ast` has them
_VENDOR = re.compile(rb"rocm|hip|(?<![a-z])amd(?![a-z])", re.IGNORECASE)
_OURS = re.compile(rb"\bIS_ROCM\b|\b_hip_flags\b|\b_is_rocm\b")
_EXTENSIONS = ("torch.utils.cpp_extension.CUDAExtension", "torch.utils.cpp_extension.CppExtension")
_NOT_CONFIGURING = frozenset({"--build", "--install", "--version", "-E", "-P"})
_CPP_EXTENSION = "torch.utils.cpp_extension.CppExtension"
_CUDA_EXTENSION = b"torch.utils.cpp_extension.CUDAExtension"
_ROCM_HOME = b"torch.utils.cpp_extension.ROCM_HOME"


def gated_condition(module: PythonModule, place: Place, on_cuda: bool, original: bytes) -> Edit | None:
    """The condition at a place, with CUDA's answer on ROCm. None for a choice of vendor, also this port's."""
    node = _expression_at(module, place)
    if node is None or not is_editable(module, node) or is_vendor_choice(module, node, original):
        return None
    if _OURS.search(module.text(node)) and GATE not in original:
        return None  # the opposite answer would undo what the port did here
    return true_on_rocm(module, node) if on_cuda else false_on_rocm(module, node)


def vendor_is_chosen_at(module: PythonModule, place: Place) -> bool:
    """Whether the condition at a place speaks of AMD in its author's words; gates as this port writes them do not."""
    node = _expression_at(module, place)
    return node is not None and is_vendor_choice(module, node, b"")


def is_vendor_choice(module: PythonModule, node: ast.AST, original: bytes) -> bool:
    """Whether a condition speaks of AMD: in itself, in what happens where it does not hold, or in a comment there."""
    holder = next((one for one in (node, *module.parents(node)) if isinstance(one, (ast.IfExp, ast.stmt))), node)
    texts: list[bytes] = []
    for one in (node, holder):
        if isinstance(one, (ast.If, ast.IfExp, ast.While)):
            others = one.orelse if isinstance(one.orelse, list) else [one.orelse]
            texts += [module.text(one.test), *(module.text(other) for other in others)]
        elif isinstance(one, ast.expr):
            texts.append(module.text(one))
    if isinstance(holder, ast.stmt):
        span = module.span(holder)
        texts += re.findall(rb"#[^\r\n]*", module.src.data[span.start : span.end])
    # Gates of this port are not the author's.
    ours = re.compile(rb"(?!)") if GATE in original else _OURS
    return any(_VENDOR.search(ours.sub(b"", text)) for text in texts)


def past_line(module: PythonModule, line: int, original: bytes) -> Iterator[tuple[Edit, ...]]:
    """Ways around a line that raises on ROCm, the least invasive first."""
    statement = _statement_at(module, line)
    if statement is None or not is_editable(module, statement):
        return
    if not module.reached_on_rocm(statement):
        return
    if isinstance(statement, ast.Assert):
        yield (true_on_rocm(module, statement.test),)
    yield from _with_rocms_own(module, statement)
    for holder in _conditions_around(module, statement):
        if not is_vendor_choice(module, holder.test, original):
            yield (false_on_rocm(module, holder.test),)
            if not leaves(tuple(holder.body)):
                yield (true_on_rocm(module, holder.test),)
    gated = gated_statement(module, statement)
    makes_extensions = any(word in module.text(statement) for word in (b"xtension", b"setup("))
    if gated is not None and not makes_extensions:
        yield (gated,)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return)) and isinstance(statement.value, ast.expr):
        for value in (b"None", b"False", b"[]"):
            yield (choice(module, statement.value, value),)


def configured_for_hip(module: PythonModule) -> tuple[Edit, ...]:
    """`-DUSE_HIP=ON` on ROCm in the lists that start CMake's configuration, where the user cannot pass it."""
    if b"CMAKE_ARGS" in module.src.data or b"USE_HIP" in module.src.data:
        return ()
    edits = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.List) or not is_editable(module, node):
            continue
        words = [one.value for one in node.elts if isinstance(one, ast.Constant)]
        if (
            words[:1] == ["cmake"]
            and isinstance(node.elts[0], ast.Constant)
            and not _NOT_CONFIGURING.intersection(words)
        ):
            given = module.text(node)[:-1].rstrip().rstrip(b",")
            edits.append(choice(module, node, given + b', "-DUSE_HIP=ON"]'))
    return tuple(edits)


def hipified_extension(module: PythonModule, line: int) -> tuple[Edit, ...]:
    """CUDAExtension on ROCm, where the CppExtension made on a line has .cu sources."""
    calls = [one for one in module.calls(_CPP_EXTENSION) if one.lineno <= line <= (one.end_lineno or one.lineno)]
    return (choice(module, calls[-1].func, _CUDA_EXTENSION),) if calls else ()


def other_source(module: PythonModule, line: int, source: str, other: str) -> tuple[Edit, ...]:
    """The extension made on a line with another source in the place of one on ROCm, however its list is made."""
    calls = [one for one in module.calls(*_EXTENSIONS) if one.lineno <= line <= (one.end_lineno or one.lineno)]
    if not calls:
        return ()
    given = next((item.value for item in calls[-1].keywords if item.arg == "sources"), None)
    given = given or (calls[-1].args[1] if len(calls[-1].args) > 1 else None)
    if given is None or isinstance(given, ast.Starred) or not is_editable(module, given):
        return ()
    chosen = f"{json.dumps(other)} if str(one).endswith({json.dumps(source)}) else one"
    return (choice(module, given, f"[{chosen} for one in ".encode() + module.text(given) + b"]"),)


def _with_rocms_own(module: PythonModule, statement: ast.stmt) -> Iterator[tuple[Edit, ...]]:
    """ROCm's folder for CUDA's, and HIP's version for CUDA's, wherever the statement names them."""
    edits = []
    for node in _own_expressions(statement):
        if not is_editable(module, node) or not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            continue
        if not isinstance(node.ctx, ast.Load):
            continue
        if is_home(module, node) or _is_home_variable(module, node):
            edits.append(choice(module, node, _ROCM_HOME))
        elif isinstance(node, ast.Attribute) and module.qualified(node) == "torch.version.cuda":
            edits.append(choice(module, node, b"torch.version.hip"))
    if edits:
        yield tuple(edits)


def _is_home_variable(module: PythonModule, node: ast.expr) -> bool:
    """`os.environ["CUDA_HOME"]`."""
    if not isinstance(node, ast.Subscript) or module.qualified(node.value) != "os.environ":
        return False
    return isinstance(node.slice, ast.Constant) and node.slice.value in ("CUDA_HOME", "CUDA_PATH")


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement without those of the statements in its body."""
    waiting: list[ast.AST] = [one for one in ast.iter_child_nodes(statement) if not isinstance(one, ast.stmt)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.ExceptHandler, ast.stmt)):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _conditions_around(module: PythonModule, statement: ast.stmt) -> Iterator[ast.If | ast.While]:
    """The condition that a statement is, or those that lead to it, innermost first."""
    if isinstance(statement, (ast.If, ast.While)):
        yield statement
        return
    for parent in module.parents(statement):
        if isinstance(parent, (ast.If, ast.While)):
            yield parent
        elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return


def _statement_at(module: PythonModule, line: int) -> ast.stmt | None:
    """The innermost statement on a line."""
    found: ast.stmt | None = None
    for node in ast.walk(module.tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node  # inner ones come later
    return found if found is None else statement_of(module, found)


def _expression_at(module: PythonModule, place: Place) -> ast.expr | None:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.expr) and place == (
            node.lineno,
            node.col_offset,
            node.end_lineno,
            node.end_col_offset,
        ):
            return node
    return None
