"""A feature asked for by compute capability

What: `torch.cuda.get_device_capability() >= (9, 0)`, `major == 9`, `props.major >= 10` and the like, also through
    variables and the project's own functions: `get_sm() >= 90`, `has_capability(9, 0)`. An SM number or name made of a
    capability (`major * 10 + minor`, f"sm{major}{minor}") that goes on to anything but a test. FP8 asked for by (8, 9),
    through a function that is false on ROCm: `has_cuda_capability(8, 9)`.
Why: AMD's numbers mean something else: gfx90a is (9, 0) like Hopper and has no FP8, gfx942 is (9, 4), gfx1201 is (12,
    0) like Blackwell. A test for Hopper or later passes on them by accident. kpt leaves `>= (8, 0)` and below alone:
    it is true on every AMD GPU that PyTorch supports, and what it asks for (bf16) is there. It also leaves `== 8`
    alone, which is never true.
Fix: On ROCm the feature is absent. For (8, 9), where FP8 is meant, the code asks for the architectures that have it.
    The change is for review, because the source does not say what a number stands for.
Source: vllm-project/vllm#40620; https://github.com/pytorch/ao/pull/4034;
    https://docs.pytorch.org/docs/stable/generated/torch.cuda.get_device_capability.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.capability import capability_tests, fp8_for_nvidia_only, sm_values
from kernel_pytorch.port.python.edits import choice, false_on_rocm, is_editable, true_on_rocm
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

# A wrapper of the query may stand in another module: its name speaks of what it asks.
TRIGGERS = (b"get_device_properties", b"capab", b"_sm", b"sm_", b"_arch", b"_cc")
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
    for call in fp8_for_nvidia_only(module):
        edits = [choice(module, call, _HAS_FP8)] if is_editable(module, call) else []
        message = f"`{ast.unparse(call)}` is false on ROCm: the FP8 of MI300 (gfx94x) and later is left out"
        yield RULE.finding(module.src, module.span(call), message, edits)
    for node in sm_values(module):
        message = "an SM number made of AMD's own numbers: gfx942 gives 94, gfx90a gives Hopper's 90"
        yield RULE.finding(module.src, module.span(node), message)
