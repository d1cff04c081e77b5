"""Record what a model or a program computes on one machine, and check it on another: by module, or kernel by kernel.

    kpt golden record model.py:make --out golden        on the reference machine (an NVIDIA GPU, say)
    kpt golden check model.py:make golden               on the machine to be judged
    kpt golden show golden                              what a record holds
    kpt golden record --program ./a.out --out golden -- ARGS            device memory around every kernel launch
    kpt golden check --program port.hip golden --gpu mi300x -- ARGS     the port, on an emulated GPU or a real one
    kpt golden compare golden other                                     two records of programs

TARGET is module:function or file.py:function and returns (model, inputs). Both machines must build the same weights
(seed the CPU generator), or `record --weights` puts them into the record. A record holds the forward and the backward
pass: outputs, the loss (the model's own, or a fixed sum of its outputs) and the gradients of parameters, inputs and
modules; `record --forward-only` leaves the backward pass out. It is safetensors and JSON: opening a stranger's runs
nothing. `check` exits 1 when something differs and names the module, the place in its code and the kind of difference.
With --program the same is done for device memory: the first kernel whose outputs differ although its inputs are the
same is named. A CUDA program must be linked with `nvcc -cudart shared`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.jobs.program_build import ProgramBuild
    from kernel_pytorch.verify.golden.archive import GoldenRecord
    from kernel_pytorch.verify.kernels.record import KernelRecord
    from kernel_pytorch.verify.kernels.record_comparison import KernelComparison
    from kernel_pytorch.verify.kernels.run import ProgramRun

SUMMARY = "record what a model computes on one machine, and check it on another"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt golden`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="record|check|compare|show")
    record = actions.add_parser(
        "record",
        help="run the model and keep what it computed",
        description="Keeps what every module takes and gives, forward and backward: inputs, outputs, the loss (the\n"
        "model's own, or a fixed sum of its outputs), and the gradients of parameters, inputs and modules.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    record.add_argument("target", metavar="TARGET", help="module:function returning (model, inputs)")
    record.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the record")
    record.add_argument("--depth", type=int, metavar="N", help="levels of the module tree (default: all)")
    record.add_argument("--repeats", type=int, default=10, metavar="N", help="runs to measure noise (default 10)")
    record.add_argument(
        "--max-mb", type=float, default=1024.0, metavar="MB", help="size of the whole record (default 1024)"
    )
    record.add_argument(
        "--max-tensor-mb", type=float, default=64.0, metavar="MB", help="larger tensors are sampled (default 64)"
    )
    _mode_argument(record)
    record.add_argument("--weights", action="store_true", help="put the weights into the record")
    record.add_argument("--forward-only", action="store_true", help="leave out the backward pass")
    check = actions.add_parser(
        "check",
        help="replay a record here and compare",
        description="Runs the model on the record's inputs, module by module, and names what differs.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("target", metavar="TARGET", help="module:function returning (model, inputs)")
    check.add_argument("folder", type=Path, metavar="DIR", help="a golden record")
    _mode_argument(check)
    check.add_argument("--no-referee", action="store_true", help="do not run the float64 referee on the CPU")
    check.add_argument("--plot", type=Path, metavar="FILE.svg", help="write the error by depth as a picture")
    check.add_argument(
        "--html", type=Path, metavar="FILE", help="also write a page: what differs, the picture, all events"
    )
    show = actions.add_parser("show", help="what a record holds")
    show.add_argument("folder", type=Path, metavar="DIR", help="a golden record")
    compare = actions.add_parser("compare", help="two records of programs, kernel by kernel")
    compare.add_argument("reference", type=Path, metavar="DIR", help="the record of the original")
    compare.add_argument("folder", type=Path, metavar="DIR", help="the record of the port")
    # `record --program` and `check --program` take other words than those for models: parsers of their own.
    record_program = actions.add_parser("record-program", prog="kpt golden record")
    record_program.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the record")
    check_program = actions.add_parser("check-program", prog="kpt golden check")
    check_program.add_argument("folder", type=Path, metavar="DIR", help="the record of the original")
    for sub in (record_program, check_program):
        _program_arguments(sub)
    for sub in (check_program, compare):
        sub.add_argument("-v", "--verbose", action="store_true", help="also list launches that are the same")
    for sub in (record, check, show, compare, record_program, check_program):
        sub.add_argument("--json", action="store_true", help="data as JSON")
    for sub, of_program in ((record, record_program), (check, check_program)):
        sub.epilog = f"For a program in place of a model:\n\n{of_program.format_help()}"
    parser.set_defaults(arguments=[])
    _split_words(parser)


def _mode_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=("strict", "production", "both"),
        default="both",
        help="strict: no TF32, no reduced sums, deterministic; production: as the model runs (default both)",
    )


def _program_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--program", type=Path, required=True, metavar="FILE", help="an executable, or a .cu or .hip source"
    )
    parser.add_argument(
        "--gpu", "--arch", dest="gpu", metavar="NAME", help="emulate this AMD GPU (default: this machine's own GPU)"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, metavar="N", help="identical runs to measure noise (default 3)"
    )
    parser.add_argument(
        "--max-mb", type=float, default=1024.0, metavar="MB", help="size of the whole record (default 1024)"
    )
    parser.add_argument(
        "--max-buffer-mb",
        type=float,
        default=64.0,
        metavar="MB",
        help="of a larger buffer, keep the first part (default 64)",
    )
    parser.add_argument("--max-launches", type=int, default=1000, metavar="N", help="launches to record (default 1000)")
    parser.add_argument("--timeout", type=float, metavar="S", help="stop the program after this time")
    parser.add_argument(
        "-I", dest="include_dirs", action="append", default=[], type=Path, metavar="DIR", help="a folder of headers"
    )
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME[=VALUE]", help="a macro")
    parser.add_argument(
        "--untranslated", action="store_true", help="of a .cu, translate the names only, not the lane logic"
    )


def _split_words(parser: argparse.ArgumentParser) -> None:
    """Everything after `--` goes to the program; `--program` chooses the parser."""
    parse = parser.parse_known_args

    def split(args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        words = list(sys.argv[1:] if args is None else args)
        at = words.index("--") if "--" in words else len(words)
        own, rest = words[:at], words[at + 1 :]
        of_program = any(word == "--program" or word.startswith("--program=") for word in own)
        if own and own[0] in ("record", "check") and of_program:
            own[0] += "-program"
        parsed, unknown = parse(own, namespace)
        parsed.arguments = rest
        return parsed, unknown

    parser.parse_known_args = split  # type: ignore[method-assign, assignment]


def run(args: argparse.Namespace) -> int:
    """Record, check or show; 1 when a check finds a difference."""
    actions = {
        "record": _record,
        "check": _check,
        "show": _show,
        "compare": _compare,
        "record-program": _record_program,
        "check-program": _check_program,
    }
    if args.arguments and not args.action.endswith("-program"):
        raise UsageError("words after `--` go to a program: they need --program")
    return actions[args.action](args)


def _record(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.jobs.golden import record_model
    from kernel_pytorch.report.golden_text import model_recorded_lines
    from kernel_pytorch.verify.golden.record import RecordOptions

    if args.repeats < 1:
        raise UsageError("--repeats: at least 1")
    modes = ("strict", "production") if args.mode == "both" else (args.mode,)
    options = RecordOptions(
        args.depth, args.repeats, args.max_mb, args.max_tensor_mb, modes, args.weights, not args.forward_only
    )
    made = record_model(args.target, args.out, options, _say)
    if args.json:
        print(json.dumps(to_plain(made)))
    for line in model_recorded_lines(made, args.max_mb):
        _say(line)
    return 0


def _check(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.jobs.golden import check_model
    from kernel_pytorch.report.golden_text import check_lines

    modes = () if args.mode == "both" else (args.mode,)
    results = check_model(args.target, args.folder, modes, use_referee=not args.no_referee, progress=_say)
    if args.plot is not None:
        from kernel_pytorch.report.error_plot import write_error_plot

        write_error_plot(results, args.plot)
        _say(f"error by depth: {args.plot}")
    if args.html is not None:
        from kernel_pytorch.report.golden_html import write_golden_page

        write_golden_page(results, args.html)
        _say(f"page: {args.html}")
    if args.json:
        print(json.dumps([{"ok": one.ok, **to_plain(one)} for one in results]))
    else:
        _print_lines(line for one in results for line in check_lines(one))
    return 0 if all(one.ok for one in results) else 1


def _record_program(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.jobs.golden import record_program
    from kernel_pytorch.report.golden_text import program_recorded_lines

    made = record_program(_program_run(args), args.out, _program_build(args), _say)
    if args.json:
        print(json.dumps(to_plain(made)))
    for line in program_recorded_lines(made, args.max_mb):
        _say(line)
    if made.exit_code:
        _say(f"{args.program}: ended with status {made.exit_code}")
    return 0


def _check_program(args: argparse.Namespace) -> int:
    from kernel_pytorch.jobs.golden import check_program

    return _print_comparison(check_program(_program_run(args), args.folder, _program_build(args), _say), args)


def _compare(args: argparse.Namespace) -> int:
    from kernel_pytorch.jobs.golden import compare_programs

    return _print_comparison(compare_programs(args.reference, args.folder), args)


def _print_comparison(result: KernelComparison, args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.report.kernel_comparison_text import comparison_lines

    if args.json:
        print(json.dumps({"ok": result.ok, **to_plain(result)}))
    else:
        _print_lines(comparison_lines(result, args.verbose))
    return 0 if result.ok else 1


def _program_run(args: argparse.Namespace) -> ProgramRun:
    from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate
    from kernel_pytorch.verify.kernels.run import ProgramRun

    for name in ("repeats", "max_mb", "max_buffer_mb", "max_launches"):
        if getattr(args, name) <= 0:
            raise UsageError(f"--{name.replace('_', '-')}: expected more than 0")
    return ProgramRun(
        program=args.program,
        arguments=tuple(args.arguments),
        gpu=gpu_to_emulate(args.gpu) if args.gpu else None,
        repeats=args.repeats,
        max_mb=args.max_mb,
        max_buffer_mb=args.max_buffer_mb,
        max_launches=args.max_launches,
        timeout_s=args.timeout,
    )


def _program_build(args: argparse.Namespace) -> ProgramBuild:
    from kernel_pytorch.jobs.program_build import ProgramBuild

    return ProgramBuild(tuple(args.include_dirs), tuple(args.defines), untranslated=args.untranslated)


def _show(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.report.golden_text import model_record_lines, program_record_lines
    from kernel_pytorch.verify.golden.archive import GoldenArchive
    from kernel_pytorch.verify.kernels.record import KernelArchive, is_kernel_record

    record: GoldenRecord | KernelRecord
    if is_kernel_record(args.folder):
        record = KernelArchive(args.folder).record
        lines = program_record_lines(record)
    else:
        record = GoldenArchive(args.folder).record
        lines = model_record_lines(record)
    if args.json:
        print(json.dumps(to_plain(record)))
    else:
        _print_lines(lines)
    return 0


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _say(text: Any) -> None:
    print(text, file=sys.stderr)
