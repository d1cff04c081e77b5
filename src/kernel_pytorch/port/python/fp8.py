"""8-bit floats in Python source: which names, on which GPUs, and whether a place makes a tensor of one."""

from __future__ import annotations

import ast

from kernel_pytorch.port.python.module import PythonModule

FNUZ = {
    "torch.float8_e4m3fn": b"torch.float8_e4m3fnuz",
    "torch.float8_e5m2": b"torch.float8_e5m2fnuz",
}
# True only on ROCm and MI300; folds to False on NVIDIA. "cuda" is the current device.
IS_FNUZ_GPU = b'IS_ROCM and torch.cuda.get_device_properties("cuda").gcnArchName.startswith("gfx94")'

_CAST_METHODS = frozenset({"to", "type", "new_empty", "new_zeros", "new_full", "new_tensor"})


def casts_to(module: PythonModule, node: ast.expr) -> bool:
    """Whether the dtype at a place is that of a tensor made there: `.to(dtype)`, `dtype=dtype`, `finfo(dtype)`."""
    parent = next(module.parents(node))
    if isinstance(parent, ast.keyword):
        return parent.arg in ("dtype", "out_dtype", "quant_dtype", "fp8_dtype")
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    if isinstance(parent.func, ast.Attribute) and parent.func.attr in _CAST_METHODS:
        return True
    return module.qualified(parent.func) == "torch.finfo"


def is_of_nvidia_alone(module: PythonModule) -> bool:
    """A file about NVFP4, whose scales are e4m3fn by definition, or in CUTLASS's language, which KP510 names."""
    if "nvfp4" in module.src.path.lower():
        return True
    return any(name.split(".")[0] == "cutlass" for _, names in module.import_statements for name in names)


def is_deferred(module: PythonModule, node: ast.AST) -> bool:
    """Inside a function's body, so that asking the device happens when it is called and not at import."""
    child = node
    for parent in module.parents(node):
        if isinstance(parent, ast.Lambda) and child is parent.body:
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and child in parent.body:
            return True
        child = parent
    return False
