"""The table from category to action: each rule looks at a profile and says what could be saved, and on which rung.

Rungs are those of `kpt optimize`: 1 environment, 2 torch.compile and graphs, 3 model surgery, 4 kernels and Inductor
tuning, 5 kernels for one architecture. Savings are against what tuned kernels reach on this GPU (perf/expected), not
against the roofline; they overlap (a fused chain may hold a cast), so they do not add up. `kpt bench` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.classify import idle, observations
from kernel_pytorch.perf.classify.seen import Observation
from kernel_pytorch.perf.expected.expected import Total, expected_time, total
from kernel_pytorch.perf.profile import Advice, OperatorTime, Profile
from kernel_pytorch.perf.roofline.forms import Attended, Product
from kernel_pytorch.perf.roofline.routed import is_routed_kernel
from kernel_pytorch.perf.roofline.shapes import DTYPES
from kernel_pytorch.perf.roofline.work import Work

Rule = Callable[[Profile], Iterator[Advice]]
# Below this share of the total a saving is not worth a person's time.
LEAST_SHARE = 0.002
# With this much between launch and start (median) the host is ahead of the GPU.
RUNS_AHEAD_US = 500.0
FEW_KEYS = 64
# Titles that rungs of `kpt optimize` look for.
SLOW_GEMM = "GEMM slower than tuned ones"
LAUNCH_GAPS = "launch gaps"
SLOW_ATTENTION = "attention slower than usual"


def advise(profile: Profile) -> Profile:
    """The profile with its advice, largest saving first."""
    found = [advice for rule in RULES for advice in rule(profile)]
    floor = LEAST_SHARE * profile.total_ms
    kept = [one for one in found if one.saving_ms >= floor or (one.saving_ms == 0.0 and one.category == "compile")]
    return replace(profile, advice=tuple(sorted(kept, key=lambda one: -one.saving_ms)))


def _idle_ms(profile: Profile, *causes: str) -> float:
    return sum(row.idle_ms for row in profile.idle if row.cause in causes)


def _observed(profile: Profile, kind: str) -> list[Observation]:
    return [one for one in profile.observations if one.kind == kind]


def _reachable_ms(row: OperatorTime) -> float:
    """What tuned kernels take for this on this GPU; where that is not known, what was measured as its ceiling."""
    if row.reachable_ms is not None:
        return row.reachable_ms
    percent = row.percent_of_achievable or row.percent_of_roofline or 100.0
    return row.kernel_ms * percent / 100


def _beyond_reachable(row: OperatorTime) -> float:
    """What can be had: nothing, where the measured time is inside the interval of what is expected."""
    reachable = _reachable_ms(row)
    # The interval belongs to the usual time; the tuned one is not known better.
    slack = row.high_ms / row.expected_ms if row.high_ms and row.expected_ms else 1.0
    return row.kernel_ms - reachable if row.kernel_ms > slack * reachable else 0.0


def _start_ms(profile: Profile) -> float | None:
    """What a product with next to no work takes on this GPU."""
    if profile.peaks is None or not profile.peaks.alias:
        return None
    least = Work(2, 6, "bf16", matrix=True, form=Product(1, 1, 1, 1))
    found = expected_time(gpu_by_alias(profile.peaks.alias), least)
    return found.us / 1e3 if found else None


def _reach(row: OperatorTime) -> str:
    if row.reachable_ms is None:
        return "no expected time for this GPU"
    return f"tuned kernels take {row.reachable_ms:.3f} ms"


def launch_gaps(profile: Profile) -> Iterator[Advice]:
    """The GPU waits for the host."""
    waiting = _idle_ms(profile, idle.HOST, idle.LATENCY)
    slowed = ""
    if profile.unprofiled_ms is not None:
        # The profiler makes every launch dearer: what it adds cannot be saved.
        busy = sum(row.busy_ms for row in profile.timelines)
        real = max(0.0, profile.unprofiled_ms * profile.steps - busy)
        if real < waiting:
            waiting, slowed = real, " (the profiler's own cost taken off)"
    if profile.device_kind == "cpu" or waiting <= 0:
        return
    kernels = sum(row.kernels for row in profile.categories)
    why = (
        f"the GPU waited {waiting:.3f} of {profile.total_ms:.3f} ms for the host{slowed}; {kernels} kernels, "
        f"{profile.short_kernels.share_of_kernels:.0%} of them under {profile.short_kernels.limit_us:g} us"
    )
    if profile.launches.median_delay_us > RUNS_AHEAD_US and not profile.launches.graph_launches:
        ahead = profile.launches.median_delay_us / 1e3
        why += f"; the host is {ahead:.1f} ms ahead mostly, so this is where the queue was empty, as at the beginning"
    action = "torch.compile, then one graph for the whole call"
    how = 'torch.compile(model, mode="default"); fix graph breaks; if gaps remain, capture the whole call as a graph'
    if profile.launches.graph_launches:
        action, how = (
            "graphs for the rest",
            "some of it is replayed as graphs already: capture what runs outside of them",
        )
    elif any(observations.is_generated(row.name) for row in profile.kernels):
        action = "one graph for the whole call"
        how = "it is compiled already: fix graph breaks, then capture the whole call as a graph"
    yield Advice(LAUNCH_GAPS, action, 2, waiting, "idle", why, how)


def synchronisations(profile: Profile) -> Iterator[Advice]:
    """Calls that let the queue run dry."""
    lost = _idle_ms(profile, idle.SYNC)
    if lost > 0:
        why = f"{profile.launches.synchronisations} calls waited for the GPU, and it then waited {lost:.3f} ms for work"
        how = "look for .item(), .cpu(), bool(tensor), print(tensor), torch.cuda.synchronize() in the loop"
        yield Advice("synchronisation", "keep values on the GPU", 3, lost, "idle", why, how)


def data_loading(profile: Profile) -> Iterator[Advice]:
    """The host fetches data while the GPU waits."""
    lost = _idle_ms(profile, idle.LOADER)
    if lost > 0:
        how = "more DataLoader workers, pin_memory=True, non_blocking=True copies, prefetching"
        yield Advice(
            "data loading", "load ahead of the GPU", 3, lost, "idle", f"{lost:.3f} ms of waiting for data", how
        )


def fusible_chains(profile: Profile) -> Iterator[Advice]:
    """Memory-bound kernels in a row."""
    compiled = any(observations.is_generated(row.name) for row in profile.kernels)
    for one in _observed(profile, observations.FUSIBLE):
        why = f"{one.count} runs of memory-bound kernels take {one.kernel_ms:.3f} ms; fused, the longest of each stays"
        how = 'torch.compile(mode="default") fuses them; Triton kernels for what it leaves'
        if compiled:
            why += "; these are outside what is compiled"
        yield Advice("unfused elementwise", "fuse with torch.compile", 2, one.saving_ms, "elementwise", why, how)


def hand_written_attention(profile: Profile) -> Iterator[Advice]:
    """bmm, softmax, bmm: against what an attention kernel takes for the same sizes, where that is known."""
    for one in _observed(profile, observations.HAND_WRITTEN_ATTENTION):
        usual = _attention_kernels(profile, one)
        how = "F.scaled_dot_product_attention, or flash attention; mind the causal mask when q_len != k_len"
        if usual is None:
            saving = one.saving_ms
            why = f"{one.count} times product, softmax, product: {one.kernel_ms:.3f} ms, {saving:.3f} in between"
        else:
            saving = one.kernel_ms - usual.us / 1e3
            why = (
                f"{one.count} times product, softmax, product: {one.kernel_ms:.3f} ms; attention kernels usually take "
                f"{usual.us / 1e3:.3f} ms for that ({usual.low_us / 1e3:.3f} to {usual.high_us / 1e3:.3f})"
            )
        if saving > 0:
            yield Advice("hand-written attention", "use SDPA", 3, saving, "attention", why, how)


def _attention_kernels(profile: Profile, seen: Observation) -> Total | None:
    """What all of it takes with an attention kernel; None where a size or the GPU is not known."""
    gpu = gpu_by_alias(profile.peaks.alias) if profile.peaks and profile.peaks.alias else None
    if gpu is None or sum(run.count for run in seen.attention) != seen.count:
        return None
    times, kept = [], 0.0
    for run in seen.attention:
        if run.keys < FEW_KEYS:
            kept += run.kernel_ms * 1e3  # thousands of tiny problems: nobody measured attention kernels on those
            continue
        size, arithmetic = DTYPES.get(run.dtype, (4, "fp32"))
        flops = 4 * run.heads * run.queries * run.keys * run.head
        moved = 2 * run.heads * (run.queries + run.keys) * run.head * size
        form = Attended(1, run.heads, run.queries, run.keys, run.head)
        found = expected_time(gpu, Work(flops, moved, arithmetic, matrix=True, form=form))
        if found is None:
            return None
        times += [found] * run.count
    usual = total(times)
    return Total(usual.us + kept, usual.low_us + kept, usual.high_us + kept) if usual else None


def hand_written_norms(profile: Profile) -> Iterator[Advice]:
    """Norms in several kernels."""
    for one in _observed(profile, observations.HAND_WRITTEN_NORM):
        why = f"{one.count} norms of several kernels each take {one.kernel_ms:.3f} ms (counted in the fusible runs too)"
        how = "torch.nn.RMSNorm / F.rms_norm under torch.compile, or a Triton RMSNorm (add + RMSNorm in one)"
        yield Advice("hand-written norm", "one kernel per norm", 4, one.saving_ms, "norm", why, how)


def dtype_copies(profile: Profile) -> Iterator[Advice]:
    """Casts as kernels of their own."""
    found = _observed(profile, observations.DTYPE_COPIES)
    total = sum(one.saving_ms for one in found)
    if found:
        kinds = ", ".join(f"{one.count} x {one.text}" for one in found[:3])
        how = "keep one dtype through the layer; under torch.compile the casts fuse into their neighbours"
        yield Advice("dtype copies", "fewer casts", 3, total, "copy", f"{kinds}: {total:.3f} ms", how)


def layout_copies(profile: Profile) -> Iterator[Advice]:
    """contiguous() and transposes that move memory."""
    for one in _observed(profile, observations.LAYOUT_COPIES):
        how = "drop .contiguous() where the consumer takes strides; choose the layout the next kernel wants"
        why = f"{one.count} copies that only change strides: {one.kernel_ms:.3f} ms"
        yield Advice("layout copies", "fewer layout changes", 3, one.saving_ms, "copy", why, how)


def gemm_below_achievable(profile: Profile) -> Iterator[Advice]:
    """Matrix products that the library could do faster."""
    # The products of hand-written attention are that rule's business, those of experts the next one's.
    attention = bool(_observed(profile, observations.HAND_WRITTEN_ATTENTION))
    rows = [
        row
        for row in profile.operators
        if row.category == "gemm" and row.best_ms is not None and not is_routed_kernel(row.name)
        if not (attention and row.name in ("aten::bmm", "aten::baddbmm"))
    ]
    lost, worst = 0.0, None
    for row in rows:
        saving = _beyond_reachable(row)
        lost += saving
        if worst is None or saving > worst[0]:
            worst = (saving, row)
    if worst is None or lost <= 0:
        return
    row = worst[1]
    amd = profile.vendor == "amd"
    how = (
        "PYTORCH_TUNABLEOP_ENABLED=1, TORCH_BLAS_PREFER_HIPBLASLT=1, then aiter's tuned GEMM for the shapes below"
        if amd
        else 'torch.compile(mode="max-autotune-no-cudagraphs") for these shapes; check cuBLASLt heuristics'
    )
    limiter = f", limited by {row.limiter}" if row.limiter else ""
    why = (
        f"most of it in {row.name} {row.shapes}: {row.kernel_ms:.3f} ms, {_reach(row)}; "
        f"{row.percent_of_roofline:.0f} % of the roofline{limiter}"
    )
    yield Advice(SLOW_GEMM, "tune the GEMM library", 1 if amd else 4, lost, "gemm", why, how)


def experts_below_achievable(profile: Profile) -> Iterator[Advice]:
    """Products of a mixture of experts that tuned kernels do faster."""
    rows = [row for row in profile.operators if is_routed_kernel(row.name) and row.reachable_ms is not None]
    lost = sum(_beyond_reachable(row) for row in rows)
    if lost <= 0:
        return
    worst = max(rows, key=_beyond_reachable)
    why = (
        f"the experts' products take {sum(row.kernel_ms for row in rows):.3f} ms, most of what can be had in "
        f"{worst.name}: {worst.kernel_ms:.3f} ms, {_reach(worst)} ({worst.basis})"
    )
    how = (
        "aiter's fused MoE where it has the format (vLLM: VLLM_ROCM_USE_AITER_MOE=1); else other tiles for this size"
        if profile.vendor == "amd"
        else "another MoE back end of the engine, or other tiles for this size"
    )
    yield Advice("experts slower than tuned ones", "another MoE kernel", 4, lost, "gemm", why, how)


def attention_below_roofline(profile: Profile) -> Iterator[Advice]:
    """Attention kernels slower than they usually are."""
    rows = [row for row in profile.operators if row.category == "attention" and row.best_ms is not None]
    lost = sum(_beyond_reachable(row) for row in rows)
    spent = sum(row.kernel_ms for row in rows)
    if rows and lost > 0:
        usual = sum(min(row.kernel_ms, _reachable_ms(row)) for row in rows)
        why = f"attention takes {spent:.3f} ms; such shapes usually take {usual:.3f} ms on this GPU"
        how = "try the other SDPA back ends; on CDNA aiter's flash attention through torch.ops.aiter (compile-safe)"
        yield Advice(SLOW_ATTENTION, "another attention kernel", 5, lost, "attention", why, how)


def full_precision_gemm(profile: Profile) -> Iterator[Advice]:
    """fp32 products where a faster mode exists."""
    for one in _observed(profile, observations.FULL_PRECISION_GEMM):
        peaks = profile.peaks
        if peaks is None or "tf32" not in peaks.matrix:
            continue
        base = peaks.matrix.get("fp32") or peaks.vector.get("fp32") or 0.0
        ratio = base / peaks.matrix["tf32"]
        how = 'torch.set_float32_matmul_precision("high"), or bf16; on gfx942 that is XF32, whose error grows with K'
        why = f"{one.count} products in fp32 take {one.kernel_ms:.3f} ms"
        yield Advice("fp32 GEMM", "allow TF32/XF32 or use bf16", 1, one.kernel_ms * (1 - ratio), "gemm", why, how)


def shared_input_gemms(profile: Profile) -> Iterator[Advice]:
    """Q, K, V and gate, up: one product instead of several."""
    for one in _observed(profile, observations.SAME_INPUT_GEMMS):
        rows = [row for row in profile.operators if row.category == "gemm" and row.limiter in ("memory", "latency")]
        # Joined, each of them starts no kernel of its own; those limited by their bytes read the input once less.
        start = _start_ms(profile)
        beyond = sum(row.kernel_ms - (row.best_ms or 0.0) for row in rows)
        saving = min(one.kernel_ms, beyond) if start is None else min(one.kernel_ms, one.count * start)
        if saving > 0:
            why = f"{one.count} products follow one with the same input; those limited by memory or latency gain"
            how = "join the weights (QKV, gate+up); measure: at large sizes the gain is under a per cent"
            yield Advice("GEMMs that share an input", "join the projections", 3, saving, "gemm", why, how)


def communication(profile: Profile) -> Iterator[Advice]:
    """Collectives nothing hides: the part that waits for a late rank cannot be had by overlapping."""
    exposed = sum(row.exposed_communication_ms for row in profile.timelines)
    total = sum(row.communication_ms for row in profile.timelines)
    if exposed <= 0 or total <= 0:
        return
    waiting = min(total, sum(row.waiting_ms or 0.0 for row in profile.collectives)) * exposed / total
    if waiting > 0:
        seen = any(row.ranks > 1 for row in profile.collectives)
        sure = "" if seen else " by the expected time of these sizes; give the other ranks' traces with --rank to see"
        why = f"{waiting:.3f} of {exposed:.3f} ms of exposed communication waits for a rank that comes later{sure}"
        how = "find the late rank: data loading, uneven batches, a slower GPU, work that only one rank does"
        yield Advice("late ranks", "make the ranks arrive together", 3, waiting, "communication", why, how)
    if exposed > waiting:
        queues = "; with RCCL GPU_MAX_HW_QUEUES=2" if profile.vendor == "amd" else ""
        how = f"overlap with compute (FSDP prefetch, async collectives, larger buckets){queues}"
        why = f"{exposed - waiting:.3f} ms of transfer run while nothing computes, of {total:.3f} ms of communication"
        yield Advice("exposed communication", "overlap it", 1, exposed - waiting, "communication", why, how)


def host_copies(profile: Profile) -> Iterator[Advice]:
    """Copies nothing hides, held against the link to the host."""
    exposed = sum(row.exposed_copy_ms for row in profile.timelines)
    if exposed > 0:
        over = [
            row for row in profile.operators if row.name == "aten::copy_" and row.limiter is None and row.expected_ms
        ]
        why = f"{exposed:.3f} ms"
        if over:
            moved, spent = sum((row.bytes or 0) * row.calls / 2 for row in over), sum(row.kernel_ms for row in over)
            usual = sum(row.expected_ms or 0.0 for row in over)
            size = f"{moved / 1e6:.1f} MB" if moved >= 1e5 else f"{moved / 1e3:.1f} kB"
            why += f"; {size} over the link to the host took {spent:.3f} ms, usually {usual:.3f} ms"
        how = "pin_memory and non_blocking=True on a second stream; keep what is reused on the GPU"
        yield Advice("exposed copies", "overlap or avoid them", 3, exposed, "copy", why, how)


def compile_trouble(profile: Profile) -> Iterator[Advice]:
    """Graph breaks and recompilations; their cost shows up as gaps, so no saving is claimed twice."""
    log = profile.compile_log
    breaks = _observed(profile, observations.GRAPH_BREAKS)
    count = sum(one.count for one in log.breaks) if log else len(breaks)
    if count:
        why = f"{count} graph breaks" + (
            f", first at {log.breaks[0].place}: {log.breaks[0].reason}" if log and log.breaks else ""
        )
        how = log.breaks[0].fix if log and log.breaks else 'TORCH_LOGS="graph_breaks" names the lines'
        yield Advice("graph breaks", "fix them before anything on rung 3", 2, 0.0, "compile", why, how)
    again = (
        sum(one.count for one in log.recompiles)
        if log
        else sum(o.count for o in _observed(profile, observations.RECOMPILES))
    )
    if again:
        how = "mark_dynamic for sizes that vary; keep Python numbers out of the arguments"
        yield Advice("recompilation", "stop recompiling", 2, 0.0, "compile", f"{again} recompilations", how)


RULES: tuple[Rule, ...] = (
    launch_gaps,
    synchronisations,
    data_loading,
    fusible_chains,
    hand_written_attention,
    hand_written_norms,
    dtype_copies,
    layout_copies,
    gemm_below_achievable,
    experts_below_achievable,
    attention_below_roofline,
    full_precision_gemm,
    shared_input_gemms,
    communication,
    host_copies,
    compile_trouble,
)
