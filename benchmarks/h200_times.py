#!/usr/bin/env python3
"""Times of some 1,500 calls of torch's operators on an H200, for expected times to be fitted to and tested on.

    python benchmarks/h200_times.py --out times.json [--trace trace.json.gz]      on the H200: two minutes
    python benchmarks/h200_times.py --dry                                         the list of calls; measures nothing
    python benchmarks/h200_times.py --meta                                        makes each call without a device

What is called is in h200_cases.py, with the split into a fit and a test side, how in h200_calls.py. torch's profiler
records it, as it records what users send; a row is one operator with its shapes, as `kpt profile` reads them, and the
median over its calls of the sum of its kernels. Before each call the L2 is written over and the call's activations are
written, since in a model the kernel before has done both. Calls wait behind a kernel that does nothing, so that none
finds the GPU idle; small ones are measured a second time with the GPU idle before each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from h200_cases import Case, cases

CALLS = 5
COMPILE_LIMIT_S, LIMIT_S = 45.0, 100.0  # nothing more is compiled, and nothing more measured, after this
OVER = 128 << 20  # bytes: more than twice the L2
WAITING = 3_000_000  # cycles: as long as the host takes to launch the calls of a case
MARK = "case "


def measure(chosen: Sequence[Case], device: str, trace: Path) -> dict[str, str]:
    """Records the calls; the answer has what could not be measured, and why."""
    import torch
    from h200_calls import made

    over = torch.empty(OVER, dtype=torch.uint8, device=device)
    began = time.perf_counter()
    left_out = compile_all(chosen, device)
    print(f"compiled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    kinds = [torch.profiler.ProfilerActivity.CPU]
    kinds += [torch.profiler.ProfilerActivity.CUDA] if device == "cuda" else []
    with torch.no_grad(), torch.profiler.profile(activities=kinds, record_shapes=True) as profiler:
        for number, case in enumerate(chosen):
            if str(case) in left_out:
                continue
            if time.perf_counter() - began > LIMIT_S:
                left_out[str(case)] = "no time was left"
                continue
            try:
                _record(torch, made(case, device), number, case, over)
            except (RuntimeError, NotImplementedError, ValueError) as error:
                left_out[str(case)] = reason(error)
            if device == "cuda" and number % 200 == 0:
                torch.cuda.empty_cache()
    profiler.export_chrome_trace(str(trace))
    print(f"recorded in {time.perf_counter() - began:.0f} s, {len(left_out)} left out", file=sys.stderr)
    return left_out


def compile_all(chosen: Sequence[Case], device: str) -> dict[str, str]:
    """Compiles what is to be compiled, before anything is recorded; the answer has what was not."""
    import torch
    import torch._dynamo.config
    from h200_calls import made

    torch._dynamo.config.recompile_limit = len(chosen)
    left_out: dict[str, str] = {}
    began = time.perf_counter()
    for case in (one for one in chosen if one.category == "compiled"):
        if time.perf_counter() - began > COMPILE_LIMIT_S:
            left_out[str(case)] = "no time was left to compile it"
            continue
        try:
            with torch.no_grad():
                made(case, device).run()
        except (RuntimeError, NotImplementedError, ValueError) as error:
            left_out[str(case)] = reason(error)
    return left_out


def reason(error: Exception) -> str:
    """The first line of what went wrong."""
    return (str(error).splitlines() or [""])[0][:300] or type(error).__name__


def _record(torch: Any, call: Any, number: int, case: Case, over: Any) -> None:
    """The calls of one case, queued and, where it is asked for, on an idle GPU."""
    on_gpu = over.device.type == "cuda"
    call.run()
    for state in ("queued", "idle") if case.idle else ("queued",):
        if on_gpu:
            torch.cuda.synchronize()
        if on_gpu and state == "queued":
            torch.cuda._sleep(WAITING)
        for _ in range(CALLS):
            over.zero_()
            for one in call.activations:
                one.neg_()
            if on_gpu and state == "idle":
                torch.cuda.synchronize()
            with torch.profiler.record_function(f"{MARK}{number} {state}"):
                call.run()
    if on_gpu:
        torch.cuda.synchronize()


def rows(trace: Path, chosen: Sequence[Case]) -> list[dict[str, object]]:
    """What was recorded, a row for each operator of each call."""
    from kernel_pytorch.perf.classify.attribution import attribute
    from kernel_pytorch.perf.kernel_starts import starts
    from kernel_pytorch.perf.recorded_work import RecordedRows
    from kernel_pytorch.perf.trace.linking import enclosing, link
    from kernel_pytorch.perf.trace.open import open_recording
    from kernel_pytorch.perf.trace.recording import NONE

    recording = open_recording(trace)
    links = link(recording)
    attribution = attribute(recording, links)
    found = RecordedRows(recording, links, attribution)
    begin = starts(recording, links, attribution.order)
    marks = enclosing(recording.operators, recording.annotations)
    # By mark and signature, the kernels of each call.
    runs: dict[tuple[str, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in attribution.order:
        operator = links.operator[i]
        mark = marks[operator] if operator != NONE else NONE
        name = recording.strings[recording.annotations.label[mark]] if mark != NONE else ""
        if name.startswith(MARK):
            runs[name, found.row(i).signature][mark].append(i)
    activities, result = recording.activities, []
    for (name, signature), calls in runs.items():
        number, state = name.removeprefix(MARK).split()
        case, one = chosen[int(number)], recording.signatures[signature]
        times = [sum(activities.end[i] - activities.start[i] for i in run) for run in calls.values()]
        first = next(iter(calls.values()))
        result.append({
            "side": case.side, "model": case.model, "category": case.category, "call": case.call, "state": state,
            "operator": one.name, "dims": one.dims, "types": one.types, "strides": one.strides,
            "concrete": one.concrete,
            "us": round(statistics.median(times), 3), "least": round(min(times), 3), "most": round(max(times), 3),
            "calls": len(times),
            "kernels": [recording.strings[activities.name[i]][:120] for i in first],
            "idle": statistics.mean(begin.idle[run[0]] for run in calls.values()),
            "cold": statistics.mean(begin.cold[run[0]] for run in calls.values()),
        })  # fmt: skip
    return result


def try_on_meta(chosen: Sequence[Case]) -> int:
    """Makes each call on the meta device, where shapes and types are checked and nothing is computed."""
    import torch
    from h200_calls import made

    bad = 0
    with torch.no_grad():
        for case in chosen:
            try:
                made(case, "meta").run()
            except (RuntimeError, NotImplementedError, ValueError, TypeError) as error:
                bad += 1
                print(f"{case}: {reason(error)}")
    print(f"{len(chosen)} calls made on the meta device, {bad} fail; nothing was measured")
    return int(bad > 0)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="print the list of calls, measure nothing")
    parser.add_argument("--meta", action="store_true", help="make each call on torch's meta device, measure nothing")
    parser.add_argument("--out", type=Path, help="where the rows are written")
    parser.add_argument("--trace", type=Path, help="keep torch's trace, too")
    args = parser.parse_args()
    chosen = cases()
    if args.dry:
        print("\n".join(map(str, chosen)))
        counts = Counter((case.category, case.side) for case in chosen)
        print("\n".join(f"{category}, {side}: {count}" for (category, side), count in sorted(counts.items())))
        print(f"{len(chosen)} calls; nothing was measured")
        return 0
    if args.meta:
        return try_on_meta(chosen)
    import torch

    if args.out is None or not torch.cuda.is_available():
        print("--out FILE and an NVIDIA GPU are needed; --dry prints what would be called", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        trace = args.trace or Path(folder) / "trace.json.gz"
        left_out = measure(chosen, "cuda", trace)
        found = {
            "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "calls": CALLS, "left_out": left_out, "rows": rows(trace, chosen),
        }  # fmt: skip
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in found.pop("rows"))
    args.out.write_text(f'{json.dumps(found)[:-1]}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{args.out}: {lines.count(chr(10)) + 1} rows")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
