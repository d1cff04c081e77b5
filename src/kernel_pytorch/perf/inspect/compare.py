"""What differs between targets: what fuses, spills or fails on one and not on the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kernel_pytorch.perf.inspect.view import Difference, TargetView, TritonKernel


def differences(views: Sequence[TargetView]) -> tuple[Difference, ...]:
    """Every target held against the first one."""
    found: list[Difference] = []
    for other in views[1:]:
        found += [Difference(text) for text in _pair(views[0], other)]
    return tuple(found)


def _pair(one: TargetView, other: TargetView) -> list[str]:
    names = f"{one.target} against {other.target}"
    texts: list[str] = []
    if one.failure or other.failure:
        failed = [f"{view.target}: {view.failure}" for view in (one, other) if view.failure]
        return [f"{names}: {'; '.join(failed)}"]
    for kind, label in (("triton", "generated kernels launched"), ("extern", "library calls")):
        counts = [sum(step.kind == kind for step in view.steps) for view in (one, other)]
        if counts[0] != counts[1]:
            texts.append(f"{names}: {counts[0]} {label} against {counts[1]}")
    texts += _calls(names, one, other)
    groups = [{(kernel.operators, kernel.lines): kernel for kernel in view.kernels} for view in (one, other)]
    for view, kernels, others in ((one, groups[0], groups[1]), (other, groups[1], groups[0])):
        for key, kernel in kernels.items():
            if key not in others:
                what = ", ".join(kernel.operators) or kernel.name
                texts.append(f"{names}: fused like this on {view.target} only: {kernel.name} ({what})")
    for key in groups[0].keys() & groups[1].keys():
        texts += _kernel(names, one, other, groups[0][key], groups[1][key])
    return texts


def _calls(names: str, one: TargetView, other: TargetView) -> list[str]:
    counts = [Counter(step.name for step in view.steps if step.kind == "extern") for view in (one, other)]
    texts = []
    for call in sorted(counts[0].keys() | counts[1].keys()):
        if counts[0][call] != counts[1][call]:
            texts.append(f"{names}: {call} {counts[0][call]} times against {counts[1][call]}")
    return texts


def _kernel(names: str, one: TargetView, other: TargetView, left: TritonKernel, right: TritonKernel) -> list[str]:
    texts = []
    states = [_state(left), _state(right)]
    if states[0] != states[1]:
        texts.append(f"{names}: {left.name}: {one.target} {states[0]}, {other.target} {states[1]}")
    return texts


def _state(kernel: TritonKernel) -> str:
    if kernel.chosen is None:
        return "has no configuration that compiles and fits"
    resources = kernel.configurations[kernel.chosen].resources
    if resources is not None and resources.spills:
        return "spills"
    failed = sum(1 for one in kernel.configurations if one.failure)
    spilling = sum(1 for one in kernel.configurations if one.resources and one.resources.spills)
    if failed or spilling:
        return f"is fine, {failed} configurations fail and {spilling} spill"
    return "is fine"
