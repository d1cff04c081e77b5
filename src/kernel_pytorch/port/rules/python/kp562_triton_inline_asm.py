"""PTX inside a Triton kernel

What: `tl.inline_asm_elementwise` whose assembly is PTX.
Why: AMD's assembler does not know it: "couldn't allocate output register for constraint 'f'".
Fix: Write the same in plain `tl` operations, chosen by a `tl.constexpr` that the host passes (a kernel does not see a
    Python global unless it is one). `kpt explain KP230` says what kpt knows about PTX.
Source: state-spaces/mamba#1018
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bound_once
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP562", "triton-inline-asm", ("python",), Safety.MANUAL, (b"inline_asm_elementwise",))

_NAMES = ("triton.language.inline_asm_elementwise", "triton.language.core.inline_asm_elementwise")
_AMD = re.compile(r"\b[vs]_[a-z]\w+|\bds_\w+|\bbuffer_\w+|\bglobal_(load|store)\w*")


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls(*_NAMES):
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        asm = _text(module, call.args[0] if call.args else named.get("asm"))
        if asm is None or not _AMD.search(asm):
            if _is_for_nvidia(module, call):
                continue
            first = next(iter(re.findall(r"[a-z][\w.]+", asm or "")), None)
            what = f"{first} is PTX" if first else "assembly that is built elsewhere"
            yield RULE.finding(module.src, module.span(call), f"{what}: AMD's assembler refuses it")


def _text(module: PythonModule, node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Name):
        node = bound_once(module, node)
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _is_for_nvidia(module: PythonModule, call: ast.Call) -> bool:
    """Whether the kernel around it is used, and only where ROCm does not get to."""
    function = next((item for item in module.parents(call) if isinstance(item, ast.FunctionDef)), None)
    if function is None:
        return False
    uses = [
        node
        for node in all_nodes(module)
        if isinstance(node, ast.Name) and node.id == function.name and isinstance(node.ctx, ast.Load)
    ]
    return bool(uses) and not any(module.reached_on_rocm(node) for node in uses)
