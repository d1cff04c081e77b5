"""CUDA source in a string of a Python file, which torch's load_inline, cupy or NVRTC compile while the program runs."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from kernel_pytorch.port.cxx.kernel_strings import DEVICE_FUNCTION, KernelString
from kernel_pytorch.port.python.module import PythonModule

MARKS = (b"__global__", b"__device__")
_HOLE = "kpt_hole"  # what an f-string puts in is not known here


def kernel_strings(module: PythonModule) -> Iterator[KernelString]:
    """The strings with device functions, wherever ROCm gets to. Docstrings and other bare strings compile nothing."""
    if not any(mark in module.src.data for mark in MARKS):
        return
    for node in ast.walk(module.tree):
        if not isinstance(node, (ast.Constant, ast.JoinedStr)):
            continue
        parent = next(module.parents(node), None)
        if isinstance(parent, (ast.Expr, ast.JoinedStr)) or not module.reached_on_rocm(node):
            continue
        text = _value(node)
        if text is not None and DEVICE_FUNCTION.search(text):
            yield KernelString(text, tuple(_lines(module, node, text)))


def _value(node: ast.Constant | ast.JoinedStr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return "".join(str(part.value) if isinstance(part, ast.Constant) else _HOLE for part in node.values)


def _lines(module: PythonModule, node: ast.expr, text: str) -> Iterator[int]:
    """The line of the file for each line of the text, from the quotes that it is written in."""
    last = node.end_lineno or node.lineno
    count = text.count("\n") + 1
    if last - node.lineno + 1 == count:  # one string in triple quotes, as written
        yield from range(node.lineno, last + 1)
        return
    lines = list(_lines_of_quotes(module.text(node).decode("utf-8", "replace"), node.lineno))
    lines = lines[:count]
    yield from lines
    yield from [lines[-1] if lines else node.lineno] * (count - len(lines))


def _lines_of_quotes(source: str, first: int) -> Iterator[int]:
    """The same for strings side by side, each with line ends of its own: the line that each line of text begins in."""
    try:
        quoted = [
            one for one in tokenize.generate_tokens(io.StringIO(f"({source})").readline) if one.type == tokenize.STRING
        ]
    except (tokenize.TokenError, SyntaxError):
        return
    is_fresh = True  # whether the next quoted text begins a line
    for one in quoted:
        value = ast.literal_eval(one.string) if not re.match(r"\w*[fF]", one.string) else one.string
        if not isinstance(value, str):
            return
        as_written = one.string.count("\n") == value.count("\n")
        for number in range(value.count("\n") + 1):
            if number or is_fresh:
                yield first + one.start[0] - 1 + (number if as_written else 0)
        is_fresh = False
