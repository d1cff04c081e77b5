"""Why a measurement is noisy or drifts: things that were checked, not guessed."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernel_pytorch.models.clock.statistics import autocorrelation, sample_std


@dataclass(frozen=True)
class Counters:
    """Readings that ought not to move while samples are taken."""

    compiled_frames: int
    graph_breaks: int
    collections: int
    device_allocations: int
    allocation_retries: int


def read_counters(on_gpu: bool) -> Counters:
    """The readings now."""
    frames = breaks = 0
    dynamo = sys.modules.get("torch._dynamo.utils")  # not imported, nothing compiled
    if dynamo is not None:
        frames = int(dynamo.counters["frames"]["total"])
        breaks = int(sum(dynamo.counters["graph_break"].values()))
    allocations = retries = 0
    if on_gpu:
        import torch

        stats = torch.cuda.memory_stats()
        allocations, retries = int(stats.get("num_device_alloc", 0)), int(stats.get("num_alloc_retries", 0))
    return Counters(frames, breaks, sum(one["collections"] for one in gc.get_stats()), allocations, retries)


def likely_causes(before: Counters, after: Counters, samples: Sequence[float], *, noisy: bool) -> tuple[str, ...]:
    """What was seen. Compilation while measuring is told always, the rest only when the spread needs explaining."""
    found = []
    compiled = after.compiled_frames - before.compiled_frames
    if compiled:
        found.append(f"torch.compile compiled {compiled} frames again while measuring: shapes or guards change")
    if not noisy:
        return tuple(found)
    if after.graph_breaks:
        found.append(f"{after.graph_breaks} graph breaks: TORCH_LOGS=graph_breaks names the lines")
    if after.device_allocations > before.device_allocations:
        found.append(f"{after.device_allocations - before.device_allocations} new device allocations while measuring")
    if after.allocation_retries > before.allocation_retries:
        found.append("the allocator ran out and retried: memory is nearly full")
    full = after.collections - before.collections
    if full > len(samples) / 4:
        found.append(f"Python's garbage collector ran {full} times")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        found.append(f"the machine is busy: load {load:.1f} on {cores} cores")
    if _is_bimodal(samples):
        found.append("two groups of times: a clock step, another process, or two code paths")
    elif autocorrelation(samples) > 0.5:
        found.append("times drift: the clock or the temperature had not settled")
    if not found:
        found.append("graph breaks, recompilation, allocations, garbage collection and load were checked: none of them")
    return tuple(found)


def _is_bimodal(samples: Sequence[float]) -> bool:
    """A gap in the sorted times that splits them into two tight groups."""
    ordered = sorted(samples)
    if len(ordered) < 10:
        return False
    gap, at = max((b - a, i + 1) for i, (a, b) in enumerate(pairwise(ordered)))
    low, high = ordered[:at], ordered[at:]
    if min(len(low), len(high)) < len(ordered) // 5:
        return False
    return gap > 2 * max(sample_std(low), sample_std(high))
