"""Bytes read as float8_e4m3fn

What: `tensor.view(torch.float8_e4m3fn)`: stored bytes taken for 8-bit floats, as a loaded checkpoint's are.
Why: MI300 (gfx94x) computes in e4m3fnuz, whose bias is one higher: the same byte is half the value, and 0x80, which is
    minus zero in e4m3fn, is NaN. Changing only the type halves the weights and plants NaN.
Fix: on gfx94x set the byte 0x80 to 0, take the bytes for e4m3fnuz, and double the scales.
    Which scales belong to the bytes only a person knows. `kpt port PATH --add fp8` writes `_rocm_fp8.py` into the
    project, whose `weight, scale = e4m3fn_to_fnuz(weight, scale)` does all three.
Source: catalogue row 132, facts on FP8.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.fp8 import is_of_nvidia_alone
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP543", "fp8-bytes", ("python",), Safety.MANUAL, (b"float8_e4m3fn",))


def check(module: PythonModule) -> Iterator[Finding]:
    if is_for_other_hardware(module) or is_of_nvidia_alone(module):
        return
    for node in all_nodes(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "view":
            continue
        arguments = [*node.args, *(item.value for item in node.keywords)]
        taken = any(module.qualified(item) == "torch.float8_e4m3fn" for item in arguments)
        if taken and module.reached_on_rocm(node):
            message = "bytes taken for e4m3fn: on MI300 they need 0x80 cleared and the scales doubled"
            yield RULE.finding(module.src, module.span(node), message)
