"""num_warps=32 for a Triton kernel

What: `num_warps` of 32 or more in a `triton.Config`, at a launch, in a list that an autotuner goes through, or in a
    variable that is launched with or that a function returns under that name (`return BLOCK_SIZE, num_warps`).
Why: On CDNA a warp is a wave of 64 lanes. 32 of them are 2048 threads, and a block has at most 1024. The launch fails,
    and the autotuner does not skip such a failure.
Fix: kpt limits it to 16 on ROCm. On RDNA 32 would fit, and 16 is right as well. If a file prunes its configurations by
    `num_warps` itself, kpt leaves it alone.
Source: https://github.com/pytorch/helion/pull/1368;
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hardware_features.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.bindings import bindings
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes, nodes_of
from kernel_pytorch.port.python.triton_source import (
    has_triton,
    literal_lists,
    literal_numbers,
    numbers,
    options,
    shown,
)
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP560", "num-warps", ("python",), Safety.SAFE, (b"num_warps", b"Config"))

MOST = 16


def check(module: PythonModule) -> Iterator[Finding]:
    seen: set[int] = set()
    is_pruned = _prunes(module)
    wanted = [option for option in options(module, "num_warps") if not (option.is_config and is_pruned)]
    for value in (*(option.value for option in wanted), *_returned(module)):
        for constant in _numbers_behind(module, value):
            count = constant.value
            if not isinstance(count, int) or count <= MOST or id(constant) in seen:
                continue
            if is_editable(module, constant) and module.reached_on_rocm(constant):
                seen.add(id(constant))
                message = f"{count} warps of 64 lanes are {count * 64} threads: 1024 is the limit"
                yield RULE.finding(module.src, module.span(constant), message, [choice(module, constant, b"%d" % MOST)])
    for option in wanted:
        for listed in literal_lists(module, option.value):
            values = numbers(listed)
            if values is None or max(values, default=0) <= MOST or id(listed) in seen:
                continue
            seen.add(id(listed))
            if not module.reached_on_rocm(listed) or not is_editable(module, listed):
                continue
            left = list(dict.fromkeys(min(value, MOST) for value in values))
            edit = choice(module, listed, shown(left, isinstance(listed, ast.Tuple)))
            message = f"{max(values)} warps of 64 lanes are {max(values) * 64} threads: 1024 is the limit"
            yield RULE.finding(module.src, module.span(listed), message, [edit])


def _returned(module: PythonModule) -> Iterator[ast.Name]:
    """`num_warps` in what a function returns: the launch is elsewhere, often in another file."""
    if not has_triton(module):
        return
    for statement in nodes_of(module, ast.Return):
        given = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        yield from (item for item in given if isinstance(item, ast.Name) and item.id == "num_warps")


def _numbers_behind(module: PythonModule, value: ast.expr, depth: int = 0) -> Iterator[ast.Constant]:
    """The literal numbers an argument can come to, also through a variable and as the upper bound of `min`."""
    if isinstance(value, ast.Name) and depth < 3:
        for bound in bindings(module, value):
            if bound is not None:
                yield from _numbers_behind(module, bound, depth + 1)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "min":
        for argument in value.args:
            yield from literal_numbers(module, argument)
    else:
        yield from literal_numbers(module, value)


def _prunes(module: PythonModule) -> bool:
    """`[c for c in configs if c.num_warps <= most]`: the file chooses by the number of warps itself."""
    return any(
        isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "num_warps"
        for node in all_nodes(module)
    )
