"""Inductor settings that ROCm should not have

What: The Inductor and Dynamo settings that a fresh process of this Python starts with, against those ROCm needs.
Why: max_autotune in a configuration file or image makes every compile a search. Inductor's own graph capture and
    memory planning are unreliable on ROCm. Stock torch 2.13 differs from the public lists of ROCm settings only in
    max_autotune_gemm_backends, cudagraph_trees and recompile_limit (formerly cache_size_limit). None of these hurts by
    itself, so they are notes.
Fix: Set the lines that --fix prints before the first compile, and restore them afterwards.
Source: Arist12/AMD-Skills on GitHub, amd-rocm-porting/references/torch-compile-and-cudagraph.md (the list);
    https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py (the defaults, read from stock torch 2.13).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import Applies, Check
from kernel_pytorch.doctor.inductor import Difference, code_for, differences
from kernel_pytorch.doctor.machine import Machine

CHECK = Check("KP160", "inductor-settings", "inductor", Applies.TORCH_NOT_NVIDIA_ONLY)


def check(machine: Machine) -> Iterator[CheckResult]:
    answer = machine.torch_probe
    if answer.outcome != "ok" or not answer.settings:
        reason = answer.detail or answer.facts.get("inductor_error", "it gave no settings")
        yield CHECK.not_run(f"torch's settings are unknown: {reason}")
        return
    found = differences(answer.settings)
    for harm, report in (("red", CHECK.red), ("warn", CHECK.warn)):
        for item in found:
            if item.setting.harm == harm:
                yield report(f"{_shown(item)}: {item.setting.why}", *_commands((item,)))
    notes = tuple(item for item in found if item.setting.harm == "info")
    if notes:
        yield CHECK.note("as stock torch has them: " + ", ".join(_shown(item) for item in notes), *_commands(notes))
    if not found:
        yield CHECK.ok("settings are as ROCm needs them")


def _shown(item: Difference) -> str:
    relation = "at least " if item.setting.at_least else ""
    return f"{item.setting.key} is {item.actual!r}, ROCm wants {relation}{item.setting.wanted!r}"


def _commands(found: tuple[Difference, ...]) -> tuple[str, ...]:
    return tuple(f"# in Python: {line}" for line in code_for(found))
