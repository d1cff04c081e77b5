"""The GPU asked for at import

What: `torch.cuda.get_device_properties(...)`, `get_device_capability()` or `get_device_name()` at module level.
Why: it starts HIP when the module is imported, before a worker process has chosen its device by HIP_VISIBLE_DEVICES,
    and a process that has started it cannot be forked. vLLM asks amdsmi for that reason.
Fix: ask inside a function, behind `functools.cache`, at first use. A script's own top level is not reported, nor what
    stands under `if __name__ == "__main__":`.
Source: catalogue row 100, https://github.com/vllm-project/vllm/blob/main/vllm/platforms/rocm.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.fp8 import is_deferred
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP589", "device-at-import", ("python",), Safety.MANUAL, (b"get_device_",))

_QUERIES = ("get_device_properties", "get_device_capability", "get_device_name")


def check(module: PythonModule) -> Iterator[Finding]:
    if _is_script(module) or is_for_other_hardware(module):
        return
    for call in module.calls(*(f"torch.cuda.{name}" for name in _QUERIES)):
        if not is_deferred(module, call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else "the query"
            yield RULE.finding(module.src, module.span(call), f"{name} starts HIP while the module is imported")


def _is_script(module: PythonModule) -> bool:
    """Nothing imports it: a test, a setup file, or a file that runs by itself."""
    path = PurePosixPath(module.src.path)
    if path.name in ("setup.py", "conftest.py") or path.name.startswith("test_") or "tests" in path.parts:
        return True
    if module.src.data.startswith(b"#!"):
        return True
    return any(
        isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) and "__main__" in ast.unparse(node.test)
        for node in module.tree.body
    )
