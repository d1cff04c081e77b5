"""Make a model faster step by step. A step stays only if the outputs are right and it is faster by more than the noise.

  kpt optimize module:function               climb with what it returns: (model, inputs) or a dictionary
  kpt optimize file.py:make --budget 300     stop after five minutes, whatever is left
  kpt optimize file.py:make --resume         continue with the ledger in --out
  kpt optimize file.py:make --levels 2-3 --skip graph_capture
  kpt optimize --list                        the steps there are; kpt calls one a rung

Levels: 1 environment, 2 torch.compile and graphs, 3 model surgery, 4 kernels and Inductor tuning, 5 vendor kernels.
The rung that promises the most for each second comes next, judged by a profile. It is applied to a new tree (the
model itself is never changed), checked on fresh inputs with a referee in double precision, and measured in turns with
the best so far. --out gets the ledger, a module that applies exactly what was kept, and a file with the variables.
Figures without a GPU are the CPU's and labelled so."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.perf.ladder.optimize import Optimized
    from kernel_pytorch.perf.ladder.state import Event

SUMMARY = "make a model faster step by step; keep what is right and measurably faster"

OUT = Path("kpt-optimized")
BUDGET_S = 1800.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Defines the options."""
    parser.add_argument("target", nargs="?", metavar="TARGET", help="module:function or path/to/file.py:function")
    parser.add_argument("--list", action="store_true", help="list the rungs and stop")
    climb = parser.add_argument_group("what to try")
    climb.add_argument("--levels", default="1-5", metavar="A-B", help="levels, as 2, 2-4 or 1,3 (default 1-5)")
    climb.add_argument("--only", action="append", default=[], metavar="RUNG", help="only this rung; may be repeated")
    climb.add_argument("--skip", action="append", default=[], metavar="RUNG", help="not this rung; may be repeated")
    climb.add_argument(
        "--no-reduce-overhead",
        action="store_true",
        help="leave out what lets Inductor record graphs (as on ROCm, where --allow reduce-overhead turns it on)",
    )
    climb.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="WHAT",
        help="permit what some rungs need: tf32, freezing, reduce-overhead, fp8, {int8,fp8,int4}-weights",
    )
    long = parser.add_argument_group("how long")
    long.add_argument("--budget", type=float, default=BUDGET_S, metavar="S", help="seconds at most (default 1800)")
    long.add_argument("--measure", type=float, default=4.0, metavar="S", help="seconds per measurement (default 4)")
    long.add_argument("--resume", action="store_true", help="continue with the ledger in --out")
    out = parser.add_argument_group("output")
    out.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder of the result (default {OUT})")
    out.add_argument("--json", action="store_true", help="ledger and recipe as one JSON object")
    out.add_argument("--html", type=Path, metavar="FILE", help="a page with the waterfall of gains and every rung")


def run(args: argparse.Namespace) -> int:
    """Runs the verb."""
    args.began = time.monotonic()
    if args.list:
        return _list(args)
    if not args.target:
        raise UsageError("which model? kpt optimize module:function, or --list for the rungs")
    if not args.budget > 0:
        raise UsageError(f"--budget {args.budget:g}: must be more than 0 seconds")
    if not args.measure > 0:
        raise UsageError(f"--measure {args.measure:g}: must be more than 0 seconds")
    from kernel_pytorch.perf.ladder.climb import DeviceLost

    try:
        result = _climb(args)
    except DeviceLost as lost:
        print(f"kpt: {lost}", file=sys.stderr)
        return _go_on(args, {})
    if result.restart_with:
        return _go_on(args, result.restart_with)
    files = result.write(args.out)
    if args.html:
        from kernel_pytorch.report.optimize_html import write_html

        write_html(result.ledger, args.html)
    if args.json:
        print(json.dumps(_plain(result, files), indent=1))
    else:
        from kernel_pytorch.report.optimize_text import optimize_text

        sys.stdout.write(optimize_text(result.ledger))
        print(f"ledger, {', '.join(path.name for path in files)}: in {args.out}", file=sys.stderr)
    return 0


