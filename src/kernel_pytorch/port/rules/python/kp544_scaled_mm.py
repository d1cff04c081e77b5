"""torch._scaled_mm

What: A call of `torch._scaled_mm`, or of `torch.nn.functional.scaled_mm`.
Why: hipBLASLt refuses what cuBLASLt takes: e4m3 times e5m2 on some versions, scales by row before about ROCm 6.3, and
    every operand that is not of the GPU's own 8-bit type. The call then raises HIPBLAS_STATUS_NOT_SUPPORTED.
Fix: On ROCm the call goes to `scaled_mm` of a generated file, `_rocm_fp8.py`. It takes the same arguments, asks
    hipBLASLt, and multiplies dequantised tensors where that is refused (logged once per kind). The change is for
    review: the fallback is slow, and you decide whether it may happen silently. Elsewhere `kpt port PATH --add fp8`
    writes the file.
Source: https://github.com/pytorch/pytorch/pull/117822
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import is_editable, rocm_only_before, statement_of
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.rewrite import GATE
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP544", "scaled-mm", ("python",), Safety.REVIEW, (b"scaled_mm",))

NAMES = ("torch._scaled_mm", "torch.ops.aten._scaled_mm", "torch.nn.functional.scaled_mm")
_TAKEN = frozenset({"scale_a", "scale_b", "bias", "scale_result", "out_dtype", "use_fast_accum"})


def check(module: PythonModule) -> Iterator[Finding]:
    if is_for_other_hardware(module):
        return
    for call in module.calls(*NAMES):
        message = "_scaled_mm is refused by hipBLASLt for some types and scales: no fallback here"
        if not _is_tried(module.parents(call)):
            yield RULE.finding(module.src, module.span(call), message, _edits(module, call))


def _edits(module: PythonModule, call: ast.Call) -> list[Edit]:
    """The call of the adapter on ROCm, an import in front of its statement; none for arguments it does not take."""
    if module.qualified(call.func) != "torch._scaled_mm" or not is_editable(module, call):
        return []
    names = {item.arg for item in call.keywords}
    # Both scales must be there: before torch 2.5 they could be left out, and the result was a pair.
    scales = {"scale_a", "scale_b"} <= names or len(call.args) >= 4
    if not scales or names - _TAKEN or len(call.args) < 2 or any(isinstance(item, ast.Starred) for item in call.args):
        return []
    if _is_unpacked(module, call) or _names_it(module, call):
        return []
    taken = rocm_only_before(module, statement_of(module, call), [b"from ._rocm_fp8 import scaled_mm"])
    if taken is None:
        return []
    text = b"(scaled_mm if " + GATE + b" else " + module.text(call.func) + b")"
    return [taken, Edit(module.span(call.func), text)]


def _is_unpacked(module: PythonModule, call: ast.Call) -> bool:
    """`out, amax = torch._scaled_mm(...)`, as it was before torch 2.5."""
    parent = next(module.parents(call))
    return isinstance(parent, ast.Subscript) or (
        isinstance(parent, ast.Assign) and any(isinstance(target, ast.Tuple) for target in parent.targets)
    )


def _names_it(module: PythonModule, call: ast.Call) -> bool:
    """Whether the file has a `scaled_mm` of its own, which the import would hide."""
    scope = module.scope(call)
    while scope is not None:
        if "scaled_mm" in scope.others or "scaled_mm" in scope.imports:
            return True
        if scope.parent is None:
            return False
        scope = scope.parent
    return False


def _is_tried(parents: Iterator[object]) -> bool:
    """In a `try`: its writer has thought of a refusal."""
    return any(type(parent).__name__ == "Try" for parent in parents)
