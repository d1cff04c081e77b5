"""A recording becomes a profile."""

from __future__ import annotations

import re
import statistics
from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.classify.attribution import Attribution, attribute, operator_name
from kernel_pytorch.perf.classify.classifier import CATEGORIES
from kernel_pytorch.perf.classify.idle import Gap, gaps, idle_causes, waits_for_gpu
from kernel_pytorch.perf.classify.mixed_up import MOST_SPREAD, mixed_up_kernels
from kernel_pytorch.perf.classify.observations import observe
from kernel_pytorch.perf.classify.timeline import Timeline, timeline
from kernel_pytorch.perf.collectives import collective_table
from kernel_pytorch.perf.hardware_counters import kernel_counters
from kernel_pytorch.perf.profile import Bin, CompileReport, Launches, Peaks, Profile, ShortKernels, Stretch
from kernel_pytorch.perf.roofline.peaks import recorded_gpu
from kernel_pytorch.perf.tables import category_table, kernel_table, module_table, operator_table
from kernel_pytorch.perf.trace.graphs import join_graphs
from kernel_pytorch.perf.trace.linking import Links, link
from kernel_pytorch.perf.trace.recording import NONE, Recording

SHORT_US = 10.0
BINS = 240
STRETCH_IDLE_SHARE = 0.5
MAX_KERNEL_ROWS = 500
MAX_OPERATOR_ROWS = 1000
_LAUNCH = re.compile(r"Launch")
_STEP = re.compile(r"^ProfilerStep#")


def analyse(
    recording: Recording,
    peaks: Peaks | None = None,
    compile_log: CompileReport | None = None,
    captures: Sequence[Recording] = (),
    ranks: Sequence[Recording] = (),
    windows: Sequence[int | None] = (),
) -> Profile:
    """Everything that can be said about a recording. `peaks` overrides the GPU the recording names.

    `captures` are recordings of the capture of graphs that this one replays, `ranks` of other ranks of the same run.
    `windows` are those of attention by layer (None: all keys), which no recording has.
    """
    from kernel_pytorch.perf.advice.rules import advise

    if len(recording.activities) == 0:
        raise UsageError(f"{recording.source}: no GPU activity in it")
    join_graphs(recording, captures)
    links = link(recording)
    attribution = attribute(recording, links)
    if not attribution.order:
        raise UsageError(f"{recording.source}: all GPU activity was launched before the recording began")
    peaks = peaks or _recorded_peaks(recording)
    timelines = _timelines(recording, attribution)
    operators = operator_table(recording, links, attribution, peaks, windows)
    main = max(timelines, key=lambda one: one.busy_ms)
    bins = _bins(recording, attribution, main)
    categories = category_table(recording, attribution, operators)
    everything = sum(row.kernel_ms for row in categories)
    modelled = sum(row.kernel_ms for row in operators if row.flops is not None)
    other = [i for i in attribution.order if attribution.name(i) == "other"]
    profile = Profile(
        source=recording.source,
        form=recording.form,
        device_kind="cpu" if recording.on_cpu else "gpu",
        gpu=_gpu_name(recording, peaks),
        vendor=_vendor(recording),
        steps=_steps(recording),
        timelines=timelines,
        categories=categories,
        idle=idle_causes(recording, links, gaps(attribution.order, recording.activities)),
        operators=operators[:MAX_OPERATOR_ROWS],
        kernels=kernel_table(recording, links, attribution)[:MAX_KERNEL_ROWS],
        modules=module_table(recording, links, attribution),
        short_kernels=_short_kernels(recording, attribution),
        launches=_launches(recording, links, attribution),
        stretches=_stretches(recording, links, attribution, bins, main),
        observations=observe(recording, links, attribution),
        peaks=peaks,
        modelled_share=modelled / everything if everything else 0.0,
        other_kernels=kernel_table(recording, links, attribution, other)[:20],
        advice=(),
        bins=bins,
        notes=_notes(recording, links, attribution, len(operators)),
        compile_log=compile_log,
        unprofiled_ms=recording.unprofiled_ms,
        counters=kernel_counters(recording, peaks)[:MAX_KERNEL_ROWS],
        collectives=collective_table(recording, links, peaks, ranks),
    )
    return advise(profile)


