"""A CUDA library that Python opens by its file name

What: `ctypes.CDLL("libcudart.so")`, `ctypes.util.find_library("cudart")`, and names such as "libcuda.so.1" in a file
    that opens libraries with ctypes.
Why: An AMD machine has no file of that name. The call raises OSError, or the program goes on without a GPU.
Fix: Open the counterpart on ROCm (libamdhip64.so for libcuda and libcudart, librccl.so for libnccl), and call HIP's
    names: no function in it starts with cuda. kpt leaves a file alone that names the counterpart too.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_driver_api.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.names.library_files import COUNTERPARTS
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP516", "library-opened-by-name", ("python",), Safety.MANUAL, (b"ctypes",))
_FILE = re.compile(rf"(?:.*/)?lib({'|'.join(COUNTERPARTS)})(?:\.so[\d.]*)?")
_OPENS = (
    "ctypes.CDLL", "ctypes.PyDLL", "ctypes.cdll.LoadLibrary", "ctypes.util.find_library",
    "ctypes.pydll.LoadLibrary",
)  # fmt: skip
_OURS = tuple(sorted({one.removesuffix(".so").encode() for one in COUNTERPARTS.values()}))


def check(module: PythonModule) -> Iterator[Finding]:
    if not any(True for _ in module.calls(*_OPENS)) or any(name in module.src.data for name in _OURS):
        return
    asked = {
        id(call.args[0]) for call in module.calls("ctypes.util.find_library") if call.args
    }  # these names stand without lib and .so
    for node in nodes_of(module, ast.Constant):
        if not isinstance(node.value, str) or not module.reached_on_rocm(node):
            continue
        found = _FILE.fullmatch(f"lib{node.value}" if id(node) in asked else node.value)
        if found is not None:
            message = f"an AMD machine has no {node.value}: on ROCm it is {COUNTERPARTS[found[1]]}, with HIP's names"
            yield RULE.finding(module.src, module.span(node), message)
