"""Inductor's memory planning switched on

What: `torch._inductor.config.memory_planning = True`, by assignment, by `config.patch` or in torch.compile's `options`.
Why: seeds 000 and 004 report deep recursion with large graphs on ROCm. It is off by default, so that nothing is
    inserted where it is not touched. (Seed 004 also raises `dynamo.config.cache_size_limit`: that name still works and
    is now an alias of `recompile_limit`. It is not reported.)
Fix: False on ROCm, the original elsewhere.
Source: seed 000 rule 3, seed 004, catalogue row 139.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_chosen, is_editable
from kernel_pytorch.port.python.inductor import inductor_values
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP623", "memory-planning", ("python",), Safety.SAFE, (b"memory_planning",))


def check(module: PythonModule) -> Iterator[Finding]:
    for key, value in inductor_values(module, "memory_planning"):
        if constant(value) is False or is_chosen(module, value) or not module.reached_on_rocm(value):
            continue
        if is_editable(module, value):
            edit = choice(module, value, b"False")
            yield RULE.finding(module.src, module.span(value), f"{key} recurses deeply in large graphs on ROCm", [edit])
