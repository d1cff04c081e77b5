"""SDPBackend.CUDNN_ATTENTION

What: scaled dot product attention held to cuDNN's backend, or to one backend alone.
Why: ROCm has no cuDNN: with nothing else allowed the call raises "No available kernel". A single flash or
    memory-efficient backend raises so too, for head sizes above 256 and on GPUs that AOTriton does not serve.
Fix: on ROCm all of PyTorch's other backends are allowed, in their usual order, the plain one last; elsewhere the choice
    is as it was. For flash and memory-efficient alone that is offered for review.
Source: catalogue rows 125 and 127.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP523", "cudnn-attention", ("python",), Safety.SAFE, (b"SDPBackend",))

ALLOWED = ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH")


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls("torch.nn.attention.sdpa_kernel"):
        given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "backends"), None)
        if given is None:
            continue
        items = list(given.elts) if isinstance(given, (ast.List, ast.Tuple)) else [given]
        names = [_backend(module, item) for item in items]
        if not names or None in names or "MATH" in names:
            continue
        if names == ["CUDNN_ATTENTION"]:
            message, safety = "ROCm has no cuDNN: no attention kernel is left", Safety.SAFE
        elif len(names) == 1:
            message, safety = f"{names[0]} alone raises where ROCm has no kernel for the head size", Safety.REVIEW
        else:
            continue
        span = module.span(given)
        base = module.text(items[0]).rpartition(b".")[0]
        listed = b", ".join(base + b"." + name.encode() for name in ALLOWED)
        yield RULE.finding(
            module.src, span, message, [Edit(span, b"[" + listed + b"] if IS_ROCM else " + module.text(given))], safety
        )


def _backend(module: PythonModule, node: ast.expr) -> str | None:
    name = module.qualified(node) or ""
    head, _, last = name.rpartition(".")
    return last if head.endswith("SDPBackend") else None
