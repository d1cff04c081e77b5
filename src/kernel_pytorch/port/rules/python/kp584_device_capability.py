"""A feature asked for by compute capability

What: `torch.cuda.get_device_capability() >= (9, 0)`, `major == 9`, `props.major >= 10` and the like, and
    `major * 10 + minor` read as an SM number.
Why: AMD's numbers are other numbers: gfx90a is (9, 0) like Hopper and has no FP8, gfx942 is (9, 4), gfx1201 is (12, 0)
    like Blackwell. A test for Hopper or later passes on them by accident. `>= (8, 0)` and below is left alone: it
    holds on every AMD GPU that PyTorch supports, and what it asks for (bf16) is there. So is `== 8`, which never does.
Fix: on ROCm the feature is absent; for (8, 9), where FP8 is meant, the architectures that have it are asked for. For
    review, because what a number stands for is not written down.
Source: catalogue row 95, https://github.com/vllm-project/vllm/issues/40620
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.capability import capability_tests, is_capability
from kernel_pytorch.port.python.edits import choice, false_on_rocm, is_editable, true_on_rocm
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import all_nodes
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

TRIGGERS = (b"get_device_capability", b"get_device_properties")
RULE = Rule("KP584", "device-capability", ("python",), Safety.REVIEW, TRIGGERS)

_HAS_FP8 = b'torch.cuda.get_device_properties("cuda").gcnArchName.startswith(("gfx94", "gfx95", "gfx12"))'


def check(module: PythonModule) -> Iterator[Finding]:
    for test in capability_tests(module):
        if not test.misleads:
            continue
        edits = []
        if is_editable(module, test.node):
            if test.is_fp8:
                found = b"not " + _HAS_FP8 if test.feature_absent else _HAS_FP8
                edits.append(choice(module, test.node, found))
            else:
                edits.append((true_on_rocm if test.feature_absent else false_on_rocm)(module, test.node))
        message = f"`{test.shown}` compares AMD's own numbers (gfx942 is (9, 4)) with NVIDIA's"
        yield RULE.finding(module.src, module.span(test.node), message, edits)
    yield from _sm_numbers(module)


def _sm_numbers(module: PythonModule) -> Iterator[Finding]:
    for node in all_nodes(module):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or not module.reached_on_rocm(node):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if constant(other) in (10, 100) and is_capability(module, one) == "major":
                yield RULE.finding(
                    module.src, module.span(node), "an SM number made of AMD's own numbers: gfx942 gives 94"
                )
