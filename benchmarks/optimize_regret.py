"""How near `optimize()` comes with little time: climbs of one model with several budgets, against the best of all.

    python benchmarks/optimize_regret.py [--budgets 60 120 300] [--models NAME ...] [--at-once 5] [--json FILE]

Every climb is a process of its own; comparisons inside them wait for each other, so that none is timed while another
runs. "Regret" is the time per call of what a climb kept, over the best that any climb of the model kept: both built
again from their recipes and measured in turns at the end. Needs a GPU (--tiny tries the script on a CPU).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

FIVE = (
    "Llama-3.2-3B, one token",
    "Qwen3-0.6B, one token",
    "BERT-base, 1x128",
    "Swin-tiny, batch 8",
    "ViT-base, batch 8",
)


def climb_one(args: argparse.Namespace) -> int:
    """One model, one budget: what was kept, and when."""
    from optimize_h200 import bandwidth_gbs
    from optimize_models import MODELS

    from kernel_pytorch.models.inputs import as_inputs
    from kernel_pytorch.perf.ladder.measuring import measure_in_turns
    from kernel_pytorch.perf.ladder.optimize import optimize

    made = MODELS[args.one]()
    began = time.perf_counter()
    kept: list[Any] = []

    def measure(before: Any, after: Any, seconds: float) -> Any:
        with (args.folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return measure_in_turns(before, after, seconds)

    def say(event: Any) -> None:
        if event.expected:
            print("  expects", [(one.rung, one.saving_ms, one.seconds) for one in event.expected], flush=True)
        entry = event.entry
        if entry is None or entry.reason.startswith(("left out", "no time left")):
            return
        at = time.perf_counter() - began
        print(f"  {at:6.1f} s {entry.rung}: {entry.outcome}: {entry.reason[:150]}", flush=True)
        if entry.outcome == "kept":
            after = entry.kept.comparison.after_ms
            kept.append([round(at, 1), entry.rung, after])

    found = optimize(
        made["model"],
        as_inputs(made["inputs"]),
        budget_s=args.budget,
        levels=(2, 3, 4, 5),
        allow=(),
        measure=measure,
        measure_s=args.measure_seconds,
        say=say,
    )
    total = found.ledger.total
    args.out.write_text(
        json.dumps(
            {
                "model": args.one,
                "budget_s": args.budget,
                "spent_s": time.perf_counter() - began,
                "kept": kept,
                "recipe": [[step.rung, step.options] for step in found.recipe],
                "before_ms": total.before_ms if total else None,
                "copy_gbs": bandwidth_gbs(),
                "after_ms": total.after_ms if total else (kept[-1][2] if kept else None),
                "weights_bytes": sum(one.numel() * one.element_size() for one in made["model"].parameters()),
            }
        )
    )
    return 0


def all_climbs(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Longest first, so many at once."""
    jobs = [(budget, name) for budget in sorted(args.budgets, reverse=True) for name in args.models]
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        running: list[tuple[Any, Path, Path, str]] = []
        began = time.perf_counter()
        while jobs or running:
            while jobs and len(running) < args.at_once:
                budget, name = jobs.pop(0)
                if time.perf_counter() - began + budget > args.seconds:
                    print(f"not begun, time is up: {name}, {budget:.0f} s", flush=True)
                    continue
                out, log = folder / f"{len(jobs)}.json", folder / f"{len(jobs)}.log"
                command = [sys.executable, __file__, "--one", name, "--budget", str(budget), "--out", str(out)]
                command += ["--folder", str(folder), "--measure-seconds", str(args.measure_seconds)]
                # A cache of its own: an earlier climb of the same model must not have compiled for this one.
                own = {"TORCHINDUCTOR_CACHE_DIR": str(folder / f"c{len(jobs)}"), "TORCHINDUCTOR_COMPILE_THREADS": "3"}
                own["TRITON_CACHE_DIR"] = str(folder / f"t{len(jobs)}")
                process = subprocess.Popen(
                    command, stdout=log.open("w"), stderr=subprocess.STDOUT, env={**os.environ, **own}
                )
                running.append((process, out, log, f"{name}, budget {budget:.0f} s"))
            time.sleep(0.5)
            for one in list(running):
                process, out, log, name = one
                late = time.perf_counter() - began > args.seconds
                if process.poll() is None and not late:
                    continue
                if process.poll() is None:
                    process.kill()
                running.remove(one)
                text = log.read_text()
                lines = [line for line in text.splitlines() if line.startswith("  ")]
                print(f"\n== {name}{' (stopped: time is up)' if late else ''}", flush=True)
                print("\n".join(lines) if lines else text[-1500:], flush=True)
                if out.exists():
                    found.append(json.loads(out.read_text()))
                    if args.json:
                        args.json.write_text(json.dumps(found, indent=1))
    return found


def table(found: list[dict[str, Any]]) -> None:
    for name in dict.fromkeys(one["model"] for one in found):
        rows = [one for one in found if one["model"] == name and one["after_ms"]]
        if not rows:
            continue
        best = min(one["after_ms"] for one in rows)
        cells = ", ".join(
            f"{one['budget_s']:.0f} s: {one['after_ms']:.3f} ms ({one['after_ms'] / best:.2f})"
            for one in sorted(rows, key=lambda one: one["budget_s"])
        )
        weights = rows[0]["weights_bytes"] / 1e9
        # Read once, half of what a copy moves: the time below which no call can come.
        floor = f"reading {weights:.2f} GB of weights takes {weights / rows[0]['copy_gbs'] * 1e3:.3f} ms"
        original = next((one["before_ms"] for one in rows if one["before_ms"]), 0.0)
        print(f"{name}: original {original:.3f} ms; {cells}; {floor}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", nargs="+", type=float, default=[60.0, 120.0, 300.0])
    parser.add_argument("--models", nargs="+", default=list(FIVE))
    parser.add_argument("--at-once", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9, help="no climb is begun that would end after this")
    parser.add_argument("--measure-seconds", type=float, default=1.5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.tiny:
        os.environ["KPT_TINY"] = "1"
    if args.one:
        return climb_one(args)
    import torch

    if not torch.cuda.is_available() and not args.tiny:
        print("not run: this needs a GPU and a torch built for it (--tiny tries the script on a CPU)", file=sys.stderr)
        return 2
    table(all_climbs(args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
