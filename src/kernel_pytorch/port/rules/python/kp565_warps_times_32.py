"""num_warps * 32 as a number of threads

What: `num_warps * 32` on the host, in a file with Triton, and the same inside a kernel.
Why: A warp is 64 lanes on CDNA and 32 on RDNA. The number of threads is half of the true one on CDNA and right on
    RDNA.
Fix: On ROCm the device's own width, `get_device_properties("cuda").warp_size`, asked when the code runs. At module
    level and in a kernel kpt reports it: pass the width in. TileLang's kernels count threads themselves, so kpt leaves
    them alone.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hardware_features.html;
    https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html (never derive the width
    from the vendor)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import is_editable
from kernel_pytorch.port.python.fp8 import is_deferred
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP565", "warps-times-32", ("python",), Safety.SAFE, (b"num_warps",))

_WIDTH = b'(torch.cuda.get_device_properties("cuda").warp_size if IS_ROCM else 32)'


def check(module: PythonModule) -> Iterator[Finding]:
    if not _has_triton(module):
        return
    for node in all_nodes(module):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.FloorDiv)):
            continue
        pair = ((node.left, node.right), (node.right, node.left))
        for warps, width in pair if isinstance(node.op, ast.Mult) else ():
            if constant(width) == 32 and _is_num_warps(warps) and module.reached_on_rocm(node):
                deferred = is_editable(module, node) and is_deferred(module, node)
                edits = [Edit(module.span(width), _WIDTH)] if deferred and _has_torch(module) else []
                yield RULE.finding(
                    module.src, module.span(node), "a warp has 64 lanes on CDNA: this counts half of the threads", edits
                )


def _is_num_warps(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name.lower() in ("num_warps", "n_warps", "nwarps", "num_warp")


def _has_triton(module: PythonModule) -> bool:
    packages = {name.split(".")[0] for name in module.scope(module.tree).imports.values()}
    # In TileLang and CuTe the number of threads is the kernel's own, and may not be changed from outside.
    return "triton" in packages and not packages & {"tilelang", "cutlass"}


def _has_torch(module: PythonModule) -> bool:
    return module.scope(module.tree).imports.get("torch") == "torch"