def parse_levels(text: str) -> frozenset[int]:
    """The levels of "2", "2-4" or "1,3-5". Raises UsageError."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(f"--levels {text}: expected numbers from 1 to 5 such as 2, 2-4 or 1,3")
        found.update(range(int(first), int(last or first) + 1))
    if not found or not found <= set(range(1, 6)):
        raise UsageError(f"--levels {text}: there are levels 1 to 5")
    return frozenset(found)


def _climb(args: argparse.Namespace) -> Optimized:
    from kernel_pytorch.core.given_path import require_folder
    from kernel_pytorch.perf.bench.target import load_target
    from kernel_pytorch.perf.ladder.environment_trial import EnvironmentTrials
    from kernel_pytorch.perf.ladder.optimize import allowed_by_default, optimize

    levels = parse_levels(args.levels)
    if args.out.exists():
        require_folder(args.out, "name another --out")
    target = load_target(args.target)
    if not target.is_module:
        raise UsageError(
            f"{args.target}: the ladder needs a torch.nn.Module; put the call into the forward of one and return "
            "(model, inputs)"
        )
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {args.out}: cannot be made a folder ({error.strerror})") from error
    trials = EnvironmentTrials(args.target, args.out, args.measure)
    try:
        with _shown() as say:
            return optimize(
                target.call,
                target.keywords or target.arguments,
                others=target.other_inputs,
                budget_s=args.budget,
                levels=levels,
                allow=[*(() if args.no_reduce_overhead else allowed_by_default()), *args.allow],
                only=args.only,
                skip=args.skip,
                folder=args.out,
                resume=args.resume,
                target=args.target,
                measure_s=args.measure,
                say=say,
                try_environment=trials,
            )
    except KeyboardInterrupt:
        print(f"kpt: what was decided is in {args.out}; --resume goes on", file=sys.stderr)
        raise
    finally:
        trials.close()


def _go_on(args: argparse.Namespace, variables: dict[str, str]) -> int:
    """The rest of the climb in a new process: one that has the variables that were kept, or a GPU that answers."""
    import os

    from kernel_pytorch.core.children import KPT_GRACE_S
    from kernel_pytorch.core.process import run_in_terminal
    from kernel_pytorch.core.python_child import python_module

    left = max(1.0, args.budget - (time.monotonic() - args.began))
    command = python_module("kernel_pytorch", "optimize", args.target, "--resume", "--out", str(args.out))
    command += ["--budget", f"{left:.0f}", "--measure", str(args.measure), "--levels", args.levels]
    for option, values in (("--only", args.only), ("--skip", args.skip), ("--allow", args.allow)):
        command += [word for value in values for word in (option, value)]
    command += ["--no-reduce-overhead"] if args.no_reduce_overhead else []
    command += ["--json"] if args.json else []
    command += ["--html", str(args.html)] if args.html else []
    having = "".join(f" with {name}={value}" for name, value in variables.items())
    print(f"kpt: going on in a new process{having}", file=sys.stderr)
    sys.stdout.flush()
    return run_in_terminal(command, env={**os.environ, **variables}, grace_s=KPT_GRACE_S)


def _plain(result: Optimized, files: tuple[Path, ...]) -> dict[str, object]:
    from kernel_pytorch.core.findings import to_plain

    return {
        "speedup": result.speedup,
        "recipe": to_plain(result.recipe),
        "ledger": to_plain(result.ledger),
        "files": [str(path) for path in files],
    }


def _list(args: argparse.Namespace) -> int:
    from kernel_pytorch.perf.ladder.rungs import rungs

    found = rungs()
    if args.json:
        rows = [
            {"rung": one.name, "level": one.level, "kind": one.kind, "title": one.title, "needs": sorted(one.needs)}
            for one in found
        ]
        print(json.dumps(rows, indent=1))
        return 0
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        needs = f" (needs --allow {', '.join(sorted(one.needs))})" if one.needs - {"reduce-overhead"} else ""
        print(f"{one.level}  {one.name:<{width}}  {one.title}{needs}")
    return 0


@contextmanager
def _shown() -> Iterator[Callable[[Event], None]]:
    """On a terminal a line that moves and the decided rungs above it; otherwise one line per decided rung."""
    from kernel_pytorch.perf.ladder.ledger import LEFT_OUT
    from kernel_pytorch.report.optimize_text import event_line, expected_line

    if not sys.stderr.isatty():

        def line(event: Event) -> None:
            if event.expected:
                print(expected_line(event.expected), file=sys.stderr)
            if event.entry is not None and not event.entry.reason.startswith(LEFT_OUT):
                print(event_line(event.entry), file=sys.stderr)

        yield line
        return
    from rich.markup import escape

    from kernel_pytorch.core.printable import printable
    from kernel_pytorch.core.standard_streams import rich_console

    console = rich_console(sys.stderr)
    with console.status("profiling and checking the original") as status:

        def show(event: Event) -> None:
            if event.expected:
                console.print(printable(expected_line(event.expected)), markup=False, highlight=False)
            if event.entry is not None and not event.entry.reason.startswith(LEFT_OUT):
                console.print(printable(event_line(event.entry)), markup=False, highlight=False)
            name = f"{event.number}/{event.rungs} {event.rung}: " if event.rung else ""
            status.update(f"{escape(printable(name + event.doing))} ({event.left_s:.0f} s left)")

        yield show
