#!/usr/bin/env python3
"""`kpt profile` beside TraceLens on the same trace, in the same run: seconds and peak memory.

    git clone https://github.com/AMD-AGI/TraceLens && python -m venv /tmp/peer && /tmp/peer/bin/pip install ./TraceLens
    python benchmarks/trace_peers.py TRACE.json.gz --tracelens /tmp/peer/bin/TraceLens_generate_perf_report_pytorch

(The `tracelens` on PyPI is another project.) TRACE is a real trace; its events are repeated, moved in time and
renumbered, until the file has the size asked for. A peer that is not given, or that does not fit into --limit-gb of
memory, is reported as such. Both write their whole report: kpt as JSON, TraceLens as CSV files.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NUMBERED = ("External id", "correlation", "Record function id", "Ev Idx", "Python id", "Python parent id")


@dataclass(frozen=True)
class Run:
    """One run of one tool; `seconds` is None where it failed."""

    seconds: float | None
    cpu_seconds: float
    peak_mb: float
    note: str = ""


def main() -> int:
    """Makes the traces, runs both tools in turns, prints ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, help="a chrome trace of torch.profiler")
    parser.add_argument("--mb", type=int, nargs="+", default=[100, 1000], help="sizes to make")
    parser.add_argument("--tracelens", type=Path, help="TraceLens_generate_perf_report_pytorch")
    parser.add_argument("--peer-mb", type=int, help="the largest size to give to the peer (default: all)")
    parser.add_argument("--limit-gb", type=float, default=12.0, help="memory a tool may take")
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for size in args.mb:
            trace = Path(folder) / f"trace_{size}.json"
            repeats = repeat_trace(args.trace, trace, size << 20)
            print(f"{trace.stat().st_size / 2**20:.0f} MB ({repeats} repeats)", flush=True)
            done: dict[str, list[Run]] = {}
            for _ in range(args.runs):
                for name, command in commands(args, trace, Path(folder), size).items():
                    done.setdefault(name, []).append(run(command, args.limit_gb))
            report(done)
            trace.unlink()
    return 0


def repeat_trace(source: Path, target: Path, size: int) -> int:
    """Writes the trace again and again, each time later and with ids of its own."""
    opened: Callable[..., Any] = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as file:
        document = json.load(file)
    events = document.pop("traceEvents")
    times = [event["ts"] for event in events if isinstance(event.get("ts"), (int, float))]
    ends = [event["ts"] + event.get("dur", 0) for event in events if isinstance(event.get("ts"), (int, float))]
    span = max(ends) - min(times) + 1000
    stride = 1 + max(number for event in events for number in _numbers(event))
    repeats = 0
    with target.open("w", encoding="utf-8") as out:
        head = json.dumps(document, indent=2)
        out.write(head[: head.rindex("}")].rstrip() + ',\n  "traceEvents": [\n')
        while out.tell() < size:
            for event in events:
                if repeats and event.get("ph") == "M":
                    continue
                moved = moved_event(event, repeats, span, stride)
                first = repeats == 0 and event is events[0]
                out.write(("" if first else ",\n") + "  " + json.dumps(moved, indent=2).replace("\n", "\n  "))
            repeats += 1
        out.write("\n  ]\n}\n")
    return repeats


def _numbers(event: dict[str, Any]) -> list[int]:
    arguments = event.get("args")
    values = [arguments.get(key) for key in NUMBERED] if isinstance(arguments, dict) else []
    return [value for value in (0, event.get("id"), *values) if isinstance(value, int)]


def moved_event(event: dict[str, Any], repeat: int, span: float, stride: int) -> dict[str, Any]:
    """The event of a later repeat."""
    moved = dict(event)
    if isinstance(moved.get("ts"), (int, float)):
        moved["ts"] = round(moved["ts"] + repeat * span, 3)
    if isinstance(moved.get("id"), int):
        moved["id"] += repeat * stride
    if isinstance(moved.get("args"), dict):
        moved["args"] = {
            key: value + repeat * stride if key in NUMBERED and isinstance(value, int) else value
            for key, value in moved["args"].items()
        }
    return moved


def commands(args: argparse.Namespace, trace: Path, folder: Path, size: int) -> dict[str, list[str]]:
    """What to run."""
    result = {"kpt profile": [sys.executable, "-m", "kernel_pytorch", "profile", str(trace), "--json"]}
    if args.tracelens and size <= (args.peer_mb or size):
        output = folder / "peer_csvs"
        result["TraceLens"] = [
            str(args.tracelens), "--profile_json_path", str(trace), "--output_csvs_dir", str(output),
        ]  # fmt: skip
    return result


def run(command: list[str], limit_gb: float) -> Run:
    """Seconds and peak memory of a command, under a limit."""

    def limit() -> None:
        most = int(limit_gb * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    started = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        errors.seek(0)
        words = errors.read().decode(errors="replace").strip().splitlines()
    peak = usage.ru_maxrss / 1024
    cpu = usage.ru_utime + usage.ru_stime
    if process.returncode != 0:
        return Run(None, cpu, peak, f"failed: {words[-1][:120] if words else process.returncode}")
    return Run(seconds, cpu, peak)


def report(done: dict[str, list[Run]]) -> None:
    """Prints the fastest run of each tool, and the ratio."""
    best: dict[str, Run] = {}
    for name, runs in done.items():
        finished = [one for one in runs if one.seconds is not None]
        if not finished:
            print(f"  {name:<14} {runs[0].note} (peak {runs[0].peak_mb:.0f} MB)")
            continue
        one = best[name] = min(finished, key=lambda run: run.seconds or 0.0)
        print(
            f"  {name:<14} {one.seconds:8.1f} s  CPU {one.cpu_seconds:7.1f} s  peak {one.peak_mb:7.0f} MB", flush=True
        )
    if "TraceLens" not in done:
        print("  TraceLens      not run")
    if len(best) == 2:
        ours, peer = best["kpt profile"], best["TraceLens"]
        assert ours.seconds and peer.seconds
        cpu, memory = peer.cpu_seconds / ours.cpu_seconds, peer.peak_mb / ours.peak_mb
        faster = peer.seconds / ours.seconds
        print(f"  ratio          {faster:8.1f} x faster, {cpu:.1f} x less CPU, {memory:.1f} x less memory")


if __name__ == "__main__":
    sys.exit(main())
