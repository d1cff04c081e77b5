"""torch.compile with a mode from elsewhere

What: `torch.compile(..., mode=args.compile_mode)`: a mode that is known only when the code runs, from an argument, a
    configuration or a parameter.
Why: "reduce-overhead" or "max-autotune" may arrive there; see KP601.
Fix: At the call, on ROCm, the modes that capture become "default"; every other value passes. kpt applies this
    where the file itself gives such a default (a parameter's, an argparse or dataclass default of that name), and
    offers it for review elsewhere. For modes hard-coded in libraries,
    `kernel_pytorch.port.templates.rocm_compile_guard` is a file to copy into a project: its `install()` does the same
    for every later call of torch.compile, on ROCm only.
Source: pytorch/pytorch#187715; https://skills.sh/arist12/amd-skills/amd-rocm-porting, rule 2.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.compile_modes import LOOKUP, ON_ROCM
from kernel_pytorch.port.python.edits import is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.rules.python.kp601_reduce_overhead import compile_calls

RULE = Rule("KP602", "compile-mode-setting", ("python",), Safety.SAFE, (b"compile",))


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    for call in compile_calls(module):
        for keyword in call.keywords:
            value = keyword.value
            if keyword.arg != "mode" or id(value) in seen or not _comes_from_elsewhere(module, value):
                continue
            seen.add(id(value))
            default = _default_here(module, value)
            where = f'its default here is "{default}"' if default else "it may be one that captures graphs"
            text = module.text(value)
            gated = LOOKUP + b".get(" + text + b", " + text + b") if IS_ROCM else " + text
            edits = [Edit(module.span(value), gated)] if is_editable(module, value) else []
            safety = None if default or not edits else Safety.REVIEW
            message = f"the compile mode comes from {ast.unparse(value)}: {where}"
            yield RULE.finding(module.src, module.span(value), message, edits, safety)


def _comes_from_elsewhere(module: PythonModule, value: ast.expr) -> bool:
    """A parameter, an attribute, an entry of a dictionary: not a literal, nor a name that holds one."""
    if isinstance(value, ast.Name):
        found = list(bindings(module, value))
        return not found or any(
            item is None or isinstance(item, (ast.Attribute, ast.Subscript, ast.Call)) for item in found
        )
    return isinstance(value, (ast.Attribute, ast.Subscript)) and module.qualified(value) is None


def _default_here(module: PythonModule, value: ast.expr) -> str | None:
    """The capturing mode that this file gives as the default of the same name."""
    name = _last_name(value)
    for node in all_nodes(module):
        for key, default in _defaults(node):
            mode = constant(default)
            if key == name and isinstance(mode, str) and mode in ON_ROCM:
                return mode
    return None


def _last_name(value: ast.expr) -> str:
    if isinstance(value, ast.Subscript):
        return str(constant(value.slice))
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")


def _defaults(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names with the values they get when nobody says otherwise."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        every = [*node.args.posonlyargs, *node.args.args]
        late = every[len(every) - len(node.args.defaults) :]
        yield from zip((item.arg for item in late), node.args.defaults, strict=True)
        yield from zip((item.arg for item in node.args.kwonlyargs), node.args.kw_defaults, strict=True)
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.Assign):
        yield from ((_last_name(target), node.value) for target in node.targets)
    elif isinstance(node, ast.Dict):
        for key, item in zip(node.keys, node.values, strict=True):
            yield str(constant(key)), item
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
        flags = [str(constant(item)) for item in node.args if str(constant(item)).startswith("--")]
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        dest = constant(named.get("dest"))
        name = dest if isinstance(dest, str) else flags[0].lstrip("-").replace("-", "_") if flags else ""
        yield name, named.get("default")
