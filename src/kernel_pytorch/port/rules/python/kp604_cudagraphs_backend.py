"""torch.compile(backend="cudagraphs")

What: Dynamo's backend that captures graphs without Inductor.
Why: It only captures, which is what KP601 is about. On ROCm there is no gain that would justify the risk.
Fix: kpt writes "inductor" on ROCm, for review, because that backend compiles and the original does not.
Source: pytorch/pytorch#187715; https://skills.sh/arist12/amd-skills/amd-rocm-porting, rule 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.rules.python.kp601_reduce_overhead import compile_calls

RULE = Rule("KP604", "cudagraphs-backend", ("python",), Safety.REVIEW, (b"cudagraphs",))


def check(module: PythonModule) -> Iterator[Finding]:
    for call in compile_calls(module):
        for keyword in call.keywords:
            if keyword.arg == "backend" and constant(keyword.value) == "cudagraphs" and is_editable(module, call):
                message = 'backend "cudagraphs" does nothing but capture graphs'
                if module.reached_on_rocm(keyword.value):
                    edit = choice(module, keyword.value, b'"inductor"')
                    yield RULE.finding(module.src, module.span(keyword.value), message, [edit])
