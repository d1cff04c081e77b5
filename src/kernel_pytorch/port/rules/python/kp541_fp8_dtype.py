"""float8_e4m3fn on a GPU with another 8-bit float

What: `torch.float8_e4m3fn` or `torch.float8_e5m2` as the type of a new tensor or a cast: written there, handed to a
    helper that casts (`to_fp8(x, torch.float8_e4m3fn)`), in a variable, a default or a constant, also of another
    module of the project.
Why: gfx940, gfx941 and gfx942 (MI300) multiply e4m3fnuz and e5m2fnuz only: other bias, one NaN, no infinity, largest
    value 240 instead of 448. gfx950 and gfx12 have the OCP types. MI200 and RDNA3 have none.
Fix: kpt lets the code ask for the architecture and choose the type. It asks when the code runs, never at import,
    because that would start HIP before a worker has chosen its device. For a default or a constant, the cast asks. The
    change is for review, because a checkpoint's bytes keep their own type: see KP543. kpt reports tests of a dtype,
    tables of dtypes and dtypes handed to a library: both types must be in them.
Source: https://rocm.docs.amd.com/projects/HIP/en/docs-6.3.3/reference/fp8_numbers.html;
    https://github.com/vllm-project/vllm/blob/main/vllm/platforms/rocm.py; pytorch/ao#1066
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.edits import compiler_of, is_editable
from kernel_pytorch.port.python.fp8 import (
    FNUZ,
    IS_FNUZ_GPU,
    casts_by_name,
    casts_to,
    is_deferred,
    is_ocp_by_definition,
    reaches_cast,
)
from kernel_pytorch.port.python.gated_import import is_for_other_hardware
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP541", "fp8-dtype", ("python",), Safety.REVIEW, (b"float8", b"fp8", b"FP8"))


def check(module: PythonModule) -> Iterator[Finding]:
    if is_for_other_hardware(module) or is_ocp_by_definition(module):
        return
    answered = {id(place.node) for _, _, place in casts_by_name(module)}
    named: list[ast.expr] = []
    for node in all_nodes(module):
        if not isinstance(node, (ast.Attribute, ast.Name)) or not isinstance(node.ctx, ast.Load):
            continue
        name = module.qualified(node)
        if name not in FNUZ or not module.reached_on_rocm(node) or _knows_fnuz(module, node):
            continue
        if compiler_of(module, node) == "torchscript" or _is_of_block_format(module, node):
            continue
        if is_deferred(module, node) and (reaches_cast(module, node) or _is_the_answer(module, node)):
            edits = [Edit(module.span(node), _by_gpu(module, node, name))] if is_editable(module, node) else []
            yield RULE.finding(module.src, module.span(node), _message(name), edits)
        elif casts_to(module, node):
            yield RULE.finding(module.src, module.span(node), _message(name))
        elif _place(module, node) is not None and id(node) not in answered:
            named.append(node)
    yield from _constants(module)
    if named:
        # Once for a file: whoever adds the other type goes through all of them.
        named.sort(key=lambda node: (node.lineno, node.col_offset))
        first = named[0]
        more = f", and {len(named) - 1} more places know" if len(named) > 1 else " knows"
        message = f"{_place(module, first)}{more} only the OCP type: MI300 has the fnuz one"
        yield RULE.finding(module.src, module.span(first), message)


def _constants(module: PythonModule) -> Iterator[Finding]:
    """Casts to a dtype that a default or a constant holds, which are made at import: the cast asks the device."""
    seen: set[tuple[int, str]] = set()
    for node, name, place in casts_by_name(module):
        if is_deferred(place.module, place.node) or (id(node), name) in seen or not module.reached_on_rocm(node):
            continue
        if _knows_fnuz(module, node) or _knows_fnuz(place.module, place.node) or _is_mapped(module, node):
            continue
        seen.add((id(node), name))
        edits = []
        if is_editable(module, node) and is_deferred(module, node) and _has_torch(module):
            text = module.text(node)
            test = IS_FNUZ_GPU + b" and " + text + b" == " + name.encode()
            edits.append(Edit(module.span(node), b"(" + FNUZ[name] + b" if " + test + b" else " + text + b")"))
        yield RULE.finding(module.src, module.span(node), f"{ast.unparse(node)}: {_message(name)}", edits)


def _is_mapped(module: PythonModule, node: ast.expr) -> bool:
    """Already under a choice of ours: `(fnuz if ... and dtype == e4m3fn else dtype)`."""
    parent = next(module.parents(node))
    return isinstance(parent, ast.IfExp) and b"fnuz" in module.text(parent)


def _message(name: str) -> str:
    kind = name.removeprefix("torch.")
    return f"{kind} is not what MI300 (gfx94x) multiplies: {FNUZ[name].decode().removeprefix('torch.')} is"


def _by_gpu(module: PythonModule, node: ast.expr, name: str) -> bytes:
    return b"(" + FNUZ[name] + b" if " + IS_FNUZ_GPU + b" else " + module.text(node) + b")"


def _is_the_answer(module: PythonModule, node: ast.expr) -> bool:
    """`def fp8_dtype(): return torch.float8_e4m3fn`: a function without a question has one answer for each GPU."""
    parents = list(module.parents(node))
    if not isinstance(parents[0], ast.Return):
        return False
    function = next(item for item in parents if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)))
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return not [item for item in every if item.arg not in ("self", "cls")]


def _has_torch(module: PythonModule) -> bool:
    return module.scope(module.tree).imports.get("torch") == "torch"


def _place(module: PythonModule, node: ast.expr) -> str | None:
    parent = next(module.parents(node))
    if isinstance(parent, ast.Compare):
        return "a test of the dtype"
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
        return "a list of dtypes"
    if isinstance(parent, ast.Dict):
        return "a table of dtypes"
    if isinstance(parent, (ast.arguments, ast.Assign, ast.AnnAssign)):
        return "a default or constant"
    if isinstance(parent, ast.Return):
        return "a function's answer"
    # What a library does with a type that is handed to it is not seen here.
    return "an argument" if isinstance(parent, (ast.Call, ast.keyword)) and not _is_asked(module, node) else None


def _is_asked(module: PythonModule, node: ast.expr) -> bool:
    """`hasattr(...)`, `isinstance(...)`, `assert_*(x.dtype, ...)`: only compared."""
    call = next(item for item in module.parents(node) if isinstance(item, ast.Call))
    name = ast.unparse(call.func).rsplit(".", 1)[-1]
    return name in ("hasattr", "isinstance", "print", "view") or name.startswith("assert")


def _is_of_block_format(module: PythonModule, node: ast.expr) -> bool:
    """In a function about FP4 or OCP's MX formats, whose scales or parts are e4m3fn by definition."""
    functions = (item for item in module.parents(node) if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return any(name in module.text(item).lower() for item in functions for name in (b"fp4", b"mxfp"))


def _knows_fnuz(module: PythonModule, node: ast.expr) -> bool:
    """Somewhere in the same statement the other type is spoken of: its writer has thought of AMD."""
    for parent in module.parents(node):
        if isinstance(parent, ast.stmt):
            return not isinstance(parent, (ast.FunctionDef, ast.ClassDef)) and b"fnuz" in module.text(parent)
    return False
