"""torch.cuda.is_available() taken for "there is an NVIDIA GPU"

What: a block under `if torch.cuda.is_available():` that imports or calls something only NVIDIA has: NVML, TensorRT,
    nvidia-smi, CUDA Python, NVTX, DALI.
Why: it is True on ROCm by design, so the block runs and its import fails.
Fix: the test asks for NVIDIA as well. For review: the block may hold more than the NVIDIA part. Every other use of
    `is_available()` is right as it is.
Source: catalogue row 93, https://docs.pytorch.org/docs/main/notes/hip.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP582", "available-means-nvidia", ("python",), Safety.REVIEW, (b"is_available",))

NVIDIA_ONLY = ("pynvml", "py3nvml", "nvidia_smi", "nvidia", "tensorrt", "torch_tensorrt", "nvtx", "cuda", "cutlass")
_AVAILABLE = "torch.cuda.is_available"


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls(_AVAILABLE):
        parent = next(module.parents(call))
        if not isinstance(parent, ast.If) or parent.test is not call:
            continue
        used = next(_nvidia_uses(module, parent), None)
        if used is None:
            continue
        span = module.span(call)
        edits = [Edit(span, module.text(call) + b" and not IS_ROCM")] if is_editable(module, call) else []
        message = f"is_available() is True on ROCm too, and the block needs {used}"
        yield RULE.finding(module.src, span, message, edits)


def _nvidia_uses(module: PythonModule, block: ast.If) -> Iterator[str]:
    for node in (item for statement in block.body for item in ast.walk(statement)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not module.is_import_guarded(node):
            is_relative = isinstance(node, ast.ImportFrom) and node.level > 0
            module_name = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [module_name] if module_name else [alias.name for alias in node.names]
            yield from (name for name in names if not is_relative and name.split(".")[0] in NVIDIA_ONLY)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and module.reached_on_rocm(node):
            call = next((item for item in module.parents(node) if isinstance(item, ast.Call)), None)
            name = module.qualified(call.func) if call is not None else None
            if node.value.split(" ")[0] == "nvidia-smi" and (name or "").startswith(("subprocess.", "os.")):
                yield "nvidia-smi"
