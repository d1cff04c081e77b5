#!/usr/bin/env python3
"""Does the advice predict? Profiles a transformer eager and compiled, and holds the predicted saving against it.

    python benchmarks/advice_check.py

The prediction for "unfused elementwise" and "launch gaps" comes from the eager profile alone; what torch.compile then
saves in those categories, and in all, is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.bench.target import load_target
from kernel_pytorch.perf.diff import diff
from kernel_pytorch.perf.profile_run import profile_target
from kernel_pytorch.report.profile_text import diff_text

TARGETS = Path(__file__).with_name("perf_targets.py")


def main() -> int:
    """Prints prediction and outcome."""
    profiles = []
    for name in ("transformer", "transformer_compiled"):
        ran = profile_target(load_target(f"{TARGETS}:{name}"))
        profiles.append(analyse(ran.recording, None, ran.compile_log))
    before, after = profiles
    fusible = ("elementwise", "norm", "reduction", "copy")
    spent = [sum(row.kernel_ms for row in one.categories if row.category in fusible) / one.steps for one in profiles]
    print(f"device: {before.gpu}")
    for advice in before.advice:
        saving = advice.saving_ms / before.steps
        print(f"  predicted {saving:8.3f} ms per call: {advice.title} (rung {advice.rung})")
    print(f"  memory-bound kernels: {spent[0]:.3f} -> {spent[1]:.3f} ms per call, saved {spent[0] - spent[1]:.3f}")
    print(f"  whole call: {before.total_ms / before.steps:.3f} -> {after.total_ms / after.steps:.3f} ms")
    print(diff_text(diff(before, after), top=8))
    return 0


if __name__ == "__main__":
    sys.exit(main())
