#!/usr/bin/env python3
"""Holds our reading of traces against another analyser's tables, operator by operator.

    python benchmarks/trace_reference.py FOLDER

FOLDER holds traces (*.json.gz), each with a folder of reference tables beside it (*_ref_csvs or *_perf_report_csvs, as
TraceLens writes them: gpu_timeline.csv, ops_summary.csv). Prints every figure with its difference, into which of our
categories each reference category went, and what is left in "other". Exit 1 if a timeline figure or a category is off
by more than one per cent of the whole, or "other" holds three per cent or more.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path

from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.profile import Profile
from kernel_pytorch.perf.trace.open import open_recording

TIMELINE = {
    "computation_time": "compute_ms",
    "exposed_comm_time": "exposed_communication_ms",
    "exposed_memcpy_time": "exposed_copy_ms",
    "idle_time": "idle_ms",
    "total_time": "total_ms",
}


def main() -> int:
    """Compares every trace of the folder that has reference tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=float, default=1.0, help="per cent of the total a figure may be off")
    args = parser.parse_args()
    traces = [(trace, tables) for trace in sorted(args.folder.rglob("*.json.gz")) if (tables := tables_of(trace))]
    if not traces:
        parser.error(f"{args.folder}: no trace with reference tables beside it")
    worst = other = 0.0
    for trace, tables in traces:
        profile = analyse(open_recording(trace))
        print(f"{trace.parent.name}/{trace.name}: {profile.gpu}")
        worst = max(worst, timeline(profile, tables), categories(profile, tables))
        other = max(other, profile.other_share)
        print(f"  left in other: {100 * profile.other_share:.2f} %")
    print(f"largest difference {worst:.4f} % of the total, largest share of other {100 * other:.2f} %")
    return 1 if worst > args.limit or other >= 0.03 else 0


def tables_of(trace: Path) -> Path | None:
    """The reference tables of a trace."""
    stem = trace.name.removesuffix(".json.gz")
    found = (trace.with_name(stem + suffix) for suffix in ("_ref_csvs", "_perf_report_csvs"))
    return next((folder for folder in found if (folder / "gpu_timeline.csv").exists()), None)


def timeline(profile: Profile, tables: Path) -> float:
    """The largest difference of a timeline figure, in per cent of the total."""
    with (tables / "gpu_timeline.csv").open(newline="") as file:
        reference = {row["type"]: float(row["time ms"]) for row in csv.DictReader(file)}
    (row, *_) = profile.timelines
    off = 0.0
    for theirs, ours in TIMELINE.items():
        difference = 100 * (getattr(row, ours) - reference[theirs]) / reference["total_time"]
        off = max(off, abs(difference))
        print(f"  {theirs:<22}{reference[theirs]:12.4f} ms, ours {getattr(row, ours):12.4f} ms ({difference:+.4f} %)")
    return off


def categories(profile: Profile, tables: Path) -> float:
    """The largest difference of a reference category, in per cent of all kernel time."""
    path = tables / "ops_summary.csv"
    if not path.exists():
        return 0.0
    with path.open(newline="") as file:
        rows = [
            (row["name"], float(row["total_direct_kernel_time_ms"]), row["Categories"].strip("[]'"))
            for row in csv.DictReader(file)
        ]
    total = sum(time for _, time, _ in rows)
    off = 0.0
    for category in dict.fromkeys(category for _, _, category in rows):
        names = {name for name, _, theirs in rows if theirs == category}
        reference = sum(time for name, time, _ in rows if name in names)
        went: dict[str, float] = defaultdict(float)
        for operator in profile.operators:
            if operator.name in names:
                went[operator.category] += operator.kernel_ms
        difference = 100 * (sum(went.values()) - reference) / total
        off = max(off, abs(difference))
        into = ", ".join(f"{name} {ms:.4f}" for name, ms in sorted(went.items(), key=lambda item: -item[1]))
        print(f"  {category:<22}{reference:12.4f} ms, ours {sum(went.values()):12.4f} ms ({difference:+.4f} %): {into}")
    return off


if __name__ == "__main__":
    sys.exit(main())
