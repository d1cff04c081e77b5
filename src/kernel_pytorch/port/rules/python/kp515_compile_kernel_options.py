"""torch.cuda._compile_kernel for one NVIDIA target

What: `torch.cuda._compile_kernel(..., compute_capability="90")`, and options for NVRTC in its `nvcc_options`.
Why: On ROCm torch hands the capability to hiprtc as `--offload-arch=90` and the options as they are. hiprtc knows
    neither, and the kernel does not compile.
Fix: On ROCm the capability is None, which asks the device for its target. Options are translated as those of nvcc are.
    What is in the way in the kernel's text has findings of its own.
Source: https://github.com/pytorch/pytorch/blob/main/torch/cuda/_utils.py (_nvrtc_compile)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Finding, Safety
from kernel_pytorch.port.build_files.nvcc_flags import map_flags
from kernel_pytorch.port.python.extension_calls import list_text, words_of
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP515", "compile-kernel-options", ("python",), Safety.SAFE, (b"_compile_kernel",))


def check(module: PythonModule) -> Iterator[Finding]:
    for call in module.calls("torch.cuda._compile_kernel"):
        for keyword in call.keywords:
            if keyword.arg == "compute_capability":
                yield from _capability(module, keyword.value)
            elif keyword.arg == "nvcc_options":
                yield from _options(module, keyword.value)


def _capability(module: PythonModule, value: ast.expr) -> Iterator[Finding]:
    if isinstance(value, ast.IfExp) and module.gate_value(value.test) is not None:
        return
    if isinstance(value, ast.Constant) and not isinstance(value.value, str):
        return
    span = module.span(value)
    message = f"compute_capability={ast.unparse(value)} becomes --offload-arch on ROCm, which wants a gfx target"
    yield RULE.finding(module.src, span, message, [Edit(span, b"None if IS_ROCM else " + module.text(value))])


def _options(module: PythonModule, value: ast.expr) -> Iterator[Finding]:
    words = words_of(value)
    if words is None:
        return
    hip = map_flags(words, "").words
    changed = [word for word in words if word not in hip]
    if not changed:
        return
    span, text = module.span(value), module.text(value)
    message = f"options that hiprtc does not take: {', '.join(changed[:4])}"
    split = [part for word in hip for part in (word.split(" ") if word not in words else [word])]
    yield RULE.finding(module.src, span, message, [Edit(span, list_text(split, text) + b" if IS_ROCM else " + text)])
