"""8-bit floats in Python source: which names, on which GPUs, and where a tensor of one is made."""

from __future__ import annotations

import ast

from kernel_pytorch.port.python.flow import ValuePlace, origins, uses
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.python.per_module import per_module

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


def reaches_cast(module: PythonModule, node: ast.expr) -> bool:
    """Whether a tensor of the dtype at a place is made, there or wherever the project hands the dtype on to."""
    return any(casts_to(place.module, place.node) for place in uses(module, node))


@per_module
def casts_by_name(module: PythonModule) -> tuple[tuple[ast.expr, str, ValuePlace], ...]:
    """Dtypes of new tensors that come by another name, with the type they may be and the place that says so."""
    given = [item.value for item in nodes_of(module, ast.keyword)]
    given += [item for call in nodes_of(module, ast.Call) for item in call.args]
    named = (item for item in given if isinstance(item, (ast.Name, ast.Attribute)))
    found = []
    for node in named:
        if module.qualified(node) not in FNUZ and casts_to(module, node):
            for place in origins(module, node):
                name = place.module.qualified(place.node)
                if name in FNUZ and place.module.reached_on_rocm(place.node):
                    found.append((node, name, place))
    return tuple(found)


def is_ocp_by_definition(module: PythonModule) -> bool:
    """A file about a format that is e4m3fn by definition: NVFP4's scales, OCP's MX."""
    return any(name in module.src.path.lower() for name in ("nvfp4", "mxfp", "mx_format"))


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
