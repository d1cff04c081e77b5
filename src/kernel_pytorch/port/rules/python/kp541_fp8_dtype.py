"""float8_e4m3fn on a GPU whose 8-bit float is another one

What: `torch.float8_e4m3fn` or `torch.float8_e5m2` as the type of a new tensor or a cast.
Why: gfx940, gfx941 and gfx942 (MI300) multiply e4m3fnuz and e5m2fnuz only: other bias, one NaN, no infinity, largest
    value 240 for 448. gfx950 and gfx12 have the OCP types. MI200 and RDNA3 have none. Seed 000 names gfx942 and gfx950.
Fix: the type follows the architecture, asked when the code runs (never at import, which would start HIP before a
    worker has chosen its device). For review, because a checkpoint's bytes keep their own type: see KP543. Tests of
    a dtype and tables of dtypes are reported: both types have to be in them.
Source: seed 000 (phase 1, pitfalls), catalogue row 131.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import compiler_of, is_editable
from kernel_pytorch.port.python.fp8 import FNUZ, IS_FNUZ_GPU, casts_to, is_deferred, is_of_nvidia_alone
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP541", "fp8-dtype", ("python",), Safety.REVIEW, (b"float8_e4m3fn", b"float8_e5m2"))


def check(module: PythonModule) -> Iterator[Finding]:
    if is_for_other_hardware(module) or is_of_nvidia_alone(module):
        return
    seen: set[int] = set()
    named: list[ast.expr] = []
    for node in all_nodes(module):
        if not isinstance(node, (ast.Attribute, ast.Name)) or not isinstance(node.ctx, ast.Load):
            continue
        name = module.qualified(node)
        if name not in FNUZ or not module.reached_on_rocm(node) or _knows_fnuz(module, node):
            continue
        if compiler_of(module, node) == "torchscript" or id(node) in seen:
            continue
        seen.add(id(node))
        kind = name.removeprefix("torch.")
        if not casts_to(module, node):
            if _place(module, node) is not None:
                named.append(node)
            continue
        message = f"{kind} is not what MI300 (gfx94x) multiplies: {FNUZ[name].decode().removeprefix('torch.')} is"
        edits = []
        if is_editable(module, node) and is_deferred(module, node):
            text = b"(" + FNUZ[name] + b" if " + IS_FNUZ_GPU + b" else " + module.text(node) + b")"
            edits.append(Edit(module.span(node), text))
        yield RULE.finding(module.src, module.span(node), message, edits)
    if named:
        # Once for a file: whoever adds the other type goes through all of them.
        named.sort(key=lambda node: (node.lineno, node.col_offset))
        first = named[0]
        more = f", and {len(named) - 1} more places know" if len(named) > 1 else " knows"
        message = f"{_place(module, first)}{more} only the OCP type: MI300 has the fnuz one"
        yield RULE.finding(module.src, module.span(first), message)


def _place(module: PythonModule, node: ast.expr) -> str | None:
    parent = next(module.parents(node))
    if isinstance(parent, ast.Compare):
        return "a test of the dtype"
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
        return "a list of dtypes"
    if isinstance(parent, ast.Dict):
        return "a table of dtypes"
    is_default = isinstance(parent, ast.arguments)
    return "a default or constant" if is_default or isinstance(parent, (ast.Assign, ast.AnnAssign)) else None


def _knows_fnuz(module: PythonModule, node: ast.expr) -> bool:
    """Somewhere in the same statement the other type is spoken of: its writer has thought of AMD."""
    for parent in module.parents(node):
        if isinstance(parent, ast.stmt):
            return not isinstance(parent, (ast.FunctionDef, ast.ClassDef)) and b"fnuz" in module.text(parent)
    return False
