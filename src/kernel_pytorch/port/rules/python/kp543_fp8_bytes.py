"""Bytes read as float8_e4m3fn

What: `tensor.view(torch.float8_e4m3fn)`: stored bytes, such as a loaded checkpoint's, taken as 8-bit floats.
Why: MI300 (gfx94x) computes in e4m3fnuz, whose bias is one higher. The same byte is half the value, and 0x80, which is
    minus zero in e4m3fn, is NaN. Changing only the type halves the weights and adds NaN.
Fix: On gfx94x set the byte 0x80 to 0, take the bytes as e4m3fnuz, and double the scales. Only you know which scales
    belong to the bytes. `kpt port PATH --add fp8` writes `_rocm_fp8.py` into the project; its `weight, scale =
    e4m3fn_to_fnuz(weight, scale)` does all three.
Source: https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/quantization/utils/w8a8_utils.py;
    https://rocm.docs.amd.com/projects/HIP/en/docs-6.3.3/reference/fp8_numbers.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.fp8 import is_ocp_by_definition
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP543", "fp8-bytes", ("python",), Safety.MANUAL, (b"float8_e4m3fn",))


def check(module: PythonModule) -> Iterator[Finding]:
    if is_for_other_hardware(module) or is_ocp_by_definition(module):
        return
    for node in all_nodes(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "view":
            continue
        arguments = [*node.args, *(item.value for item in node.keywords)]
        taken = any(module.qualified(item) == "torch.float8_e4m3fn" for item in arguments)
        if taken and module.reached_on_rocm(node):
            message = "bytes are read as e4m3fn: on MI300 they need 0x80 cleared and the scales doubled"
            yield RULE.finding(module.src, module.span(node), message)
