"""attn_implementation="flash_attention_2"

What: A model loaded or configured with transformers' flash_attention_2 or flash_attention_3, written there, held by a
    variable, or one entry of a dictionary for the parts of a model.
Why: transformers raises an exception at load unless a flash-attn build is installed. Version 3 has no AMD build.
Fix: "sdpa" on ROCm, which runs AMD's own flash kernels through PyTorch; the original elsewhere. A file that also
    compares the name, or has it in a list of names, treats it as data: there the edit needs a review, but for the
    arguments of from_pretrained and from_config.
Source: https://github.com/huggingface/transformers/pull/27611
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.gated_import import is_rocm_branch
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule(
    "KP522", "transformers-flash-attention", ("python",), Safety.SAFE, (b"flash_attention_2", b"flash_attention_3")
)

NAMES = ("attn_implementation", "_attn_implementation")
VALUES = ("flash_attention_2", "flash_attention_3")


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    is_data = _is_data(module)
    for value in _values(module.tree):
        for constant in _constants(module, value):
            if id(constant) in seen or not module.reached_on_rocm(constant) or is_rocm_branch(module, constant):
                continue
            seen.add(id(constant))
            span = module.span(constant)
            text = b'"sdpa" if IS_ROCM else ' + module.text(constant)
            message = f"attention implementation {constant.value!r} needs a flash-attn build at load"
            edit = Edit(span, b"(" + text + b")" if _tight(module, constant) else text)
            safety = Safety.REVIEW if is_data and not _is_loaded_with(module, constant) else None
            yield RULE.finding(module.src, span, message, [edit], safety)


def _is_data(module: PythonModule) -> bool:
    """Whether the file compares an implementation with a name, or collects names: `== "flash_attention_2"`."""
    return any(
        isinstance(item, ast.Constant) and item.value in VALUES
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.Compare, ast.Set, ast.List, ast.Tuple))
        for item in ast.iter_child_nodes(node)
    )


def _is_loaded_with(module: PythonModule, node: ast.AST) -> bool:
    """In the arguments of a call that loads a model."""
    for parent in module.parents(node):
        if isinstance(parent, ast.Call):
            return ast.unparse(parent.func).endswith((".from_pretrained", ".from_config"))
        if isinstance(parent, ast.stmt):
            return False
    return False


def _values(tree: ast.Module) -> Iterator[ast.expr]:
    """What is given as the implementation: a keyword, an attribute, a dictionary entry or a default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in NAMES:
            yield node.value
        elif isinstance(node, ast.Assign):
            if any(map(_is_named, node.targets)):
                yield node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name) and node.target.id in NAMES:
                yield node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in NAMES:
                    yield value
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _defaults(node.args)


def _is_named(target: ast.expr) -> bool:
    if isinstance(target, ast.Attribute):
        return target.attr in NAMES
    if isinstance(target, ast.Name):
        return target.id in NAMES
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value in NAMES


def _defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs += [(item, value) for item, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    yield from (value for item, value in pairs if item.arg in NAMES)


def _constants(module: PythonModule, node: ast.expr) -> Iterator[ast.Constant]:
    """The implementations that a value may be: all of a dictionary's, or those that this file gives to a name."""
    for place in origins(module, node):
        if place.module is not module:
            continue
        values = place.node.values if isinstance(place.node, ast.Dict) else [place.node]
        yield from (value for value in values if isinstance(value, ast.Constant) and value.value in VALUES)


def _tight(module: PythonModule, node: ast.expr) -> bool:
    """Inside another expression, where a bare conditional would bind differently."""
    return isinstance(next(module.parents(node), None), ast.IfExp)
