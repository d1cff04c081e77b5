"""TF32 switched on for matrix multiplication

What: `torch.backends.cuda.matmul.allow_tf32 = True`, `torch.set_float32_matmul_precision("high")` (or "medium"),
    `torch.backends.cuda.matmul.fp32_precision = "tf32"`.
Why: seed 000 says the attribute raises AttributeError on ROCm. It does not: it exists. On gfx942 it selects XF32, which
    rounds its sums down, so that the error is biased and grows with the length of the sum; gfx950 and RDNA have no
    such unit and ignore it. Results then differ between AMD GPUs, and from NVIDIA by more than TF32 explains.
Fix: the statement runs only on NVIDIA; on ROCm float32 stays float32. To try XF32 on gfx942, set it there by hand and
    compare with float64. `torch.backends.cudnn.allow_tf32` is left alone: it is True by default and MIOpen ignores it.
Source: seed 000 (pitfalls), catalogue row 109, https://docs.pytorch.org/docs/main/notes/hip.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, gated_statement, is_chosen, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import attribute_settings, constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP540", "tf32", ("python",), Safety.SAFE, (b"allow_tf32", b"float32_matmul_precision", b"fp32_precision"))

FLAG = "torch.backends.cuda.matmul.allow_tf32"
PRECISION = "torch.backends.cuda.matmul.fp32_precision"


def check(module: PythonModule) -> Iterator[Finding]:
    for setting in attribute_settings(module, FLAG, PRECISION):
        off = (False, 0) if setting.name == FLAG else ("ieee", "none", "bfx9")
        if setting.value is None or constant(setting.value) in off or _is_restored(setting.value):
            continue
        if is_chosen(module, setting.value):
            continue
        edit = gated_statement(module, setting.statement)
        if edit is None and isinstance(setting.value, ast.expr) and is_editable(module, setting.value):
            edit = choice(module, setting.value, b"False" if setting.name == FLAG else b'"ieee"')
        message = f"{setting.name.removeprefix('torch.backends.')} selects XF32 on gfx942, whose error grows with K"
        yield RULE.finding(module.src, module.span(setting.statement), message, [edit] if edit else [])
    yield from _precision_calls(module)


def _precision_calls(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls("torch.set_float32_matmul_precision"):
        argument = call.args[0] if call.args else next((item.value for item in call.keywords), None)
        arms = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
        for arm in arms:
            if arm is None or constant(arm) not in ("high", "medium") or not module.reached_on_rocm(arm):
                continue
            message = f'float32 precision "{constant(arm)}" selects XF32 on gfx942, whose error grows with K'
            edits = [choice(module, arm, b'"highest"')] if is_editable(module, arm) else []
            yield RULE.finding(module.src, module.span(arm), message, edits)


def _is_restored(value: ast.expr) -> bool:
    """`... = saved`: code that puts back what it read says nothing about TF32 by itself."""
    words = ("saved", "old", "prev", "orig", "before", "backup")
    return isinstance(value, (ast.Name, ast.Attribute)) and any(word in ast.unparse(value).lower() for word in words)
