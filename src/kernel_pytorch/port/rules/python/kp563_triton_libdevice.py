"""CUDA's libdevice in Triton

What: `from triton.language.extra.cuda import libdevice`, `tl.extra.cuda.libdevice.f`, and functions of libdevice that
    AMD's does not have: rounding modes (`add_rn`), bit casts (`float_as_int`), `fast_sinf`: 139 of 197 in Triton 3.9.
Why: The module belongs to one back end. On AMD its functions link to nothing.
Fix: On ROCm the import goes through `triton.language.extra.libdevice`, which serves both. A function that AMD's lacks,
    and a dotted name inside a kernel, is left to you: most have a plain `tl` form (`.to(tl.int32, bitcast=True)`).
Source: triton-lang/triton#10375; the names were read from Triton 3.9.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import compiler_of, rocm_twin
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP563", "triton-libdevice", ("python",), Safety.SAFE, (b"libdevice",))

_CUDA = "triton.language.extra.cuda"
_PREFIXES = (f"{_CUDA}.libdevice.", "triton.language.extra.libdevice.", "triton.language.libdevice.")
# fmt: off
ON_AMD = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "clz", "copysign", "cos", "cosh",
    "cyl_bessel_i0", "cyl_bessel_i1", "erf", "erfc", "erfcx", "erfinv", "exp", "exp2", "expm1", "fast_dividef",
    "fast_expf", "fast_tanhf", "finitef", "floor", "fma", "fmod", "hypot", "ilogb", "isfinited", "isinf",
    "isnan", "j0", "j1", "ldexp", "lgamma", "llrint", "log", "log10", "log1p", "log2", "nearbyint", "nextafter",
    "popc", "pow", "rint", "round", "rsqrt", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "y0",
    "y1",
})
# fmt: on


def check(module: PythonModule) -> Iterator[Finding]:
    for node, _ in module.imports(_CUDA):
        if not isinstance(node, ast.ImportFrom):
            continue
        if (node.module or "").endswith(".libdevice") or any(alias.name == "libdevice" for alias in node.names):
            yield _import(module, node)
    for attribute in all_nodes(module):
        if isinstance(attribute, ast.Attribute) and isinstance(attribute.ctx, ast.Load):
            yield from _use(module, attribute)


def _import(module: PythonModule, node: ast.ImportFrom) -> Finding:
    text = module.text(node).replace(_CUDA.encode(), b"triton.language.extra", 1)
    known = [alias.name for alias in node.names]
    missing = [name for name in known if name != "libdevice" and name not in ON_AMD]
    edit = rocm_twin(module, node, text) if not missing and not module.is_import_guarded(node) else None
    message = f"{', '.join(missing)}: not in AMD's libdevice" if missing else "this libdevice is only for CUDA"
    return RULE.finding(module.src, module.span(node), message, [edit] if edit else [])


def _use(module: PythonModule, node: ast.Attribute) -> Iterator[Finding]:
    name = module.qualified(node) or ""
    prefix = next((item for item in _PREFIXES if name.startswith(item)), None)
    if prefix is None or "." in name[len(prefix) :] or not module.reached_on_rocm(node):
        return
    function = name[len(prefix) :]
    if function not in ON_AMD:
        yield RULE.finding(module.src, module.span(node), f"{function} is not in AMD's libdevice")
    elif _CUDA.rsplit(".", 1)[-1] in ast.unparse(node).split(".") and compiler_of(module, node) == "triton":
        yield RULE.finding(
            module.src, module.span(node), f"{function} of CUDA's libdevice: tl.extra.libdevice serves both"
        )
