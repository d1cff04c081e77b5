"""448 as the largest 8-bit float

What: The number 448 in a file that uses `float8_e4m3fn`.
Why: 448 is the largest e4m3fn. The e4m3fnuz of MI300 (gfx94x) ends at 240, so values scaled to 448 come out as NaN.
Fix: 240 on gfx94x, 448 elsewhere. `torch.finfo(dtype).max` is right for any type, and new code should use it. The
    change is for review, together with KP541: the number must follow the type.
Source: https://rocm.docs.amd.com/projects/HIP/en/docs-6.3.3/reference/fp8_numbers.html;
    torch.finfo(torch.float8_e4m3fnuz).max, torch 2.13
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import compiler_of, is_editable
from kernel_pytorch.port.python.fp8 import IS_FNUZ_GPU, is_deferred, is_ocp_by_definition
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP542", "fp8-max", ("python",), Safety.REVIEW, (b"448",))

_SIGNS = (b"e4m3", b"float8", b"fp8", b"FP8")


def check(module: PythonModule) -> Iterator[Finding]:
    if not any(sign in module.src.data for sign in _SIGNS):
        return
    if is_for_other_hardware(module) or is_ocp_by_definition(module):
        return
    for node in all_nodes(module):
        is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        if not is_number or not isinstance(node, ast.Constant) or node.value != 448:
            continue
        if not module.reached_on_rocm(node) or not _is_about_fp8(module.src.data, node.lineno, node.value):
            continue
        if _follows_the_gpu(module, node) or _is_listed(module, node):
            continue
        message = "448 is the largest e4m3fn; MI300's e4m3fnuz ends at 240"
        if compiler_of(module, node) == "triton":
            message += ": pass the limit in from the host"
        edits = []
        if is_editable(module, node) and is_deferred(module, node):
            text = b"(240.0 if " + IS_FNUZ_GPU + b" else " + module.text(node) + b")"
            edits.append(Edit(module.span(node), text))
        yield RULE.finding(module.src, module.span(node), message, edits)


def _is_about_fp8(data: bytes, line: int, value: object) -> bool:
    """448.0 is hardly anything else; the integer (an image is 448 wide) needs a word near it."""
    if isinstance(value, float):
        return True
    near = data.splitlines()[max(0, line - 3) : line + 2]
    return any(sign in text for sign in _SIGNS for text in near)


def _is_listed(module: PythonModule, node: ast.AST) -> bool:
    """Among other constants in a list or table: test values, or the description of a format."""
    parents = list(module.parents(node))
    display = next((item for item in parents[:2] if isinstance(item, (ast.List, ast.Tuple, ast.Set))), None)
    if display is None or len(display.elts) < 2:
        return False
    plain = (item.operand if isinstance(item, ast.UnaryOp) else item for item in display.elts)
    return all(isinstance(item, ast.Constant) for item in plain)


def _follows_the_gpu(module: PythonModule, node: ast.AST) -> bool:
    """Under a test that speaks of AMD's type or target: its writer has thought of it."""
    tests = (ast.unparse(item.test) for item in module.parents(node) if isinstance(item, (ast.If, ast.IfExp)))
    return any("gfx" in test or "fnuz" in test for test in tests)
