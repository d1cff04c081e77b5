"""CUDA's libraries in an extension

What: `libraries=["cublas", "cudart"]` or `extra_ldflags=["-lcuda"]` of an extension, and what is put into a list that
    is passed there by its name: `libs.append("nccl")`, `libs += ["cublas"]`.
Why: The linker does not find them on ROCm. torch renames sources, not these lists.
Fix: The gate chooses the list: HIP's libraries on ROCm (hipcc links the runtime itself), the original elsewhere. kpt
    names a library without a counterpart of the same interface and leaves it to you.
Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py (what torch links itself);
    port/tables/libraries.csv (the libraries of ROCm 7.2).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files.nvcc_flags import libraries
from kernel_pytorch.port.python.edits import choice, gated_statement, is_editable, statement_of
from kernel_pytorch.port.python.extension_calls import list_text, words_of
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

KEYWORDS = ("libraries", "extra_ldflags", "extra_link_args")
RULE = Rule("KP422", "extension-libraries", ("python",), Safety.SAFE, tuple(name.encode() for name in KEYWORDS))

_MODULE = "torch.utils.cpp_extension."
CALLS = (
    *(_MODULE + name for name in ("CUDAExtension", "CppExtension", "load", "load_inline")),
    "setuptools.Extension", "setuptools.extension.Extension", "distutils.core.Extension",
)  # fmt: skip


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    for call in module.calls(*CALLS):
        for keyword in call.keywords:
            if keyword.arg not in KEYWORDS:
                continue
            prefix = "" if keyword.arg == "libraries" else "-l"
            for value in _parts(module, keyword.value, set()):
                if id(value) not in seen and module.reached_on_rocm(value) and not is_rocm_branch(module, value):
                    seen.add(id(value))
                    yield from _of_value(module, value, prefix)


def _of_value(module: PythonModule, value: ast.expr, prefix: str) -> Iterator[Finding]:
    """A list of strings, or one string that is appended to a list."""
    is_one = isinstance(value, ast.Constant)
    words = [str(value.value)] if isinstance(value, ast.Constant) else words_of(value)
    if words is None or not is_editable(module, value):
        return
    rows = {word: libraries().get(word.removeprefix(prefix)) for word in words if word.startswith(prefix)}
    known = {word: row for word, row in rows.items() if row is not None}
    if not known:
        return
    span, text = module.span(value), module.text(value)
    missing = [f"{word} ({row.note})" for word, row in known.items() if row.hip == "?"]
    if missing:
        yield RULE.finding(module.src, span, f"libraries that ROCm does not have: {', '.join(missing)}")
        return
    kept = [word for word in words if word not in known or known[word].hip]
    hip = [prefix + known[word].hip if word in known else word for word in kept]
    if hip == words:
        return
    listed = list_text(hip, text)
    edit = choice(module, value, listed[1:-1] if is_one else listed)
    if is_one and not hip:
        gated = gated_statement(module, statement_of(module, value))
        if gated is None:
            yield RULE.finding(module.src, span, f"links CUDA's libraries: {', '.join(known)}")
            return
        edit = gated
    yield RULE.finding(module.src, span, f"links CUDA's libraries: {', '.join(known)}", [edit])


def _parts(module: PythonModule, value: ast.expr, names: set[str]) -> Iterator[ast.expr]:
    """The lists that a value is put together from, also by its name, and the strings that are appended to them."""
    if isinstance(value, (ast.List, ast.Tuple)):
        yield value
    elif isinstance(value, ast.BinOp):
        yield from _parts(module, value.left, names)
        yield from _parts(module, value.right, names)
    elif isinstance(value, ast.IfExp):
        yield from _parts(module, value.body, names)
        yield from _parts(module, value.orelse, names)
    elif isinstance(value, ast.Name) and value.id not in names:
        names.add(value.id)
        for node in ast.walk(module.tree):
            yield from _put_into(module, node, value.id, names)


def _put_into(module: PythonModule, node: ast.AST, name: str, names: set[str]) -> Iterator[ast.expr]:
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            yield from _parts(module, node.value, names)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        holder, last = node.func.value, node.args[-1]
        if not isinstance(holder, ast.Name) or holder.id != name:
            return
        if node.func.attr in ("append", "insert") and isinstance(last, ast.Constant) and isinstance(last.value, str):
            yield last
        elif node.func.attr == "extend":
            yield from _parts(module, last, names)
