"""Run a HIP or CUDA program on an emulated AMD GPU: its real machine code, on the CPU, at wave 32 or 64.

    kpt emulate saxpy.hip --gpu mi300x                 build for that GPU and run it
    kpt emulate reduce.cu --gpu mi300x -- 1000 7       CUDA is ported first; what follows `--` goes to the program
    kpt emulate ./a.out --gpu rx7900xtx                an executable that carries code for that GPU
    kpt emulate --gpu mi300x -- python script.py       any program that loads HIP's libraries, now or later
    kpt emulate reduce.cu --compare rx7900xtx,mi300x   run at wave 32 and at wave 64 and compare
    kpt emulate reduce.hip --check memory,races        find faults that hardware hides
    kpt emulate reduce.hip --engine rocjitsu           on AMD's own emulator too, if it is here, and compared
    kpt emulate reduce.hip --profile                   instructions, divergence, coalescing, hot source lines
    kpt emulate kernels.hsaco                          translate every kernel of a code object; nothing is run
    kpt emulate reduce.cu --source --check races       CUDA's own meaning, from source: no lockstep, all checked
    kpt emulate reduce.cu --source --compare mi300x    ... and whether the machine code agrees

`--untranslated` compiles a .cu with its names mapped and its lane logic untouched: then wave 32 is what the CUDA
original means, and a difference at wave 64 is a wave-width fault. No AMD GPU is involved: timings say nothing about
hardware. Exit 1 when the program fails, a fault is found or widths differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.cli.arguments.commands import command_words, keep_words_after_dashes
from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.emulate.run import Outcome, RunSettings
    from kernel_pytorch.jobs.emulate import EmulationResult
    from kernel_pytorch.jobs.program_build import ProgramBuild

SUMMARY = "run a HIP or CUDA program's AMD machine code on the CPU, at wave 32 or 64"
CHECKS = ("memory", "races", "waits")
DEFAULT_GPU = "mi300x"
_MOST_GPUS = 8  # of a node
_A_DAY_S = 86_400.0  # a person at a breakpoint is no kernel without progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt emulate`."""
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="PROGRAM",
        help=".hip or .cu sources, an executable, or a .hsaco; none: the command after `--` is run",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--gpu", "--arch", dest="gpu", metavar="NAME", help=f"the GPU, or its gfx target (default {DEFAULT_GPU})"
    )
    where.add_argument("--compare", metavar="A,B", help="run on each of these and compare with the first")
    look = parser.add_argument_group("what to look for")
    look.add_argument(
        "--check",
        default="",
        metavar="LIST",
        help="memory (bounds, freed, unwritten), races (in kernels, between streams), waits",
    )
    look.add_argument("--profile", action="store_true", help="count instructions, divergence, memory traffic by line")
    look.add_argument(
        "--whole-pages",
        action="store_true",
        help="round buffers up to pages, as drivers do: small overruns, and those of LDS, go unnoticed",
    )
    look.add_argument("--shuffle-blocks", action="store_true", help="run blocks in random order")
    source = parser.add_argument_group("from source")
    source.add_argument("--source", action="store_true", help="CUDA's meaning at warp 32, from source, no lockstep")
    source.add_argument("--seed", type=int, default=1, metavar="N", help="the order in which --source runs threads (1)")
    how = parser.add_argument_group("building")
    how.add_argument(
        "-I", dest="include_dirs", action="append", default=[], type=Path, metavar="DIR", help="a folder of headers"
    )
    how.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME[=VALUE]", help="a macro")
    how.add_argument("-l", dest="libraries", action="append", default=[], metavar="NAME", help="link hipblas, ...")
    how.add_argument("-O", dest="optimization", metavar="LEVEL", help="optimisation, 0 to 3 (default 3; --source: 1)")
    how.add_argument(
        "--quick", action="store_true", help="no optimisation on this CPU: for many small kernels that hardly run"
    )
    how.add_argument("--std", default="c++17", metavar="STANDARD", help="C++ standard (c++17)")
    how.add_argument(
        "--untranslated", action="store_true", help="of a .cu, translate the names only, not the lane logic"
    )
    parser.add_argument(
        "--libraries",
        dest="library_source",
        metavar="real:DIR",
        help="the vendor's own rocBLAS, rocFFT and so on from this folder, kernels emulated; slower than stand-ins",
    )
    parser.add_argument("--under", metavar="COMMAND", help="start the program with this: 'gdb --args', valgrind")
    parser.add_argument(
        "--engine",
        choices=("kpt", "rocjitsu"),
        default="kpt",
        help="rocjitsu: run it on AMD's emulator too, where that is installed, and compare",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")
    limits.add_argument("--timeout", type=float, metavar="S", help="stop the program after this time")
    limits.add_argument(
        "--watchdog",
        type=float,
        default=60.0,
        metavar="S",
        help="stop a kernel that makes no progress for this long (60)",
    )
    limits.add_argument("--gpus", type=int, default=1, metavar="N", help="how many such GPUs there are: 1 to 8 (1)")
    limits.add_argument("--memory", type=float, metavar="GB", help="device memory (default: the GPU's)")
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout, the program's output in it")
    parser.set_defaults(arguments=[])
    keep_words_after_dashes(parser, "arguments")


def run(args: argparse.Namespace) -> int:
    """Build where needed, run, report."""
    from kernel_pytorch.jobs.emulate import emulate, source_files

    if not args.files:
        return _any_program(args)
    source_files(args.files)
    if any(path.suffix == ".hsaco" for path in args.files):
        return _translate_only(args)
    settings = _settings(args)
    names = [name.strip() for name in args.compare.split(",")] if args.compare else []
    two_engines = args.engine != "kpt"
    if two_engines and (args.compare or args.source or args.under):
        raise UsageError(f"--engine {args.engine} takes one GPU's machine code: leave --compare, --source, --under out")
    echo = not (args.json or args.compare or two_engines)
    if args.source:
        return _from_source(args, names, settings, echo)
    if args.compare and len(names) < 2:
        raise UsageError("--compare needs two GPUs, such as --compare rx7900xtx,mi300x")
    result = emulate(
        args.files,
        gpus=names or [args.gpu or DEFAULT_GPU],
        arguments=args.arguments,
        build=_build(args),
        settings=settings,
        echo=echo,
        progress=_say,
        engine=args.engine,
    )
    _print(args, result)
    if any(result.differences.values()) and not args.json and not two_engines:
        _print_suspects(args)
    return 0 if result.ok else 1


def _any_program(args: argparse.Namespace) -> int:
    """The command after `--`. What it loads is its own affair, so that every library has to be there."""
    from kernel_pytorch.jobs.emulate import emulate_command

    if not args.arguments:
        raise UsageError("no program: give sources or an executable, or a command after `--`")
    given = {"--source": args.source, "--untranslated": args.untranslated, "-I": args.include_dirs, "-D": args.defines}
    for name, value in {**given, "-l": args.libraries, "-O": args.optimization}.items():
        if value:
            raise UsageError(f"{name} is for programs that are built here: {args.arguments[0]} is run as it is")
    names = [name.strip() for name in args.compare.split(",")] if args.compare else [args.gpu or DEFAULT_GPU]
    echo = not (args.json or args.compare or args.engine != "kpt")
    result = emulate_command(
        args.arguments, gpus=names, settings=_settings(args), echo=echo, progress=_say, engine=args.engine
    )
    _print(args, result)
    return 0 if result.ok else 1


def _from_source(args: argparse.Namespace, names: Sequence[str], settings: RunSettings, echo: bool) -> int:
    from kernel_pytorch.jobs.emulate_source import SOURCE_OPTIMIZATION, emulate_source

    _check_source_arguments(args)
    result = emulate_source(
        args.files,
        gpus=names,
        arguments=args.arguments,
        build=_build(args),
        optimization=args.optimization if args.optimization is not None else SOURCE_OPTIMIZATION,
        settings=settings,
        seed=args.seed,
        echo=echo,
        progress=_say,
    )
    _print(args, result)
    for verdict in result.lockstep if not args.json else ():
        print(verdict.text)
        for fault in verdict.places:
            print(f"    {fault.place}: {fault.kind}: {fault.detail}")
    return 0 if result.ok else 1


def _check_source_arguments(args: argparse.Namespace) -> None:
    """What has no meaning from source is an error, not a silence."""
    refused = {
        "--profile": args.profile,
        "--whole-pages": args.whole_pages,
        "-l": args.libraries,
        "--libraries": args.library_source,
    }
    for name, given in (*refused.items(), ("--gpu", args.gpu is not None)):
        if given:
            raise UsageError(f"{name} has no meaning with --source; --compare names GPUs to compare with")
    if args.untranslated and not args.compare:
        raise UsageError("--untranslated has no meaning with --source alone: the source is never translated")


def _settings(args: argparse.Namespace) -> RunSettings:
    from kernel_pytorch.emulate.run import RunSettings, is_gdb

    wanted = [word.strip() for word in args.check.split(",") if word.strip()]
    for word in wanted:
        if word not in CHECKS:
            raise UsageError(f"--check {word}: not known; expected {', '.join(CHECKS)}")
    for name in ("threads", "timeout", "watchdog", "memory"):
        value = getattr(args, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name} {value:g}: expected more than 0")
    if not 1 <= args.gpus <= _MOST_GPUS:
        raise UsageError(f"--gpus {args.gpus}: expected 1 to {_MOST_GPUS}")
    if args.whole_pages and set(wanted) - {"waits"}:
        raise UsageError(
            "--whole-pages lets small overruns go unnoticed, and --check looks for them: leave one of the two out"
        )
    real = _real_libraries(args.library_source)
    under = command_words("--under", args.under)
    if under and (args.compare or args.json):
        raise UsageError("--under gives the terminal to one run of the program: leave --compare and --json out")
    return RunSettings(
        checked="memory" in wanted or "races" in wanted,
        races="races" in wanted,
        waits="waits" in wanted,
        counted=args.profile,
        debug=is_gdb(under),
        quick=args.quick,
        shuffle_blocks=args.shuffle_blocks,
        whole_pages=args.whole_pages,
        threads=args.threads,
        watchdog_s=args.watchdog if not under else _A_DAY_S,
        under=under,
        real_libraries=real,
        memory_gb=args.memory,
        devices=args.gpus,
        timeout_s=args.timeout,
        quiet_faults=not args.compare,
    )


def _real_libraries(text: str | None) -> Path | None:
    if text is None:
        return None
    kind, _, folder = text.partition(":")
    if kind != "real" or not folder:
        raise UsageError(f"--libraries {text}: expected real:DIR, the folder with the vendor's libraries")
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"--libraries {text}: {folder} is not a folder")
    if not any(path.glob("lib*.so*")):
        raise UsageError(f"--libraries {text}: {folder} has no shared libraries; a ROCm installation has them in lib")
    return path


