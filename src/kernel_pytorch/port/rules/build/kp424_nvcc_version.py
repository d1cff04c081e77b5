"""nvcc asked for its version

What: A build that runs nvcc, or asks torch for CUDA's architecture flags.
Why: There is no nvcc on ROCm. The call raises an exception and the build ends.
Fix: Put the test behind the gate; torch.version.hip has ROCm's version. kpt leaves a function alone that only NVIDIA's
    branch calls, or that is called behind a test of CUDA_HOME.
Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/cpp_extension.py;
    https://docs.pytorch.org/docs/main/notes/hip.html (torch.version.hip)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP424", "nvcc-version", ("python",), Safety.MANUAL, (b"nvcc", b"_get_cuda_arch_flags"))

CALLS = tuple(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls(*CALLS):
        if call.args and _runs_nvcc(call.args[0]) and _is_reached(module, call):
            yield RULE.finding(module.src, module.span(call), "runs nvcc, which ROCm does not have")
    for call in module.calls("torch.utils.cpp_extension._get_cuda_arch_flags"):
        if _is_reached(module, call):
            yield RULE.finding(module.src, module.span(call), "asks torch for CUDA's architecture flags")


def _runs_nvcc(command: ast.expr) -> bool:
    first = command.elts[0] if isinstance(command, (ast.List, ast.Tuple)) and command.elts else command
    texts = [node.value for node in ast.walk(first) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return bool(texts) and any(text.split()[0].rpartition("/")[2] == "nvcc" for text in texts[-1:] if text.split())


def _is_reached(module: PythonModule, call: ast.Call) -> bool:
    """Whether ROCm gets here, through the functions of this file that lead here."""
    if _is_caught_or_guarded(module, call):
        return False
    function = next((item for item in module.parents(call) if isinstance(item, ast.FunctionDef)), None)
    if function is None:
        return True
    sites = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function.name
    ]
    reached = [site for site in sites if module.reached_on_rocm(site) and not _is_caught_or_guarded(module, site)]
    return bool(reached) or (not sites and not function.name.startswith("_") and _is_method(module, function))


def _is_method(module: PythonModule, function: ast.FunctionDef) -> bool:
    return isinstance(next(module.parents(function), None), ast.ClassDef)


def _is_caught_or_guarded(module: PythonModule, node: ast.AST) -> bool:
    child = node
    for parent in module.parents(node):
        if isinstance(parent, ast.Try) and child in parent.body:
            return True
        if isinstance(parent, ast.If) and child is not parent.test and "CUDA_HOME" in ast.unparse(parent.test):
            return True
        child = parent
    return False
