"""A GPU recognised by NVIDIA's product name

What: The result of `torch.cuda.get_device_name()` (or a device's `.name`) compared with "A100", "H100", "RTX" ...
Why: AMD's names differ, and can be as general as "AMD Radeon Graphics". The test is False, and the code treats the GPU
    as unknown: a wrong peak figure, a slow path, or an error.
Fix: Add a row for AMD, found by `get_device_properties(0).gcnArchName.split(":")[0]` ("gfx942"), which is one per
    architecture; `kpt doctor` lists the peak figures of each GPU. kpt leaves a chain of tests alone that also asks for
    AMD's name (`elif "amd" in name`).
Source: https://github.com/vllm-project/vllm/blob/main/vllm/platforms/rocm.py (vLLM's own table of AMD names); found by
    porting public repositories here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.module import PythonModule, vendor_word
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP586", "device-name", ("python",), Safety.MANUAL, (b"get_device_name", b"get_device_properties"))

PRODUCT = re.compile(
    r"\b(A10G?|A30|A40|A100|A800|A6000|B[12]00|B300|GB200|H[12]00|H20|H800|L4|L40S?|T4|P100|P40|V100|K80|RTX|GTX|TITAN"
    r"|Quadro|Tesla|GeForce|NVIDIA|Ampere|Hopper|Blackwell|Jetson|Orin|Thor|GH200|[345]090)\b",
    re.IGNORECASE,
)
_WRAPPERS = frozenset({"lower", "upper", "strip", "casefold", "replace", "split"})


def check(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        product: str | None = None
        if isinstance(node, ast.Compare) and any(_is_name(module, item) for item in (node.left, *node.comparators)):
            product = _product(node.left) or next(filter(None, map(_product, node.comparators)), None)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            is_search = node.func.attr in ("startswith", "endswith", "find")
            product = _product(node.args[0]) if is_search and _is_name(module, node.func.value) else None
        if product is None or not isinstance(node, ast.expr) or _has_amd_arm(module, node):
            continue
        if module.reached_on_rocm(node):
            message = f'tests for the GPU name "{product}", which no AMD GPU has'
            yield RULE.finding(module.src, module.span(node), message)


def _has_amd_arm(module: PythonModule, node: ast.expr) -> bool:
    """Whether another arm of the same `if ... elif` asks for AMD's name."""
    top: ast.If | None = None
    child: ast.AST = node
    for parent in module.parents(node):
        if isinstance(parent, ast.If) and (child is parent.test or child in parent.orelse):
            top = parent
        elif isinstance(parent, ast.stmt):
            break
        child = parent
    while top is not None:
        if any(vendor_word(part) == "amd" for part in ast.walk(top.test) if isinstance(part, ast.expr)):
            return True
        following = top.orelse[0] if len(top.orelse) == 1 else None
        top = following if isinstance(following, ast.If) else None
    return False


def _product(node: ast.expr) -> str | None:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return next(filter(None, map(_product, node.elts)), None)
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
    return text if text is not None and PRODUCT.search(text) else None


def _is_name(module: PythonModule, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is a device's name, through a variable or `.lower()`."""
    if isinstance(node, ast.Call):
        if module.qualified(node.func) == "torch.cuda.get_device_name":
            return True
        inner = node.func
        return isinstance(inner, ast.Attribute) and inner.attr in _WRAPPERS and _is_name(module, inner.value, depth)
    if isinstance(node, ast.Attribute) and node.attr == "name":
        return _is_properties(module, node.value)
    if isinstance(node, ast.Name) and depth < 3:
        return any(value is not None and _is_name(module, value, depth + 1) for value in bindings(module, node))
    return False


def _is_properties(module: PythonModule, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return any(isinstance(value, ast.Call) and _is_properties(module, value) for value in bindings(module, node))
    return isinstance(node, ast.Call) and module.qualified(node.func) == "torch.cuda.get_device_properties"
