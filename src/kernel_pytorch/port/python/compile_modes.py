"""torch.compile's modes that capture graphs or search for kernels, and what they become on ROCm: "default".

Searching is left out with capturing, as KP605 and KP621 leave it out where it is a setting of its own: it takes minutes
per graph, hangs were reported, and a person who has measured that it pays can put it back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit
from kernel_pytorch.port.python.edits import choice
from kernel_pytorch.port.python.module import PythonModule

ON_ROCM = {"reduce-overhead": b'"default"', "max-autotune": b'"default"'}
# "max-autotune-no-cudagraphs" is left alone: whoever writes it has chosen a search without graphs, often for AMD.
# The same as an expression, for a mode that is known only when the code runs.
LOOKUP = b'{"reduce-overhead": "default", "max-autotune": "default"}'


def capturing(module: PythonModule, node: ast.expr | None) -> Iterator[ast.Constant]:
    """The literal modes that an argument can come to and that capture: itself, or the arms of a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in ON_ROCM:
        if module.reached_on_rocm(node):
            yield node
    elif isinstance(node, ast.IfExp):
        yield from capturing(module, node.body)
        yield from capturing(module, node.orelse)
    elif isinstance(node, ast.BoolOp):
        for item in node.values:
            yield from capturing(module, item)


def gated_mode(module: PythonModule, mode: ast.Constant) -> Edit:
    """The mode without graphs and search on ROCm, the original elsewhere."""
    return choice(module, mode, ON_ROCM[str(mode.value)])


def what_it_does(mode: ast.Constant) -> str:
    """For a message."""
    return "captures graphs" if mode.value == "reduce-overhead" else "captures graphs, and searches for minutes"
