"""Where the time goes, how far from the roofline, and what to do about it.

  kpt profile module:function         run torch.profiler on it (warm-up outside) and analyse
  kpt profile trace.json[.gz]         a chrome trace of torch.profiler, AMD or NVIDIA
  kpt profile results.db | *.csv | results.json | FOLDER     what rocprof, rocprofv2 or rocprofv3 wrote
  kpt profile saved.json              a profile saved with --save: plotted again without running
  kpt profile compare A B             two of any of the above: before and after, AMD against NVIDIA

Times of a run without a GPU are labelled CPU. Savings are predictions; `kpt bench` decides."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.perf.profile import Peaks, Profile
    from kernel_pytorch.perf.roofline.windows import Windows
    from kernel_pytorch.perf.trace.stream import Progress

SUMMARY = "where the time goes, how far from the roofline, what to do about it"

BIG_FILE = 20 << 20

HOW = """\
Recording on an AMD machine. Warm up first: the first calls compile and tune.

A torch model, with operators and shapes (expected times and the roofline need shapes):
  with torch.profiler.profile(record_shapes=True, with_stack=False) as recorded:
      for _ in range(3): model(*inputs)
  recorded.export_chrome_trace("trace.json.gz")
  kpt profile trace.json.gz

Any program, its kernels, copies and HIP calls:
  rocprofv3 --sys-trace -d recording -- ./program
  kpt profile recording/*/*_results.db

Hardware counters. A GPU counts a few at a time; each --pmc group is a run of its own, so the program must do the same
each time. `rocprofv3-avail list --pmc` shows what a GPU has:
  rocprofv3 --pmc SQ_WAVES SQ_INSTS_VALU SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR -d counters/1 -f csv -- ./program
  rocprofv3 --pmc SQ_LDS_BANK_CONFLICT SQ_LDS_IDX_ACTIVE OccupancyPercent -d counters/2 -f csv -- ./program
  rocprofv3 --pmc TCC_HIT_sum TCC_MISS_sum -d counters/3 -f csv -- ./program
  rocprofv3 --pmc TCP_TOTAL_CACHE_ACCESSES_sum TCP_TCC_READ_REQ_sum -d counters/4 -f csv -- ./program
  rocprofv3 --pmc FETCH_SIZE -d counters/5 -f csv -- ./program
  rocprofv3 --pmc WRITE_SIZE -d counters/6 -f csv -- ./program
  rocprofv3 --pmc MfmaUtil VALUBusy -d counters/7 -f csv -- ./program
  kpt profile counters --gpu mi300x

All of it by ROCm Compute Profiler (was Omniperf), which runs the program some ten times:
  rocprof-compute profile -n mine -- ./program
  kpt profile workloads/mine --gpu mi300x"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Defines the options."""
    parser.add_argument("what", nargs="*", metavar="TARGET|TRACE|ROCPROF", help="see above; `compare A B` for two")
    parser.add_argument(
        "--gpu", metavar="NAME", help="the GPU the recording is of (mi300x, h200 ...), for the roofline"
    )
    parser.add_argument("--how", action="store_true", help="print how to record on an AMD machine, counters included")
    parser.add_argument("--measure-peaks", action="store_true", help="measure this GPU's achievable rates first")
    parser.add_argument(
        "--warmup", type=int, default=5, metavar="N", help="calls before recording a target (default 5)"
    )
    parser.add_argument("--steps", type=int, default=3, metavar="N", help="calls to record of a target (default 3)")
    parser.add_argument(
        "--modules", action="store_true", help="time per nn.Module (records Python stacks: slower host)"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="keep the chrome trace of a target")
    parser.add_argument(
        "--compile-log", type=Path, metavar="FILE", help="a log made with TORCH_LOGS=graph_breaks,recompiles"
    )
    parser.add_argument(
        "--capture",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a trace of the capture of graphs that this one replays: gives their kernels operators and shapes",
    )
    parser.add_argument(
        "--rank",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a trace of another rank of the same run: separates waiting for a late rank from the transfer",
    )
    parser.add_argument(
        "--model-config",
        type=Path,
        metavar="FILE",
        help="the model's config.json: which layers attend to a window only (no trace tells)",
    )
    parser.add_argument(
        "--allow-truncated", action="store_true", help="analyse what is there of a trace that is cut off"
    )
    parser.add_argument("--top", type=int, default=12, metavar="N", help="rows per table (default 12)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the profile as JSON, to plot or compare later")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write a page with timeline, roofline and tables"
    )
    parser.add_argument("--png", type=Path, metavar="FILE", help="also write the plots as a picture (needs matplotlib)")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Runs the verb."""
    from kernel_pytorch.core.findings import to_json

    if args.how:
        print(HOW)
        return 0
    if not args.what:
        raise UsageError(
            "nothing to profile: give a target, a trace or a folder; `kpt profile --how` says how to record"
        )
    if args.what[0] in ("compare", "diff"):  # `diff` is its older name
        return _diff(args)
    if len(args.what) != 1:
        raise UsageError(f"one thing at a time, or `kpt profile compare A B`; got {' '.join(args.what)}")
    profile = load_any(args.what[0], args)
    if args.save:
        from kernel_pytorch.perf.profile import save

        save(profile, args.save)
    if args.html:
        from kernel_pytorch.report.profile_html import write_html

        write_html(profile, args.html)
    if args.png:
        from kernel_pytorch.report.profile_png import write_png

        write_png(profile, args.png)
    if args.json:
        print(to_json(profile))
    else:
        from kernel_pytorch.report.profile_text import profile_text

        sys.stdout.write(profile_text(profile, args.top))
    return 0


def _diff(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_json
    from kernel_pytorch.perf.diff import diff
    from kernel_pytorch.report.profile_text import diff_text

    if len(args.what) != 3:
        raise UsageError("kpt profile compare takes two profiles: kpt profile compare before.json after.json")
    for option in ("save", "html", "png"):
        if getattr(args, option):
            raise UsageError(f"--{option} is for one recording; `kpt profile compare` prints its table, --json as data")
    found = diff(load_any(args.what[1], args), load_any(args.what[2], args))
    sys.stdout.write(to_json(found) + "\n" if args.json else diff_text(found, args.top))
    return 0


def load_any(what: str, args: argparse.Namespace) -> Profile:
    """A profile from a target, a recording or a saved profile."""
    from kernel_pytorch.perf.analyse import analyse
    from kernel_pytorch.perf.bench.target import load_target, looks_like_target
    from kernel_pytorch.perf.profile import is_saved_profile, load

    path = Path(what)
    peaks = _peaks(args)
    if looks_like_target(what):
        from kernel_pytorch.perf.profile_run import profile_target

        ran = profile_target(
            load_target(what), warmup=args.warmup, steps=args.steps, modules=args.modules, keep_trace=args.trace
        )
        return analyse(ran.recording, peaks, ran.compile_log)
    if not path.exists():
        raise UsageError(f"{what}: no such file; a target is written module:function or path/file.py:function")
    if path.is_file() and is_saved_profile(path):
        return load(path)
    from kernel_pytorch.perf.trace.open import open_recording

    log = None
    if args.compile_log:
        from kernel_pytorch.perf.compile_log import parse_log

        log = parse_log(args.compile_log)
    with _progress(path) as progress:
        recording = open_recording(path, progress=progress, allow_truncated=args.allow_truncated)
    captures, ranks = ([open_recording(one) for one in given] for given in (args.capture, args.rank))
    windows: Windows = ()
    if args.model_config:
        from kernel_pytorch.perf.roofline.windows import attention_windows

        windows = attention_windows(args.model_config)
    return analyse(recording, peaks, log, captures, ranks, windows)


def _peaks(args: argparse.Namespace) -> Peaks | None:
    if args.measure_peaks:
        from kernel_pytorch.perf.roofline.measure_peaks import measure_peaks

        return measure_peaks()
    if args.gpu:
        from kernel_pytorch.perf.roofline.peaks import named_gpu

        return named_gpu(args.gpu)
    return None


@contextmanager
def _progress(path: Path) -> Iterator[Progress | None]:
    """A bar on a terminal for a file worth waiting for."""
    if not sys.stderr.isatty() or not path.is_file() or path.stat().st_size < BIG_FILE:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from kernel_pytorch.core.standard_streams import rich_console

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=rich_console(sys.stderr), transient=True) as bar:
        task = bar.add_task("reading", total=path.stat().st_size)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show
