"""What is left on the table: breaks, launches that do next to nothing, epilogues that are a pass of their own."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from kernel_pytorch.core.counted import counted
from kernel_pytorch.perf.inspect.view import GraphBreak, LaunchStep, TritonKernel

MATRIX_CALLS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::convolution", "aten::_scaled_mm")


def gap_list(
    steps: tuple[LaunchStep, ...], kernels: Mapping[str, TritonKernel], breaks: tuple[GraphBreak, ...]
) -> tuple[str, ...]:
    """In the order of what they probably cost."""
    found: list[tuple[float, str]] = []
    for number, one in enumerate(breaks):
        where = f"{one.line.path}:{one.line.line}" if one.line else "unknown line"
        found.append((1e9 - number, f"graph break at {where}: {one.reason}"))
    tiny = [step for step in steps if step.limiter == "launch"]
    if tiny:
        cost = sum(step.expected_us or 0.0 for step in tiny)
        found.append((cost, f"{len(tiny)} of {len(steps)} kernels take no longer than their launch: {cost:.0f} us"))
    found += _epilogues(steps, kernels)
    return tuple(text for _, text in sorted(found, key=lambda one: -one[0]))


def _epilogues(steps: tuple[LaunchStep, ...], kernels: Mapping[str, TritonKernel]) -> list[tuple[float, str]]:
    """A pointwise kernel right after a library product reads and writes its result once more."""
    seen: dict[tuple[str, str], tuple[int, float]] = {}
    for before, after in itertools.pairwise(steps):
        follows = after.kind == "triton" and before.kind == "extern" and before.name in MATRIX_CALLS
        if follows and kernels[after.name].category == "pointwise":
            count, cost = seen.get((before.name, after.name), (0, 0.0))
            seen[(before.name, after.name)] = (count + 1, cost + (after.expected_us or 0.0))
    return [
        (cost, f"{call} -> {kernel}: the epilogue is a kernel of its own {counted(count, 'time')}, {cost:.0f} us")
        for (call, kernel), (count, cost) in seen.items()
    ]
