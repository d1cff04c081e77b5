"""Record what a model computes on one machine, and check it on another, module by module.

    kpt golden record model.py:make --out golden        on the reference machine (an NVIDIA GPU, say)
    kpt golden check model.py:make golden               on the machine to be judged
    kpt golden show golden                              what a record holds

TARGET is module:function or file.py:function and returns (model, inputs). Both machines must build the same weights
(seed the CPU generator), or `record --weights` puts them into the record. A record is safetensors and JSON: opening a
stranger's runs nothing. `check` exits 1 when something differs and names the module, the place in its code and the
kind of difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.verify.golden.check import GoldenCheck

SUMMARY = "reference tensors across machines and vendors: record here, check there"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt golden`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="record|check|show")
    record = actions.add_parser("record", help="run the model and keep what it computed")
    record.add_argument("target", help="module:function returning (model, inputs)")
    record.add_argument("--out", type=Path, required=True, metavar="DIR")
    record.add_argument("--depth", type=int, metavar="N", help="levels of the module tree (default: all)")
    record.add_argument("--repeats", type=int, default=10, metavar="N", help="runs to measure noise (default 10)")
    record.add_argument("--max-mb", type=float, default=1024.0, help="size of the whole record (default 1024)")
    record.add_argument("--max-tensor-mb", type=float, default=64.0, help="larger tensors are sampled (default 64)")
    record.add_argument("--mode", choices=("strict", "production", "both"), default="both")
    record.add_argument("--weights", action="store_true", help="put the weights into the record")
    check = actions.add_parser("check", help="replay a record here and compare")
    check.add_argument("target", help="module:function returning (model, inputs)")
    check.add_argument("folder", type=Path, metavar="DIR", help="a golden record")
    check.add_argument("--mode", choices=("strict", "production", "both"), default="both")
    check.add_argument("--no-referee", action="store_true", help="do not run the float64 referee on the CPU")
    check.add_argument("--plot", type=Path, metavar="FILE.svg", help="write the error by depth as a picture")
    show = actions.add_parser("show", help="what a record holds")
    show.add_argument("folder", type=Path, metavar="DIR")
    for sub in (record, check, show):
        sub.add_argument("--json", action="store_true", help="data as JSON")


def run(args: argparse.Namespace) -> int:
    """Record, check or show; 1 when a check finds a difference."""
    return {"record": _record, "check": _check, "show": _show}[args.action](args)


def _record(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.entry_point import blaming, load_subject
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.verify.golden.record import RecordOptions, record

    if args.repeats < 1:
        raise UsageError("--repeats: at least 1")
    if args.out.exists() and not args.out.is_dir():
        raise UsageError(f"{args.out}: is a file; --out names a folder")
    options = RecordOptions(
        args.depth, args.repeats, args.max_mb, args.max_tensor_mb, _modes(args), save_weights=args.weights
    )
    subject = load_subject(args.target)
    with blaming(args.target):
        made = record(subject, args.out, options, _say)
    if args.json:
        print(json.dumps(to_plain(made)))
    noisy = max((n for events in made.events.values() for e in events for n in e.noise), default=0.0)
    counts = ", ".join(f"{len(events)} events {mode}" for mode, events in made.events.items())
    where = made.machine["device_name"] or made.machine["device"]
    _say(f"recorded on {where}: {counts}; noise over {made.repeats} identical runs: {noisy:.2g}")
    if made.dropped:
        _say(f"{len(made.dropped)} events did not fit in {args.max_mb:g} MB (first: {made.dropped[0]}): raise --max-mb")
    return 0


def _check(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.entry_point import blaming, load_subject
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.verify.golden.archive import GoldenArchive
    from kernel_pytorch.verify.golden.check import check

    archive = GoldenArchive(args.folder)
    wanted = [mode for mode in _modes(args) if args.mode != "both" or mode in archive.record.events]
    subject = load_subject(args.target)
    with blaming(args.target):
        results = [check(subject, archive, mode, use_referee=not args.no_referee, progress=_say) for mode in wanted]
    if args.plot is not None:
        from kernel_pytorch.report.error_plot import write_error_plot

        write_error_plot(results, args.plot)
        _say(f"error by depth: {args.plot}")
    if args.json:
        print(json.dumps([{"ok": one.ok, **to_plain(one)} for one in results]))
    else:
        for one in results:
            _print_check(one)
    return 0 if all(one.ok for one in results) else 1


def _print_check(result: GoldenCheck) -> None:
    output = result.output
    ends = f"output error {output.error:.3g} of {output.limit:.3g} allowed" if output is not None else "no output"
    there, here = result.recorded_on, result.checked_on
    print(f"{result.mode}: {'same' if result.ok else 'DIFFERS'}: {ends}")
    print(
        f"  recorded on {there.get('device_name')} (torch {there.get('torch')}), checked on {here.get('device_name')}"
    )
    for culprit in result.culprits[:5]:
        print(f"  {culprit.module}: {culprit.kind}: {culprit.text}")
        print(f"    in {culprit.where}; {culprit.side}")
    if len(result.culprits) > 5:
        print(f"  ... and {len(result.culprits) - 5} more places")
    for key in result.missing[:5]:
        print(f"  {key}: was not called here")
    if result.referee_note:
        print(f"  {result.referee_note}")


def _show(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.verify.golden.archive import GoldenArchive

    record = GoldenArchive(args.folder).record
    if args.json:
        print(json.dumps(to_plain(record)))
        return 0
    print(f"{record.target}, {len(record.weights)} weights, {len(record.inputs)} inputs")
    for key, value in record.machine.items():
        print(f"  {key}: {value}")
    for mode, events in record.events.items():
        modules = {event.module for event in events}
        print(f"  {mode}: {len(events)} events of {len(modules)} modules")
    return 0


def _modes(args: argparse.Namespace) -> tuple[str, ...]:
    return ("strict", "production") if args.mode == "both" else (args.mode,)


def _say(text: Any) -> None:
    print(text, file=sys.stderr)
