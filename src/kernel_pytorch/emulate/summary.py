"""What a run found, as lines for a person: faults with their places, counts by kernel, hot source lines."""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from collections.abc import Iterator

from kernel_pytorch.core.counted import counted
from kernel_pytorch.emulate.codegen.fidelity import KINDS
from kernel_pytorch.emulate.events import Events
from kernel_pytorch.emulate.run import Outcome
from kernel_pytorch.toolchain.kernel_symbols import readable_name

_SHOWN = 20
_SHOWN_CALLS = 6


def fault_lines(events: Events) -> Iterator[str]:
    """Every kind of fault at every place once, with how often it was seen."""
    groups: dict[tuple[str, str, str], int] = Counter((f.kind, f.kernel, f.place) for f in events.faults)
    for (kind, kernel, place), count in list(groups.items())[:_SHOWN]:
        first = next(f for f in events.faults if (f.kind, f.kernel, f.place) == (kind, kernel, place))
        times = f" ({count} times)" if count > 1 else ""
        if not place:
            # No instruction is at fault: the launch itself was refused, or no wave went on.
            yield f"{kind}{times} in {readable_name(kernel)}"
        elif first.between_streams:
            yield f"{kind}{times}: {readable_name(kernel)} at {place}"
        else:
            yield f"{kind}{times} in {readable_name(kernel)} at {place}: {first.thread}"
            yield f"    {first.instruction}" if first.file else "    (build from source for source lines)"
        for text in (first.detail, first.hardware):
            if text:
                yield f"    {text}"
    if len(groups) > _SHOWN:
        yield f"... and {len(groups) - _SHOWN} more places"


def fidelity_lines(events: Events) -> Iterator[str]:
    """How near the run is to the hardware's: what was exact, what may differ in the last places, what stood in."""
    near = events.fidelity
    if near is None or not (near.instructions or near.stand_in_calls):
        return
    different = sum(map(len, near.inexact.values()))
    total = counted(near.instructions, "kind of instruction", "kinds of instructions")
    if near.instructions:
        yield f"fidelity: {total} in the kernels that ran, {near.exact} exact" + ("" if different else ", none inexact")
    else:
        yield "fidelity: no kernel ran"
    for kind, names in near.inexact.items():
        yield f"  {len(names)} {KINDS.get(kind, kind)}: {', '.join(names)}"
    if near.stand_in_calls:
        whole = counted(sum(near.stand_in_calls.values()), "library call")
        most = sorted(near.stand_in_calls.items(), key=lambda one: -one[1])
        shown = ", ".join(f"{name} {count}" for name, count in most[:_SHOWN_CALLS])
        rest = f", and {len(most) - _SHOWN_CALLS} more functions" if len(most) > _SHOWN_CALLS else ""
        yield f"  {whole} computed by stand-ins, not by the vendor's kernels: {shown}{rest}"


def profile_lines(events: Events) -> Iterator[str]:
    """Counts per kernel, then the lines where most instructions were executed."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    launches: Counter[str] = Counter()
    for launch in events.launches:
        launches[launch.kernel] += 1
        totals[launch.kernel].update({name: int(value) for name, value in launch.counters.items()})
    for kernel, counts in totals.items():
        yield f"{readable_name(kernel)}: {counted(launches[kernel], 'launch', 'launches')}"
        yield from _counts(counts)
    by_line: Counter[tuple[str, int]] = Counter()
    for hot in events.hot_lines:
        if hot.file:
            by_line[(hot.file, hot.line)] += hot.count
    if by_line:
        whole = sum(by_line.values())
        yield "hot lines (wave instructions executed):"
        for (file, line), count in by_line.most_common(_SHOWN):
            yield f"  {count / whole:6.1%}  {file}:{line}"


def _counts(counts: Counter[str]) -> Iterator[str]:
    classes = ("vector_alu", "scalar_alu", "vector_memory", "scalar_memory", "lds", "matrix", "branch", "barrier")
    yield "  instructions: " + ", ".join(f"{name.replace('_', ' ')} {counts[name]}" for name in classes if counts[name])
    if counts["possible_lanes"]:
        yield f"  lanes active in vector instructions: {counts['active_lanes'] / counts['possible_lanes']:.1%}"
    if counts["lines_touched"]:
        ideal = counts["lines_ideal"] / counts["lines_touched"]
        moved = counts["global_bytes_read"], counts["global_bytes_written"]
        yield f"  global memory: {moved[0]} bytes read, {moved[1]} written; coalescing {ideal:.1%} of ideal"
    if counts["lds_accesses"]:
        extra = counts["lds_conflict_cycles"]
        yield f"  LDS: {counts['lds_accesses']} accesses, {extra} extra cycles by bank conflicts"


def torch_lines(events: Events) -> Iterator[str]:
    """What torch did on its emulated GPU, where the program used torch."""
    if events.operators:
        calls = sum(events.operators.values())
        most = sorted(events.operators.items(), key=lambda item: -item[1])[:5]
        named = ", ".join(f"{name.removeprefix('aten::')} {count}" for name, count in most)
        kinds = counted(len(events.operators), "kind")
        yield (
            f"torch: {counted(calls, 'ATen operator')} computed on the CPU ({kinds}: {named}); "
            f"{counted(len(events.launches), 'kernel launch', 'kernel launches')} ran as the GPU's machine code"
        )


def ending(outcome: Outcome) -> str:
    """How the program ended, after the words "the program"."""
    if outcome.exit_code is None:
        return "was stopped: --timeout is over"
    if outcome.exit_code < 0:
        try:
            name = signal.Signals(-outcome.exit_code).name
        except ValueError:
            name = f"signal {-outcome.exit_code}"
        return f"was ended by {name} on the host, not by a kernel" if name == "SIGSEGV" else f"was ended by {name}"
    return f"ended with status {outcome.exit_code}"