def _build(args: argparse.Namespace) -> ProgramBuild:
    from kernel_pytorch.jobs.program_build import ProgramBuild

    return ProgramBuild(
        tuple(args.include_dirs),
        tuple(args.defines),
        tuple(args.libraries),
        args.optimization or "3",
        args.std,
        args.untranslated,
    )


def _translate_only(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.jobs.emulate import translate_code_objects
    from kernel_pytorch.toolchain.kernel_symbols import readable_name

    found = translate_code_objects(args.files, _settings(args))
    for one in found:
        _say(
            f"{one.file}: {counted(len(one.kernels), 'kernel')} to emulate; run the program that launches them, or use"
        )
        _say("kernel_pytorch.emulate.launch from Python")
        for kernel, place, detail in one.missing_waits if not args.json else ():
            print(f"wait in {readable_name(kernel)} at {place}:\n    {detail}")
    if args.json:
        print(json.dumps({"schema": 1, "code_objects": to_plain(found)}, indent=2))
    return 1 if any(one.missing_waits for one in found) else 0


def _print(args: argparse.Namespace, result: EmulationResult) -> None:
    if args.json:
        from kernel_pytorch.core.findings import to_plain

        runs = [{"ok": run.ok, **to_plain(run)} for run in result.runs]
        document = {"schema": 1, "runs": runs, "differences": to_plain(result.differences)}
        if args.source and args.compare:
            document["lockstep"] = to_plain(result.lockstep)
        print(json.dumps(document, indent=2))
        return
    for outcome in result.runs:
        _print_outcome(args, outcome)
    first = result.runs[0].gpu
    for name, lines in result.differences.items():
        if not lines:
            print(f"{first} and {name}: the same output, exit code and device buffers")
        for line in lines:
            print(f"{first} and {name} differ: {line}")


def _print_suspects(args: argparse.Namespace) -> None:
    """The places where lane logic depends on the width: what `kpt port` would change, or leaves to a person."""
    from kernel_pytorch.jobs.emulate import lane_findings

    suspects = lane_findings(args.files, args.include_dirs)
    if suspects and args.untranslated:
        print("lane logic that depends on the width (`kpt port` adapts what it can prove):")
    for finding in suspects if args.untranslated else [one for one in suspects if not one.edits]:
        print(f"  {finding}")


def _print_outcome(args: argparse.Namespace, outcome: Outcome) -> None:
    from kernel_pytorch.emulate.summary import ending, fault_lines, fidelity_lines, profile_lines, torch_lines

    if args.compare or args.engine != "kpt":
        _say(f"{outcome.gpu}: {ending(outcome)} after {outcome.seconds:.1f} s")
    for line in fault_lines(outcome.events):
        print(line)
    if args.profile:
        for line in profile_lines(outcome.events):
            print(line)
    if not args.compare and outcome.exit_code != 0:
        _say(f"the program {ending(outcome)}")
    kernels = sum(launch.seconds for launch in outcome.events.launches)
    launches = counted(len(outcome.events.launches), "launch", "launches")
    _say(f"{outcome.gpu}: {launches}, {kernels:.2f} s in kernels on this CPU")
    for line in (*fidelity_lines(outcome.events), *torch_lines(outcome.events)):
        _say(line)
    for name in outcome.events.unsupported:
        _say(f"not emulated: {name} returned an error to the program")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
