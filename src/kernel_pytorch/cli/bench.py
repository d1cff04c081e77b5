"""Time a model or a function, with intervals you can trust. Several targets are measured in turns and compared.

  kpt bench module:function                  one target: (model, inputs), a callable, or a dictionary
  kpt bench file.py:before file.py:after     B against A: faster, slower, same or undecided
  kpt bench compare old.jsonl new.jsonl      two saved benchmarks; exit 1 if B is slower

FILE#-2 is the entry before the last of a history, FILE#-1:NAME a target in it. Compilation and the first call are
reported separately. Without a GPU the figures are the CPU's and labelled so."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.perf.bench.result import BenchReport
    from kernel_pytorch.perf.bench.target import Target

SUMMARY = "time a model or function, with intervals you can trust; compare several"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Defines the options."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="module:function; or `compare A B`")
    parser.add_argument(
        "--warmup", type=int, default=3, metavar="N", help="warm-up calls at least (default 3, the least allowed)"
    )
    parser.add_argument(
        "--iters", type=int, default=10, metavar="N", help="samples at least (default 10, the least allowed)"
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="stop sampling after this long (default 10)"
    )
    parser.add_argument(
        "--margin", type=float, default=None, metavar="PERCENT", help="what counts as the same (default 1)"
    )
    parser.add_argument("--cold-cache", action="store_true", help="flush more than twice L2 + MALL before every sample")
    parser.add_argument(
        "--compile",
        action="append",
        default=[],
        metavar="MODE",
        help="also torch.compile each target in this mode (repeatable)",
    )
    parser.add_argument("--samples", type=float, metavar="N", help="samples per call, for samples/s")
    parser.add_argument("--tokens", type=float, metavar="N", help="tokens per call, for tokens/s")
    parser.add_argument("--history", type=Path, metavar="FILE", help="append the result as a line of JSON")
    parser.add_argument("--fail-if-slower", action="store_true", help="exit 1 if any target is slower than the first")
    parser.add_argument("--smoke", action="store_true", help="only see that it runs: one call, no timing")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Runs the verb."""
    if args.targets[0] == "compare":
        return _compare(args)
    if args.smoke:
        return _smoke(args)
    _refuse_too_little(args)
    report = _measure(args)
    if args.history:
        from kernel_pytorch.perf.bench.history import append

        append(report, args.history)
    if args.json:
        from kernel_pytorch.core.findings import to_json

        print(to_json(report))
    else:
        from kernel_pytorch.report.bench_text import bench_text

        sys.stdout.write(bench_text(report))
    slower = any(verdict.verdict == "slower" for verdict in report.verdicts)
    return 1 if args.fail_if_slower and slower else 0


def _refuse_too_little(args: argparse.Namespace) -> None:
    from kernel_pytorch.models.clock.rounds import MIN_SAMPLES, MIN_WARMUP

    for name, value, least in (("--warmup", args.warmup, MIN_WARMUP), ("--iters", args.iters, MIN_SAMPLES)):
        if value < least:
            raise UsageError(
                f"{name} {value}: at least {least}, or the figure is worthless; --smoke runs it once without a figure"
            )
    if args.seconds <= 0:
        raise UsageError(f"--seconds {args.seconds:g}: must be more than 0")
    if args.margin is not None and not 0 < args.margin < 100:
        raise UsageError(f"--margin {args.margin:g}: a percentage between 0 and 100")


def _targets(args: argparse.Namespace) -> list[Target]:
    from dataclasses import replace

    from kernel_pytorch.perf.bench.target import load_target

    loaded = [load_target(text) for text in args.targets]
    loaded = [replace(one, samples=args.samples or one.samples, tokens=args.tokens or one.tokens) for one in loaded]
    if len({one.name for one in loaded}) < len(loaded):
        loaded = [replace(one, name=f"{one.name} [{number}]") for number, one in enumerate(loaded, start=1)]
    if not args.compile:
        return loaded
    import torch

    try:
        compiled = [
            replace(one, name=f"{one.name} (compile {mode})", call=torch.compile(one.call, mode=mode))
            for one in loaded
            for mode in args.compile
        ]
    except RuntimeError as error:
        raise UsageError(f"--compile {' '.join(args.compile)}: {error}") from error
    return [*loaded, *compiled]


def _measure(args: argparse.Namespace) -> BenchReport:
    import torch

    from kernel_pytorch.models.clock.rounds import Sampling
    from kernel_pytorch.models.clock.sensors import sensors_of
    from kernel_pytorch.models.clock.verdict import MARGIN
    from kernel_pytorch.perf.bench.environment import blocking_launches, environment
    from kernel_pytorch.perf.bench.placement import device_for
    from kernel_pytorch.perf.bench.result import BenchReport
    from kernel_pytorch.perf.bench.run import measure

    targets = _targets(args)
    device = device_for(targets)
    sampling = Sampling(
        warmup=args.warmup,
        samples=args.iters,
        seconds=args.seconds,
        margin=MARGIN if args.margin is None else args.margin / 100,
        cold_cache=args.cold_cache,
    )
    inference = all(one.is_module and not getattr(one.call, "training", True) for one in targets)
    with torch.inference_mode() if inference else torch.enable_grad():
        results, verdicts = measure(targets, device, sensors_of(device), sampling)
    notes = [note for note in (blocking_launches(),) if note]
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return BenchReport(when, environment(device), results, verdicts, tuple(notes))


def _smoke(args: argparse.Namespace) -> int:
    """Runs every target once. Nothing that looks like a result is printed."""
    from kernel_pytorch.core.entry_point import blaming

    for target in _targets(args):
        with blaming(target.name):
            output = target.call(*target.arguments, **target.keywords)
        shape = getattr(output, "shape", None)
        made = f"{type(output).__name__}" + (f" {tuple(shape)}" if shape is not None else "")
        print(f"smoke: {target.name} ran once and returned {made}; no timing was taken")
    return 0


def _compare(args: argparse.Namespace) -> int:
    from kernel_pytorch.perf.bench.compare import MARGIN, compare
    from kernel_pytorch.perf.bench.history import load_result

    if len(args.targets) != 3:
        raise UsageError("kpt bench compare takes two saved benchmarks: kpt bench compare old.jsonl new.jsonl")
    margin = MARGIN if args.margin is None else args.margin / 100
    verdict = compare(load_result(args.targets[1]), load_result(args.targets[2]), margin)
    if args.json:
        from kernel_pytorch.core.findings import to_json

        print(to_json(verdict))
    else:
        from kernel_pytorch.report.bench_text import verdict_lines

        print("\n".join(verdict_lines(verdict)))
    return 1 if verdict.verdict == "slower" else 0
