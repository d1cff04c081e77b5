"""xformers.ops.memory_efficient_attention

What: an import of xformers.ops, or of names from it.
Why: the ROCm wheel of xformers often lacks the operator for a given head size or GPU: "No operator found".
Fix: on ROCm the names come from a generated file, `_rocm_xformers.py`, which calls PyTorch's SDPA with xformers'
    layout; tensor biases and LowerTriangularMask are served, other masks refused by name. It is offered for review: an
    installation whose xformers works may prefer it.
Source: catalogue row 129.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.adapted_module import Adapted, adapted_findings
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP525", "xformers-attention", ("python",), Safety.REVIEW, (b"xformers",))

XFORMERS = Adapted("xformers.ops", "_rocm_xformers", "ROCm's xformers may lack the operator", Safety.REVIEW)


def check(module: PythonModule) -> Iterator[Finding]:
    yield from adapted_findings(module, RULE, XFORMERS)
