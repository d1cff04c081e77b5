"""The time to expect of one call on a GPU, with the interval that four of five measurements fall into, and why.

A GPU that was measured has its own coefficients. For any other one those of its vendor's measured GPU are used with
its own bandwidth, peak rates and compute units: such a time is called derived, and its interval is wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernel_pytorch.core.hardware import GPU, gpu_by_alias
from kernel_pytorch.perf.expected.formulas import STEADY, Launched, kind_of, microseconds, start_after_idle
from kernel_pytorch.perf.expected.table import TUNED_GEMM, Fitted, Table, fitted, rates_of
from kernel_pytorch.perf.roofline.forms import Collective, HostCopy, Routed
from kernel_pytorch.perf.roofline.work import Work

# Whose coefficients stand in, in this order.
MEASURED = {"amd": ("mi300x", "mi355x", "h100", "h200"), "nvidia": ("h100", "h200", "mi300x", "mi355x")}
# A kind that is much like another one.
LIKE = {
    "generated pointwise": "function",
    "generated row": "generated loop",
    "generated loop": "row norm",
    "small products": "gemm",
    "aiter attention": "attention",
    "decode attention": "attention",
    "function": "elementwise",
    "softmax": "elementwise",
    "fused norm": "row norm",
    "group norm": "row norm",
    "channel norm": "row norm",
    "long softmax": "row norm",
    "convolution backward": "convolution",
    "channels-last convolution": "convolution",
    "depthwise convolution": "grouped convolution",
    "grouped convolution": "convolution",  # nobody's traces have any
    "grouped convolution backward": "convolution backward",
    "row norm backward": "row norm",
    "channel norm backward": "channel norm",
    "cast": "copy",
    "copy": "elementwise",
    "pinned copy to the GPU": "copy to the GPU",
    "pinned copy from the GPU": "copy from the GPU",
    "copy from the GPU": "copy to the GPU",
    "broadcast access": "elementwise",
    "transposed access": "strided access",
}
NARROW = ("fp8", "fp4")  # products in these have coefficients of their own
# What carrying coefficients elsewhere may add, on either side.
OTHER_GPU = 1.3
OTHER_KIND = 1.2
# Four of five small kernels that found an AMD GPU idle take between 1 / this and this of what such kernels usually
# take: 51 of them in the traces fitted on, with a standard deviation of 0.42 of the logarithm.
IDLE_SPREAD = 1.7


@dataclass(frozen=True)
class Expected:
    """Microseconds. Four of five calls take between `low_us` and `high_us`.

    `limiter` is "memory", "compute" or "launch" (the start of a kernel takes longer than its work); `basis` says what
    the figure rests on.
    """

    us: float
    low_us: float
    high_us: float
    best_us: float
    limiter: str
    kind: str
    basis: str


@dataclass(frozen=True)
class Total:
    """A sum of expected times. Errors of one kind of operator go together, those of different kinds do not."""

    us: float
    low_us: float
    high_us: float


def expected_time(
    gpu: GPU, work: Work, *, tuned: bool = False, launched: Launched = STEADY, table: Table | None = None
) -> Expected | None:
    """None where no formula knows this work. `tuned` asks what tuned libraries reach, rather than torch's default.

    `table` has other coefficients than those that the package comes with.
    """
    if tuned and isinstance(work.form, Routed):
        work = replace(work, form=replace(work.form, tile=None))  # other kernels have other tiles
    kind = kind_of(work)
    if kind == "collective" and not gpu.links_gbs:
        return None  # over PCIe, or over links that the table does not have
    found = next(_candidates(gpu, kind, work, tuned, table or fitted()), None) if kind else None
    if kind is None or found is None:
        return None
    row, slack, basis = found
    rates = rates_of(gpu, work)
    us = microseconds(work, rates, row.use, launched)
    compute = work.flops / rates.flops
    memory = work.bytes / rates.bytes if not isinstance(work.form, HostCopy | Collective) else 0.0
    limiter = "launch" if us < 2 * row.use["start"] else "compute" if compute >= memory else "memory"
    unsure = start_after_idle(row.use, launched) if gpu.vendor == "amd" else 0.0
    low = us * row.low / slack - unsure * (1 - 1 / IDLE_SPREAD)
    high = us * row.high * slack + unsure * (IDLE_SPREAD - 1)
    return Expected(us, max(low, us / 10), high, max(compute, memory), limiter, kind, basis)


def total(times: Sequence[Expected]) -> Total | None:
    """The time of several calls after each other; None of none."""
    if not times:
        return None
    us, below, above = 0.0, dict[str, float](), dict[str, float]()
    for one in times:
        us += one.us
        below[one.kind] = below.get(one.kind, 0.0) + one.us - one.low_us
        above[one.kind] = above.get(one.kind, 0.0) + one.high_us - one.us
    low, high = (math.sqrt(sum(part**2 for part in parts.values())) for parts in (below, above))
    return Total(us, us - low, us + high)


def _candidates(gpu: GPU, kind: str, work: Work, tuned: bool, table: Table) -> Iterator[tuple[Fitted, float, str]]:
    """Rows that may serve, the best first: (row, factor on the interval, what it is based on)."""
    for alias, name, slack in _places(gpu, kind, work, tuned, table):
        row = table.get((alias, name, work.arithmetic if work.arithmetic in NARROW else ""))
        if row is None and name not in (TUNED_GEMM, "routed gemm"):
            row = table.get((alias, name, ""))
        if row is not None:
            there = gpu_by_alias(alias).name
            own = alias == gpu.alias
            like = f" as {name}" if name != kind else ""
            basis = f"fitted to {row.rows} measurements on {there}{like}: {row.source}"
            yield row, slack * (1 if own else OTHER_GPU), basis if own else f"derived from {there}{like}"


def _places(gpu: GPU, kind: str, work: Work, tuned: bool, table: Table) -> Iterator[tuple[str, str, float]]:
    """Where to look: (GPU, kind, factor on the interval).

    The very kind on a GPU with the same compute units goes before another kind on the GPU itself; where nothing was
    measured on it, the kind on any GPU of its vendor does.
    """
    names, others = _kinds(kind, work, tuned), MEASURED[gpu.vendor]
    yield gpu.alias, *names[0]
    if kind in LIKE:
        known = any(alias == gpu.alias for alias, _, _ in table)
        for other in map(gpu_by_alias, others):
            if other.target == gpu.target or (other.vendor == gpu.vendor and not known):
                yield other.alias, *names[0]
    for alias in (gpu.alias, *others):
        for name, slack in names:
            yield alias, name, slack


def _kinds(kind: str, work: Work, tuned: bool) -> list[tuple[str, float]]:
    """The kind, and those that may stand in for it, each with its factor on the interval."""
    if kind == "gemm":
        return (
            [(TUNED_GEMM, 1.0), ("gemm", 1.0)]
            if tuned or work.arithmetic in NARROW
            else [("gemm", 1.0), (TUNED_GEMM, OTHER_KIND)]
        )
    names, slack = [(kind, 1.0)], 1.0
    while kind in LIKE:
        kind, slack = LIKE[kind], slack * OTHER_KIND
        names.append((kind, slack))
    return names
