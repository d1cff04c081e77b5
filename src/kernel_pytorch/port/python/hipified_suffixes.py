"""Lets torch's hipify read a project's headers whatever they are called: it leaves `.inl` and `.inc` files alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.rewrite import GATE

# What `torch.utils.hipify.hipify_python.hipify` reads if nobody says otherwise, in torch 2.0 to 2.13.
HEADERS = (".cuh", ".h", ".hpp")
READ = (".cu", ".cuh", ".c", ".cc", ".cpp", ".h", ".in", ".hpp")
_TOLD = b"hipify_python.hipify = functools.partial"
_EXTENSIONS = tuple(f"torch.utils.cpp_extension.{name}" for name in ("CUDAExtension", "CppExtension", "load"))


def unread_suffixes(headers: Iterable[str]) -> tuple[str, ...]:
    """The ends of file names that hipify does not read, in order. A name without one cannot be told to hipify."""
    ends = {PurePosixPath(header).suffix for header in headers}
    return tuple(sorted(one for one in ends if one not in READ and re.fullmatch(r"\.\w+", one)))


def with_suffixes(module: PythonModule, suffixes: Sequence[str]) -> tuple[Edit, ...]:
    """hipify is told to read more files, on ROCm, before the first statement that makes an extension.

    Nothing where a port did so before, or where no extension is made by its name.
    """
    holders = {module_statement(module, call) for call in module.calls(*_EXTENSIONS)}
    if not holders or _TOLD in module.src.data:
        return ()
    first = min(holders, key=lambda one: one.lineno)
    decorators = first.decorator_list if isinstance(first, (ast.FunctionDef, ast.ClassDef)) else []
    at = module.line_span(min([first.lineno, *(one.lineno for one in decorators)])).start
    lines = (
        b"if " + GATE + b":",
        b"    # torch's hipify reads files with these names, and leaves others as they are unless it is told.",
        b"    import functools",
        b"",
        b"    from torch.utils.hipify import hipify_python",
        b"",
        b"    " + _TOLD + b"(",
        b"        hipify_python.hipify,",
        b"        extensions=" + _tuple((*READ, *suffixes)) + b",",
        b"        header_extensions=" + _tuple((*HEADERS, *suffixes)) + b",",
        b"    )",
    )
    return (Edit(Span(at, at), module.newline.join((*lines, b"", b""))),)


def module_statement(module: PythonModule, node: ast.AST) -> ast.stmt:
    """The statement of the module's own body that a node is part of."""
    return next(one for one in (node, *module.parents(node)) if isinstance(one, ast.stmt) and one in module.tree.body)


def _tuple(suffixes: Sequence[str]) -> bytes:
    return ("(" + ", ".join(f'"{one}"' for one in suffixes) + ")").encode()
