"""Puts a file's edits in, and the gate they speak of.

Rules write `IS_ROCM` into their edits and nothing else; whether the file already has it, and where its definition has
to stand, is decided here once for all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.python.module import PythonModule

GATE = b"IS_ROCM"
DEFINITION = b'IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None'
# Where torch must not be imported yet, because an environment variable is about to be set for it, its files tell.
DEFINITION_WITHOUT_TORCH = b"""\
def _is_rocm():
    from importlib.util import find_spec
    from pathlib import Path

    torch = find_spec("torch")
    return bool(torch and torch.origin and (Path(torch.origin).parent / "lib" / "libtorch_hip.so").is_file())


IS_ROCM = _is_rocm()"""


def gate_edits(module: PythonModule, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The edit that defines the gate, where the given edits use it and the file does not define it."""
    if not any(GATE in edit.text for edit in edits) or _defines_gate(module):
        return ()
    first_use = min(edit.span.start for edit in edits if GATE in edit.text)
    line, needs_import = _place(module, first_use)
    behind = line or _leading_imports(module, first_use)
    at = module.line_span(behind).end if behind else _after_docstring(module)
    newline = module.newline
    before = b"" if at == 0 or module.src.data[:at].endswith((b"\n", b"\r")) else newline
    definition = b"import torch\n\n" + DEFINITION if needs_import else DEFINITION
    if line == 0:
        definition = b"\n" + DEFINITION_WITHOUT_TORCH  # two lines above a function
    definition = definition.replace(b"\n", newline)
    text = before + newline + definition + newline
    if at == 0:
        text = text.lstrip(b"\r\n") + newline  # a file starts with no empty lines
    return (Edit(Span(at, at), text),)


def _defines_gate(module: PythonModule) -> bool:
    scope = module.scope(module.tree)
    return GATE.decode() in scope.others or GATE.decode() in scope.imports


def _place(module: PythonModule, first_use: int) -> tuple[int, bool]:
    """The line behind which the definition goes, and whether it needs `import torch`; line 0: no torch before use."""
    last_import = 0
    has_torch = False
    loads_torch = False
    for statement in module.tree.body:
        if module.span(statement).start >= first_use:
            break
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and statement.end_lineno:
            last_import = statement.end_lineno
            has_torch = has_torch or _binds_torch(statement)
            loads_torch = loads_torch or _loads_torch(statement)
        elif isinstance(statement, (ast.If, ast.Try)) and _always_binds_torch([statement]):
            last_import, has_torch = statement.end_lineno or last_import, True
        elif not _is_docstring(statement) and (has_torch or loads_torch):
            break  # the leading block of imports ends here: a gate in mid-file is hard to find
    return (last_import, not has_torch) if has_torch or loads_torch else (0, False)


def _leading_imports(module: PythonModule, first_use: int) -> int:
    """The last line of the imports a file starts with: a function above them would make linters speak."""
    last = 0
    for statement in module.tree.body:
        is_import = isinstance(statement, (ast.Import, ast.ImportFrom))
        if module.span(statement).start >= first_use or not (is_import or _is_docstring(statement)):
            break
        last = (statement.end_lineno or 0) if is_import else last
    return last


def _binds_torch(node: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(node, ast.Import) and any(
        alias.name.split(".")[0] == "torch" and alias.asname in (None, "torch") for alias in node.names
    )


def _always_binds_torch(body: Sequence[ast.stmt]) -> bool:
    """Whether `torch` is bound behind these statements, unless they raise: a setup.py checks for torch before it
    imports it."""
    return any(
        (isinstance(one, (ast.Import, ast.ImportFrom)) and _binds_torch(one))
        or isinstance(one, ast.Raise)
        or (isinstance(one, ast.If) and _always_binds_torch(one.body) and _always_binds_torch(one.orelse))
        or (
            isinstance(one, ast.Try)
            and _always_binds_torch([*one.body, *one.orelse])
            and all(_always_binds_torch(handler.body) for handler in one.handlers)
        )
        for one in body
    )


def _loads_torch(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "torch" for alias in node.names)
    return not node.level and (node.module or "").split(".")[0] == "torch"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _after_docstring(module: PythonModule) -> int:
    """Behind the docstring and `from __future__`, which must come first; behind a shebang and coding line."""
    at = 0
    for statement in module.tree.body:
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (_is_docstring(statement) or future) or statement.end_lineno is None:
            break
        at = module.line_span(statement.end_lineno).end
    if at:
        return at
    data = module.src.data
    line = 1
    while (span := module.line_span(line)).end > span.start and data[span.start : span.end].lstrip().startswith(b"#"):
        at = span.end
        line += 1
        if span.end == len(data):
            break
    return at