def _recorded_peaks(recording: Recording) -> Peaks | None:
    if recording.on_cpu or not recording.device_facts:
        return None
    return recorded_gpu(recording.device_facts[0])


def _gpu_name(recording: Recording, peaks: Peaks | None) -> str:
    if recording.on_cpu:
        return "CPU"
    if recording.device_facts:
        return str(recording.device_facts[0].get("name", "")) or "GPU"
    return peaks.gpu if peaks else "GPU"


def _vendor(recording: Recording) -> str:
    if recording.on_cpu:
        return "cpu"
    words = " ".join([*recording.facts, recording.form, *(str(f.get("name", "")) for f in recording.device_facts)])
    if re.search(r"hip_|roctracer|rocprof|rocpd|AMD|Radeon|Instinct|gfx", words):
        return "amd"
    if re.search(r"cupti|cuda|NVIDIA|Tesla|GeForce", words, re.IGNORECASE):
        return "nvidia"
    calls = {recording.strings[label] for label in set(recording.calls.label)}
    return "amd" if any(name.startswith("hip") for name in calls) else "nvidia" if calls else "unknown"


def _steps(recording: Recording) -> int:
    labels = recording.annotations.label
    return sum(1 for label in labels if _STEP.match(recording.strings[label])) or 1


def _timelines(recording: Recording, attribution: Attribution) -> tuple[Timeline, ...]:
    activities = recording.activities

    def part(activity: int) -> int:
        # A memset is a kernel's work by another name: it counts as compute, as in other analysers.
        if attribution.is_copy_engine[activity]:
            return 2
        return 1 if attribution.name(activity) == "communication" else 0

    def intervals(members: array[int], kind: int) -> Iterator[tuple[float, float]]:
        return ((activities.start[i], activities.end[i]) for i in members if part(i) == kind)

    result = []
    for device, group in groupby(attribution.order, key=activities.device.__getitem__):
        members = array("i", group)
        result.append(timeline(device, *(intervals(members, kind) for kind in range(3))))
    return tuple(result)


def _bins(recording: Recording, attribution: Attribution, main: Timeline) -> tuple[Bin, ...]:
    """The busiest device's time in equal slices, each with the share of it every category was running."""
    width = (main.end_us - main.start_us) / BINS or 1.0
    filled = [[0.0] * len(CATEGORIES) for _ in range(BINS)]
    activities = recording.activities
    for i in attribution.order:
        if activities.device[i] != main.device:
            continue
        start, end = activities.start[i] - main.start_us, activities.end[i] - main.start_us
        first, last = int(start / width), min(BINS - 1, int(end / width))
        for number in range(min(first, BINS - 1), last + 1):
            part = min(end, (number + 1) * width) - max(start, number * width)
            filled[number][attribution.category[i]] += max(0.0, part)
    result = []
    for number, row in enumerate(filled):
        scale = max(width, sum(row))  # streams that overlap share the slice
        shares = {name: round(value / scale, 4) for name, value in zip(CATEGORIES, row, strict=True) if value > 0}
        result.append(Bin(number * width / 1e3, width / 1e3, shares))
    return tuple(result)


