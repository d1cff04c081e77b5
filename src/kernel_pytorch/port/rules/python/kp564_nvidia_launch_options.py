"""Launch options of Triton that only NVIDIA has

What: `num_ctas` above 1, `maxnreg`, `num_consumer_groups`, `num_buffers_warp_spec`, `reg_dec_producer` and
    `reg_inc_consumer` in a `triton.Config` or at a launch; `warp_specialize=True` and tensor descriptors in a kernel.
Why: AMD's back end raises an exception for several blocks per cluster ("num_ctas > 1 not supported") and for an option
    it does not know ("Keyword argument maxnreg was specified but unrecognised"). Tensor descriptors become plain loads
    on most AMD GPUs, and have failed on gfx1250.
Fix: `num_ctas` is 1 and `maxnreg` None on ROCm in a Config. Other options, a launch's `maxnreg`, and kernels built on
    descriptors or specialised warps are left to you: a second list of configurations for ROCm.
Source: https://triton-lang.org/main/python-api/generated/triton.Config.html; triton-lang/triton#10649; checked against
    Triton 3.9.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_chosen, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.python.triton_source import literal_lists, literal_numbers, numbers, options, shown
from kernel_pytorch.port.rule import Rule

_UNKNOWN = ("num_consumer_groups", "num_buffers_warp_spec", "reg_dec_producer", "reg_inc_consumer")
TRIGGERS = (b"num_ctas", b"maxnreg", b"warp_specialize", b"tensor_descriptor", b"TensorDescriptor", b"_descriptor_")
RULE = Rule(
    "KP564", "nvidia-launch-options", ("python",), Safety.SAFE, (*TRIGGERS, *(name.encode() for name in _UNKNOWN))
)

_DESCRIPTORS = (
    "triton.tools.tensor_descriptor.TensorDescriptor",
    "triton.tools.tensor_descriptor.TensorDescriptor.from_tensor",
    "triton.tools.experimental_descriptor.create_2d_tma_descriptor",
    "triton.tools.experimental_descriptor.create_1d_tma_descriptor",
    "triton.language.make_tensor_descriptor",
    "triton.language._experimental_make_tensor_descriptor",
    "triton.language._experimental_descriptor_load",
    "triton.language._experimental_descriptor_store",
)


def check(module: PythonModule) -> Iterator[Finding]:
    yield from _num_ctas(module)
    for option in options(module, "maxnreg"):
        if constant(option.value) is None or is_chosen(module, option.value):
            continue
        if module.reached_on_rocm(option.value):
            editable = option.is_config and is_editable(module, option.value)
            edits = [choice(module, option.value, b"None")] if editable else []
            yield RULE.finding(
                module.src, module.span(option.value), "maxnreg is unknown to AMD's back end: it raises", edits
            )
    for name in _UNKNOWN:
        for option in options(module, name):
            yield RULE.finding(module.src, module.span(option.value), f"{name} is unknown to AMD's back end: it raises")
    for call in module.calls("triton.language.range"):
        for keyword in call.keywords:
            if keyword.arg == "warp_specialize" and constant(keyword.value) is not False:
                yield RULE.finding(module.src, module.span(keyword.value), "warp specialisation works on NVIDIA only")
    reported: set[ast.AST | None] = set()
    for call in sorted(module.calls(*_DESCRIPTORS), key=lambda item: item.lineno):
        function = next((item for item in module.parents(call) if isinstance(item, ast.FunctionDef)), None)
        if function in reported:
            continue  # once for a kernel: it is built on descriptors or it is not
        reported.add(function)
        yield RULE.finding(module.src, module.span(call), "a tensor descriptor: partly supported on AMD, never TMA")


def _num_ctas(module: PythonModule) -> Iterator[Finding]:
    message = "several blocks per cluster raise on AMD"
    seen: set[int] = set()
    for option in options(module, "num_ctas"):
        for number in literal_numbers(module, option.value):
            if isinstance(number.value, int) and number.value > 1 and is_editable(module, number):
                yield RULE.finding(module.src, module.span(number), message, [choice(module, number, b"1")])
        for listed in literal_lists(module, option.value):
            values = numbers(listed)
            if values and max(values) > 1 and id(listed) not in seen and module.reached_on_rocm(listed):
                seen.add(id(listed))
                edit = choice(module, listed, shown([1], isinstance(listed, ast.Tuple)))
                yield RULE.finding(
                    module.src, module.span(listed), message, [edit] if is_editable(module, listed) else []
                )
