"""num_warps=32 for a Triton kernel

What: `num_warps` of 32 or more in a `triton.Config`, at a launch, or in a list that an autotuner goes through.
Why: on CDNA a warp is a wave of 64 lanes: 32 of them are 2048 threads, and a block has 1024 at most. The launch fails,
    and the autotuner does not skip such a failure.
Fix: at most 16 on ROCm. On RDNA, where 32 would fit, 16 is right as well.
    A file that prunes its configurations by `num_warps` itself is left alone.
Source: catalogue row 143, https://github.com/pytorch/helion/pull/1368
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cuda.unit import Unit
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.triton_source import literal_lists, literal_numbers, numbers, options, shown
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.source import SourceFile

RULE = Rule("KP560", "num-warps", ("python",), Safety.SAFE, (b"num_warps", b"Config"))

MOST = 16


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    module = python_module(src)
    if module is None:
        return
    seen: set[int] = set()
    is_pruned = _prunes(module)
    for option in options(module, "num_warps"):
        if option.is_config and is_pruned:
            continue
        for constant in literal_numbers(module, option.value):
            if isinstance(constant.value, int) and constant.value > MOST and is_editable(module, constant):
                message = f"{constant.value} warps of 64 lanes are {constant.value * 64} threads: 1024 is the limit"
                yield RULE.finding(src, module.span(constant), message, [choice(module, constant, b"%d" % MOST)])
        for listed in literal_lists(module, option.value):
            values = numbers(listed)
            if values is None or max(values, default=0) <= MOST or id(listed) in seen:
                continue
            seen.add(id(listed))
            if not module.reached_on_rocm(listed) or not is_editable(module, listed):
                continue
            left = list(dict.fromkeys(min(value, MOST) for value in values))
            edit = choice(
                module, listed, shown(left, src.data[module.span(listed).start : module.span(listed).start + 1] == b"(")
            )
            message = f"{max(values)} warps of 64 lanes are {max(values) * 64} threads: 1024 is the limit"
            yield RULE.finding(src, module.span(listed), message, [edit])


def _prunes(module: PythonModule) -> bool:
    """`[c for c in configs if c.num_warps <= most]`: the file chooses by the number of warps itself."""
    return any(
        isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "num_warps"
        for node in all_nodes(module)
    )