def _stretches(
    recording: Recording, links: Links, attribution: Attribution, bins: tuple[Bin, ...], main: Timeline
) -> tuple[Stretch, ...]:
    """Parts of the busiest device's time in which it mostly waited, and what was launched after the longest gap."""
    if not recording.on_cpu and not any(links.call[i] != NONE for i in attribution.order):
        return ()  # without launch calls there is nothing to lay at the host's door
    waiting = [sum(one.shares.values()) < STRETCH_IDLE_SHARE for one in bins]
    longest: dict[int, Gap] = {}  # by the slice in which the middle of the gap lies
    width = bins[0].length_ms * 1e3
    for gap in gaps(attribution.order, recording.activities):
        if recording.activities.device[gap.activity] == main.device:
            number = min(len(bins) - 1, int(((gap.start + gap.end) / 2 - main.start_us) / width))
            if number not in longest or gap.end - gap.start > longest[number].end - longest[number].start:
                longest[number] = gap
    stretches = []
    for is_waiting, numbers in groupby(range(len(bins)), key=waiting.__getitem__):
        part = list(numbers)
        if is_waiting:
            idle = 1 - sum(sum(bins[n].shares.values()) for n in part) / len(part)
            inside = [longest[n] for n in part if n in longest]
            worst = max(inside, key=lambda one: one.end - one.start, default=None)
            name = operator_name(recording, links, worst.activity) if worst else ""
            stretches.append(Stretch(bins[part[0]].start_ms, len(part) * bins[0].length_ms, idle, name))
    return tuple(sorted(stretches, key=lambda one: -one.length_ms)[:10])


def _short_kernels(recording: Recording, attribution: Attribution) -> ShortKernels:
    activities = recording.activities
    count, short, short_us, total_us = 0, 0, 0.0, 0.0
    for i in attribution.order:
        length = activities.end[i] - activities.start[i]
        count += 1
        total_us += length
        if length < SHORT_US:
            short += 1
            short_us += length
    return ShortKernels(SHORT_US, short, short_us / 1e3, short / count, short_us / total_us if total_us else 0.0)


def _launches(recording: Recording, links: Links, attribution: Attribution) -> Launches:
    calls, activities = recording.calls, recording.activities
    names = recording.strings
    lengths, waits, graphs = [], [], 0
    for i in range(len(calls)):
        name = names[calls.label[i]]
        if _LAUNCH.search(name):
            lengths.append(calls.end[i] - calls.start[i])
            graphs += "GraphLaunch" in name
        elif waits_for_gpu(name):
            waits.append(calls.end[i] - calls.start[i])
    delays = [activities.start[i] - calls.start[links.call[i]] for i in attribution.order if links.call[i] != NONE]
    return Launches(
        calls=len(lengths),
        host_ms=sum(lengths) / 1e3,
        mean_us=statistics.fmean(lengths) if lengths else 0.0,
        median_delay_us=statistics.median(delays) if delays else 0.0,
        graph_launches=graphs,
        synchronisations=len(waits),
        synchronising_ms=sum(waits) / 1e3,
    )


def _notes(recording: Recording, links: Links, attribution: Attribution, operator_rows: int) -> tuple[str, ...]:
    notes = list(recording.notes)
    strange = mixed_up_kernels(recording, links, attribution)
    if strange:
        notes.append(
            f"in a replayed graph the same kernel takes over {MOST_SPREAD:.0f} times as long as at other times "
            f"({strange[0][:48]}{f' and {len(strange) - 1} more' if len(strange) > 1 else ''}): the profiler may have "
            "mixed up names and times; then categories and kernels are wrong, and the timeline is not"
        )
    left = sum(links.left_over)
    if left:
        activities = recording.activities
        length = sum(activities.end[i] - activities.start[i] for i in range(len(activities)) if links.left_over[i])
        notes.append(f"{left} kernels ({length / 1e3:.3f} ms) were launched before the recording began: left out")
    if recording.hardware:
        notes.append("hardware counters: the profiler runs one kernel at a time, so the idle time is its own")
    if recording.on_cpu:
        notes.append("no GPU activity in it: these are CPU operators and CPU times")
    elif len(recording.operators) == 0:
        notes.append("no operators in it: categories are by kernel name alone, and there is no roofline")
    elif not any(one.dims for one in recording.signatures):
        notes.append("no shapes in it: record with record_shapes=True for a roofline")
    if operator_rows > MAX_OPERATOR_ROWS:
        notes.append(f"the longest {MAX_OPERATOR_ROWS} of {operator_rows} operators are listed")
    return tuple(notes)
