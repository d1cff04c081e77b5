"""A C++ standard older than torch's headers need

What: `-std=c++14` or `-std=c++11` among the flags of a torch extension.
Why: torch's headers need C++17 since torch 2.1, and every torch for today's AMD GPUs is newer. The build stops in
    torch's own headers with hundreds of errors that do not name the cause.
Fix: kpt writes `-std=c++17` on ROCm. The CUDA side keeps its flag, for the old torch it may be built with.
Source: https://github.com/pytorch/pytorch/pull/85969 (torch is C++17); ATen/ATen.h: "C++17 or later compatible compiler
    is required to use ATen"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.build_files.hip_flags import NEWER_STANDARD
from kernel_pytorch.port.python.extension_calls import is_build_file, nvcc_flag_values
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP425", "old-cxx-standard", ("python",), Safety.SAFE, (b"-std=",))


def check(module: PythonModule) -> Iterator[Finding]:
    if not is_build_file(module):
        return
    # Lists for nvcc are translated as a whole (KP420).
    of_nvcc = {id(node) for value in nvcc_flag_values(module) for node in ast.walk(value)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Constant) or node.value not in NEWER_STANDARD or id(node) in of_nvcc:
            continue
        if not _is_passed_on(module, node) or not module.reached_on_rocm(node) or is_rocm_branch(module, node):
            continue
        span, text = module.span(node), module.text(node)
        newer = text.replace(node.value.encode(), NEWER_STANDARD[node.value].encode())
        message = f"torch's headers need C++17, and {node.value} asks for less"
        yield RULE.finding(module.src, span, message, [Edit(span, b"(" + newer + b" if IS_ROCM else " + text + b")")])


def _is_passed_on(module: PythonModule, node: ast.Constant) -> bool:
    """Whether the string may reach a compiler: it is not looked for, and not a part of a larger string."""
    parent = next(module.parents(node), None)
    if isinstance(parent, ast.Dict) and node in parent.keys:
        return False
    return not isinstance(parent, (ast.Compare, ast.JoinedStr, ast.Expr))
