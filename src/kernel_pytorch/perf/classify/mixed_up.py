"""Names and times that do not belong together.

ROCm's profiler was seen to shift the names of a replayed graph against the times, where another stream ran in between:
norms of 43 us, products of 4. The same kernel on the same grid streams the same data, and takes about the same time.
"""

from __future__ import annotations

from collections import defaultdict

from kernel_pytorch.perf.classify.attribution import Attribution
from kernel_pytorch.perf.trace.linking import Links
from kernel_pytorch.perf.trace.recording import NONE, Recording

# What has no hidden size: a product's K is not in its grid, and attention depends on lengths.
_BY_GRID = frozenset({"norm", "elementwise", "copy"})
LEAST_RUNS, MOST_SPREAD = 8, 4.0


def mixed_up_kernels(recording: Recording, links: Links, attribution: Attribution) -> list[str]:
    """Kernels of replayed graphs, of which a tenth of the runs takes over four times as long as another tenth."""
    activities = recording.activities
    runs: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    for i in attribution.order:
        call = links.call[i]
        if call == NONE or attribution.name(i) not in _BY_GRID:
            continue
        if "GraphLaunch" in recording.strings[recording.calls.label[call]]:
            runs[call, activities.name[i], activities.launch[i]].append(activities.end[i] - activities.start[i])
    found = set()
    for (_, name, _), times in runs.items():
        ordered = sorted(times)
        tenth = len(ordered) // 10
        if len(ordered) >= LEAST_RUNS and ordered[-1 - tenth] > MOST_SPREAD * ordered[tenth]:
            found.add(recording.strings[name])
    return sorted(found)
