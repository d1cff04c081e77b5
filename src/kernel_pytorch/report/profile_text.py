"""A profile, or the difference of two, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.counted import counted
from kernel_pytorch.perf.advice.rules import LEAST_SHARE
from kernel_pytorch.perf.classify.classifier import TITLES
from kernel_pytorch.perf.diff import Change, ProfileDiff
from kernel_pytorch.perf.hardware_counters import one_way
from kernel_pytorch.perf.profile import OperatorTime, Profile

TOP = 12
NAME_WIDTH = 66


def profile_text(profile: Profile, top: int = TOP) -> str:
    """The whole profile, most important first."""
    return "\n".join(_lines(profile, top)) + "\n"


def _lines(profile: Profile, top: int) -> Iterator[str]:
    yield f"{profile.source}: {profile.form}, {profile.gpu}, {profile.steps} step{'s' if profile.steps != 1 else ''}"
    for note in profile.notes:
        yield f"note: {note}"
    yield ""
    for row in profile.timelines:
        what = "CPU" if profile.device_kind == "cpu" else f"GPU {row.device}"
        yield f"{what}: {row.total_ms:.3f} ms from the first activity to the last"
        for name, value in (
            ("compute", row.compute_ms),
            ("exposed communication", row.exposed_communication_ms),
            ("exposed copies", row.exposed_copy_ms),
            ("idle", row.idle_ms),
        ):
            yield f"  {name:<24}{value:12.3f} ms {_percent(value, row.total_ms)}"
    yield from _idle(profile)
    if profile.unprofiled_ms is not None:
        recorded = profile.total_ms / profile.steps
        yield f"one call takes {profile.unprofiled_ms:.3f} ms without the profiler, {recorded:.3f} ms with it"
    yield ""
    yield f"by category{'':<27}ms   share  kernels   roofline could save at most"
    for one in profile.categories:
        gain = f"{one.most_to_gain_ms:10.3f} ms" if one.modelled_ms else "         - "
        yield f"  {TITLES[one.category]:<26}{one.kernel_ms:12.3f} {100 * one.share:6.1f} % {one.kernels:8d} {gain}"
    known = f"FLOPs and bytes known for {100 * profile.modelled_share:.0f} %"
    yield f"  left in other: {100 * profile.other_share:.2f} %; {known}"
    yield from _operators(profile, top)
    yield from _bases(profile, top)
    yield from _collectives(profile, top)
    yield from _counters(profile, top)
    yield from _launches(profile)
    yield from _rest(profile, top)


def _percent(value: float, total: float) -> str:
    return f"{100 * value / total:6.2f} %" if total else ""


def _idle(profile: Profile) -> Iterator[str]:
    if profile.idle:
        yield "why idle"
        for cause in profile.idle:
            yield f"  {cause.cause:<24}{cause.idle_ms:12.3f} ms {cause.gaps:7d} gaps  {cause.detail}"


def _operators(profile: Profile, top: int) -> Iterator[str]:
    yield ""
    peaks = profile.peaks
    against = (
        f", against {peaks.gpu}: {peaks.bandwidth_gbs:g} GB/s, {peaks.source}" if peaks else " (no GPU known: --gpu)"
    )
    yield f"operators{against}"
    yield f"  {'':<{NAME_WIDTH}}{'calls':>7}{'ms':>10}{'TFLOP/s':>9}{'GB/s':>7}  roofline"
    for row in profile.operators[:top]:
        yield f"  {_short(row):<{NAME_WIDTH}}{row.calls:7d}{row.kernel_ms:10.3f}{_rates(row)}"


def _short(row: OperatorTime) -> str:
    text = f"{row.name} {row.shapes}".strip()
    return text if len(text) < NAME_WIDTH else text[: NAME_WIDTH - 4] + "..."


def _rates(row: OperatorTime) -> str:
    if row.tflops is None or row.gbs is None:
        return f"{'-':>9}{'-':>7}"
    text = f"{row.tflops:9.1f}{row.gbs:7.0f}"
    if row.percent_of_roofline is not None:
        text += f"  {row.percent_of_roofline:.0f} % ({row.limiter})"
    if row.percent_of_achievable is not None:
        text += f", {row.percent_of_achievable:.0f} % of achievable"
    if row.expected_ms is not None and row.low_ms is not None and row.high_ms is not None:
        text += f"; expected {row.expected_ms:.3f} ({row.low_ms:.3f} to {row.high_ms:.3f})"
    return text


def _bases(profile: Profile, top: int) -> Iterator[str]:
    """What the expected times above rest on: sources are named once."""
    bases: dict[str, int] = {}
    for row in profile.operators[:top]:
        if row.basis:
            bases[row.basis] = bases.get(row.basis, 0) + 1
    if bases:
        yield "  expected: four of five such calls take between the two figures in brackets; what they rest on:"
        for basis, count in sorted(bases.items(), key=lambda item: -item[1]):
            yield f"    {count} x {basis}"


def _collectives(profile: Profile, top: int) -> Iterator[str]:
    if not profile.collectives:
        return
    yield ""
    yield "collectives: GPUs, MB sent by each, calls, ms, shortest and median us, GB/s over the links at the shortest"
    for row in profile.collectives[:top]:
        text = f"  {row.name:<16}{row.members:4d}{row.sent_bytes / 1e6:10.3f} MB{row.calls:6d}{row.total_ms:11.3f} ms"
        text += f"{row.least_us:10.1f}{row.median_us:10.1f} us{row.bus_gbs:8.1f} GB/s"
        if row.expected_us is not None and row.low_us is not None and row.high_us is not None:
            text += f"; expected {row.expected_us:.1f} us ({row.low_us:.1f} to {row.high_us:.1f})"
        if row.skew_us is not None:
            text += f"; {row.ranks} ranks begin {row.skew_us:.1f} us apart"
        if row.waiting_ms is not None:
            text += f"; {row.waiting_ms:.3f} ms waiting for others{'' if row.ranks > 1 else ', probably'}"
        yield text
    for basis in dict.fromkeys(row.basis for row in profile.collectives[:top] if row.basis):
        yield f"    expected: {basis}"


def _counters(profile: Profile, top: int) -> Iterator[str]:
    if not profile.counters:
        return
    yield ""
    moved = one_way(profile.counters)
    yield (
        "hardware counters: occupancy, VALU per VMEM, LDS conflicts, L1 and L2 hits, "
        f"GB/s{f' {moved} only' if moved else ''} (share), matrix units busy"
    )
    for row in profile.counters[:top]:
        text = row.name if len(row.name) < NAME_WIDTH else row.name[: NAME_WIDTH - 4] + "..."
        shares = [
            _share(value) for value in (row.occupancy, row.lds_conflicts, row.l1_hit, row.l2_hit, row.matrix_busy)
        ]
        ratio = "-" if row.valu_per_vmem is None else f"{row.valu_per_vmem:.1f}"
        bandwidth = "-" if row.gbs is None else f"{row.gbs:.0f} ({_share(row.share_of_bandwidth)})"
        yield (
            f"  {text:<{NAME_WIDTH}}{shares[0]:>7}{ratio:>8}{shares[1]:>7}{shares[2]:>7}{shares[3]:>7}"
            f"{bandwidth:>14}{shares[4]:>7}"
        )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _launches(profile: Profile) -> Iterator[str]:
    short, launches = profile.short_kernels, profile.launches
    yield ""
    yield (
        f"short kernels (< {short.limit_us:g} us): {short.count}, {100 * short.share_of_kernels:.0f} % of all, "
        f"{short.total_ms:.3f} ms"
    )
    if launches.calls:
        yield (
            f"launches: {launches.calls} calls, {launches.mean_us:.1f} us each on the host "
            f"({launches.host_ms:.3f} ms), kernel starts {launches.median_delay_us:.1f} us after the call (median); "
            f"{launches.graph_launches} graph launches, {launches.synchronisations} synchronising calls"
        )
    for stretch in profile.stretches[:3] if profile.device_kind == "gpu" else ():
        before = f" before {stretch.operator}" if stretch.operator else ""
        yield (
            f"host-bound stretch: {stretch.length_ms:.3f} ms at {stretch.start_ms:.3f} ms, "
            f"{100 * stretch.idle_share:.0f} % idle, longest gap{before}"
        )


def _rest(profile: Profile, top: int) -> Iterator[str]:
    if profile.modules:
        yield ""
        yield "modules (innermost)"
        for module in profile.modules[:top]:
            yield f"  {module.module:<48}{module.kernel_ms:12.3f} ms {module.kernels:7d} kernels"
    if profile.observations:
        yield ""
        yield "seen"
        for seen in profile.observations:
            yield f"  {seen.kind:<28}{seen.count:6d} x {seen.kernel_ms:10.3f} ms  {seen.text}"
    if profile.other_kernels:
        yield ""
        yield "in other"
        for kernel in profile.other_kernels[:5]:
            yield f"  {kernel.total_ms:10.3f} ms {kernel.operator} {kernel.name[:80]}"
    if profile.compile_log is not None:
        yield from _compile(profile)
    yield ""
    yield "what to do (savings are predicted from the times above and overlap; `kpt bench` decides)"
    for number, advice in enumerate(profile.advice, start=1):
        yield f"  {number}. {advice.saving_ms:.3f} ms  rung {advice.rung}  {advice.title}: {advice.action}"
        yield f"     {advice.why}"
        yield f"     {advice.how}"
    if not profile.advice:
        yield f"  nothing that would save {100 * LEAST_SHARE:g} % of the time was found"


def _compile(profile: Profile) -> Iterator[str]:
    log = profile.compile_log
    assert log is not None
    yield ""
    nodes = sum(graph.nodes for graph in log.graphs)
    yield f"torch.compile: {counted(len(log.graphs), 'graph')}, {nodes} nodes, {log.seconds:.1f} s"
    for graph in sorted(log.graphs, key=lambda one: -one.nodes)[:5]:
        mix = ", ".join(f"{name} {count}" for name, count in list(graph.operators.items())[:6])
        yield f"  graph {graph.number}: {graph.nodes} nodes, {graph.seconds:.2f} s: {mix}"
    for one in log.breaks:
        yield f"  break at {one.place} ({one.count} x): {one.reason}"
        if one.code:
            yield f"    {one.code}"
        yield f"    {one.fix}"
    for again in log.recompiles:
        yield f"  recompiled {again.function} ({again.count} x): {again.reason}"
        yield f"    {again.fix}"


def diff_text(found: ProfileDiff, top: int = TOP) -> str:
    """A comparison as text; negative is faster."""
    lines = [f"A: {found.a} ({found.a_gpu})", f"B: {found.b} ({found.b_gpu})"]
    lines += [f"note: {note}" for note in found.notes]
    for title, rows in (
        ("timeline", found.timeline),
        ("by category", found.categories),
        ("operators", found.operators),
    ):
        lines += ["", f"{title:<{NAME_WIDTH}}{'A ms':>11}{'B ms':>11}{'change':>11}   B/A"]
        lines += [_change(row) for row in rows[:top] if row.a_ms or row.b_ms]
    return "\n".join(lines) + "\n"


def _change(row: Change) -> str:
    name = TITLES.get(row.name, row.name)
    short = name if len(name) < NAME_WIDTH - 2 else name[: NAME_WIDTH - 6] + "..."
    ratio = f"{row.ratio:6.2f}" if row.ratio is not None else "   new"
    return f"  {short:<{NAME_WIDTH - 2}}{row.a_ms:11.3f}{row.b_ms:11.3f}{row.change_ms:+11.3f} {ratio}"
