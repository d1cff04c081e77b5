"""Inductor's own graph capture switched on

What: `torch._inductor.config.triton.cudagraphs = True` or `triton.cudagraph_trees = True`, by assignment, by
    `config.patch`, or in torch.compile's `options`.
Why: It captures graphs in every compile mode; see KP601. One team saw topk fault under it on MI350, which AMD could
    not reproduce: it depends on the build.
Fix: False on ROCm, the original elsewhere. kpt inserts nothing where the setting is not touched: `cudagraphs` is off
    by default, and `cudagraph_trees` acts only with it.
Source: https://github.com/pytorch/pytorch/pull/184265;
    https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py (the defaults); Arist12/AMD-Skills on
    GitHub, amd-rocm-porting/references/torch-compile-and-cudagraph.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_chosen, is_editable
from kernel_pytorch.port.python.inductor import inductor_values
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP620", "inductor-cudagraphs", ("python",), Safety.SAFE, (b"cudagraph",))


def check(module: PythonModule) -> Iterator[Finding]:
    for key, value in inductor_values(module, "triton.cudagraphs", "triton.cudagraph_trees"):
        if constant(value) is False or is_chosen(module, value) or not module.reached_on_rocm(value):
            continue
        if is_editable(module, value):
            edit = choice(module, value, b"False")
            yield RULE.finding(module.src, module.span(value), f"{key} makes Inductor capture graphs", [edit])
