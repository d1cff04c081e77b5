"""TrainingArguments(tf32=True)

What: `tf32=True` for transformers' `TrainingArguments` or a class made of it (Seq2Seq, TRL's configurations, the
    project's own subclasses), as an argument or as the default of a subclass's field; The rule is not about
    accelerate's and DeepSpeed's forms of the switch.
Why: transformers asks for an NVIDIA GPU of Ampere or later and raises ValueError ("--tf32 requires Ampere or a newer
    GPU arch") where torch.version.cuda is None, which it is on ROCm.
Fix: kpt writes None on ROCm, which leaves the setting alone, and keeps the original elsewhere.
Source: src/transformers/training_args.py in huggingface/transformers (tf32) and src/transformers/utils/import_utils.py
    (is_torch_tf32_available)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.definitions import definitions
from kernel_pytorch.port.python.edits import choice, is_chosen, is_editable
from kernel_pytorch.port.python.flow import origins
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP546", "trainer-tf32", ("python",), Safety.SAFE, (b"tf32",))

_PACKAGES = ("transformers.", "trl.")


def check(module: PythonModule) -> Iterator[Finding]:
    for value in _values(module):
        for place in origins(module, value):
            node = place.node
            is_on = isinstance(node, ast.Constant) and node.value is True
            if place.module is not module or not is_on or is_chosen(module, value) or not module.reached_on_rocm(node):
                continue
            # A variable may be used for more than this: the argument is what is gated.
            where = value if isinstance(value, (ast.Name, ast.Attribute)) else node
            edits = [choice(module, where, b"None")] if is_editable(module, where) else []
            message = "tf32=True raises ValueError on ROCm: transformers asks for an NVIDIA GPU"
            yield RULE.finding(module.src, module.span(where), message, edits)
            break


def _values(module: PythonModule) -> Iterator[ast.expr]:
    for call in nodes_of(module, ast.Call):
        may_set = any(item.arg in ("tf32", None) for item in call.keywords)
        if may_set and module.reached_on_rocm(call) and is_training_arguments(module, call.func):
            yield from (item.value for item in call.keywords if item.arg == "tf32")
            for item in call.keywords:
                if item.arg is None:
                    yield from _entries(module, item.value)
    for node in nodes_of(module, ast.ClassDef):
        if any(is_training_arguments(module, base) for base in node.bases):
            for statement in node.body:
                target = statement.target if isinstance(statement, ast.AnnAssign) else None
                if isinstance(statement, ast.AnnAssign) and isinstance(target, ast.Name) and target.id == "tf32":
                    yield from _defaults(statement.value)


def _entries(module: PythonModule, node: ast.expr) -> Iterator[ast.expr]:
    """`**{"tf32": True}`, also through a name."""
    for place in origins(module, node):
        if place.module is module and isinstance(place.node, ast.Dict):
            pairs = zip(place.node.keys, place.node.values, strict=True)
            yield from (value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "tf32")


def _defaults(value: ast.expr | None) -> Iterator[ast.expr]:
    """A field's default: the value, or `field(default=...)`."""
    if isinstance(value, ast.Call):
        yield from (item.value for item in value.keywords if item.arg == "default")
    elif value is not None:
        yield value


def is_training_arguments(module: PythonModule, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is transformers' class, one of TRL's, or a class of the project made of one."""
    name = module.qualified(node) or ""
    if name.startswith(_PACKAGES) and name.endswith(("TrainingArguments", "Config")):
        return name.endswith("TrainingArguments") or name.startswith("trl.")
    if depth > 4:
        return False
    return any(
        is_training_arguments(one.module, base, depth + 1)
        for one in definitions(module, node)
        if isinstance(one.node, ast.ClassDef)
        for base in one.node.bases
    )
