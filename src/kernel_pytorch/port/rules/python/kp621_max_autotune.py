"""Inductor's autotuning switched on for every mode

What: `torch._inductor.config.max_autotune = True` or `max_autotune_gemm = True`, by assignment, by `config.patch`, or
    in torch.compile's `options`.
Why: On ROCm, tuning every GEMM over all back ends takes minutes per graph, and hangs were reported. kpt leaves
    `coordinate_descent_tuning` alone, which works on ROCm, and `epilogue_fusion`, `pattern_matcher` and
    `reorder_for_locality`, which some guides list and which are defaults.
Fix: kpt writes False on ROCm and keeps the original elsewhere, as KP601 does for the compile mode of that name. `kpt
    bench` tells you whether tuning is worth it on your GPU.
Source: https://skills.sh/arist12/amd-skills/amd-rocm-porting, rule 3; Arist12/AMD-Skills on GitHub,
    amd-rocm-porting/references/torch-compile-and-cudagraph.md;
    https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py (the defaults)
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_chosen, is_editable
from kernel_pytorch.port.python.inductor import inductor_values
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP621", "max-autotune", ("python",), Safety.SAFE, (b"max_autotune",))


def check(module: PythonModule) -> Iterator[Finding]:
    for key, value in inductor_values(module, "max_autotune", "max_autotune_gemm", "max_autotune_pointwise"):
        if constant(value) is False or is_chosen(module, value) or not module.reached_on_rocm(value):
            continue
        if is_editable(module, value):
            edit = choice(module, value, b"False")
            yield RULE.finding(module.src, module.span(value), f"{key} tunes for minutes per graph on ROCm", [edit])
