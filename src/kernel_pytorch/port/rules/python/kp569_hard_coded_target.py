"""One AMD target written down

What: `--offload-arch=gfx942` or `--amdgpu-target=...` in a list of flags, `-DCMAKE_HIP_ARCHITECTURES=gfx90a` (also
    AMDGPU_TARGETS and GPU_TARGETS) in an argument for CMake, `os.environ["PYTORCH_ROCM_ARCH"] = "gfx942"`.
Why: The build then makes code for that GPU alone. On any other one the first kernel ends in "no kernel image is
    available" or "invalid device function".
Fix: Leave PYTORCH_ROCM_ARCH to the user, and take its value or `torch.cuda.get_arch_list()` where flags need one;
    torch's own build of extensions does both. `os.environ.setdefault(...)`, which the user can override, and a list of
    several targets are left alone. kpt reports the place.
Source: torch/utils/cpp_extension.py in pytorch/pytorch (_get_rocm_arch_flags);
    https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 4 ("never hardcode")
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.python.settings import constant, environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP569", "hard-coded-target", ("python",), Safety.MANUAL, (b"gfx",))

_FLAG = re.compile(
    r"(?:^|\s)(?:--(?:offload-arch|amdgpu-target|cuda-gpu-arch)[= ]|-D(?:CMAKE_HIP_ARCHITECTURES|AMDGPU_TARGETS"
    r"|GPU_TARGETS)(?::\w+)?=)(gfx[0-9a-f]+[:+\w-]*)(?!\S*[;,])"
)
_VARIABLES = ("PYTORCH_ROCM_ARCH", "HIP_ARCHITECTURES", "AMDGPU_TARGETS", "GPU_TARGETS")


def check(module: PythonModule) -> Iterator[Finding]:
    flags = [node for node in nodes_of(module, ast.Constant) if isinstance(node.value, str) and "gfx" in node.value]
    found = {id(node): match for node in flags if (match := _FLAG.search(str(node.value))) is not None}
    for node in flags:
        if id(node) in found and not _is_listed(module, node, found) and module.reached_on_rocm(node):
            yield RULE.finding(module.src, module.span(node), _message(found[id(node)][1]))
    for setting in environment_settings(module):
        value = constant(setting.value)
        is_default = isinstance(setting.node, ast.Call) and ast.unparse(setting.node.func).endswith("setdefault")
        if setting.name in _VARIABLES and isinstance(value, str) and not is_default and _is_single(value):
            yield RULE.finding(module.src, module.span(setting.node), _message(value))


def _message(target: str) -> str:
    return f"the build makes code for {target} alone: other AMD GPUs have no kernel to run"


def _is_single(value: str) -> bool:
    return re.fullmatch(r"\s*gfx[0-9a-f]+[:+\w-]*\s*", value) is not None


def _is_listed(module: PythonModule, node: ast.AST, found: dict[int, re.Match[str]]) -> bool:
    """One of several targets in the same list of flags, a docstring, or a choice by the device's own target."""
    parent = next(module.parents(node))
    if isinstance(parent, (ast.List, ast.Tuple)):
        return sum(id(item) in found for item in parent.elts) > 1
    return isinstance(parent, (ast.Expr, ast.Compare))
