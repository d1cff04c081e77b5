"""A compiled kernel from Hugging Face's Hub

What: `get_kernel("owner/name")` and `load_kernel` of the package `kernels`, which download a compiled extension, and
    transformers' `attn_implementation="kernels-community/name"`, which does the same.
Why: A repository of the Hub has one build for each backend and version of torch. Many have builds for CUDA alone, and
    the call then raises FileNotFoundError on ROCm. FlashAttention 3, FlashMLA and DeepGEMM are for Hopper and newer.
Fix: Ask first: `kernels.has_kernel("owner/name")` is true where this machine's build exists. Keep another way for the
    rest: torch's scaled_dot_product_attention, flash_attn's ROCm build or aiter. kpt rewrites nothing.
Source: https://huggingface.co/docs/kernels; https://github.com/huggingface/kernels
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.nodes import nodes_of
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP528", "hub-kernel", ("python",), Safety.MANUAL, (b"get_kernel", b"load_kernel", b"kernels-community/"))
_CALLS = ("kernels.get_kernel", "kernels.load_kernel")
_COMMUNITY = "kernels-community/"
# By the end of a name, without - and _: what runs on NVIDIA's newer GPUs alone.
_NVIDIA_ONLY = ("flashattn3", "flashattention3", "flashmla", "deepgemm", "flashattn4")


def check(module: PythonModule) -> Iterator[Finding]:
    if any(True for _ in module.calls("kernels.has_kernel")):
        return
    places: list[tuple[ast.expr, ast.expr | None]] = [
        (call, call.args[0] if call.args else None) for call in module.calls(*_CALLS)
    ]
    for keyword in nodes_of(module, ast.keyword):
        value = keyword.value
        if keyword.arg == "attn_implementation" and isinstance(value, ast.Constant) and module.reached_on_rocm(value):
            places += [(value, value)] if str(value.value).startswith(_COMMUNITY) else []
    for place, first in places:
        name = first.value if isinstance(first, ast.Constant) else None
        plain = name.replace("-", "").replace("_", "").lower() if isinstance(name, str) else ""
        shown = f"{name!r}" if isinstance(name, str) else "a kernel of the Hub"
        if plain.endswith(_NVIDIA_ONLY):
            message = f"{shown} is built for NVIDIA's GPUs alone: the call raises an error on ROCm"
        else:
            message = f"{shown} is downloaded compiled: it must have a build for ROCm, else the call raises an error"
        yield RULE.finding(module.src, module.span(place), message)
