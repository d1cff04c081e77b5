"""Run a HIP or CUDA program on an emulated AMD GPU: its real machine code, on the CPU, at wave 32 or 64.

    kpt emulate saxpy.hip --gpu mi300x                 build for that GPU and run it
    kpt emulate reduce.cu --gpu mi300x -- 1000 7       CUDA is ported first; what follows `--` goes to the program
    kpt emulate ./a.out --gpu rx7900xtx                an executable that carries code for that GPU
    kpt emulate reduce.cu --compare rx7900xtx,mi300x   run at wave 32 and at wave 64 and compare
    kpt emulate reduce.hip --check memory,races        find what the hardware hides
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
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.cli.arguments.commands import command_words, keep_words_after_dashes
from kernel_pytorch.cli.emulate_source import add_source_arguments
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.text_file import is_binary_source

if TYPE_CHECKING:
    from kernel_pytorch.core.hardware import GPU
    from kernel_pytorch.emulate.run import Outcome, Settings
    from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions

SUMMARY = "run a HIP or CUDA program's AMD machine code on the CPU, at wave 32 or 64"
CHECKS = ("memory", "races")
DEFAULT_GPU = "mi300x"
_A_DAY_S = 86_400.0  # a person at a breakpoint is no kernel without progress
# HIP refuses 32-bit masks at compile time; this header takes them, so that what they do at run time is seen.
UNTOUCHED_LANES = "kpt_untouched_lanes.h"
SOURCES = (".hip", ".cu", ".cpp", ".cc", ".cxx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt emulate`."""
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="PROGRAM", help=".hip or .cu sources, an executable, or a .hsaco"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--gpu", metavar="NAME", help=f"the GPU to emulate (default {DEFAULT_GPU})")
    where.add_argument("--compare", metavar="A,B", help="run on each of these and compare with the first")
    look = parser.add_argument_group("what to look for")
    look.add_argument("--check", default="", metavar="LIST", help="memory (bounds, freed, unwritten), races")
    look.add_argument("--profile", action="store_true", help="count instructions, divergence, memory traffic by line")
    look.add_argument(
        "--whole-pages", action="store_true", help="buffers as drivers give them: a small overrun goes on, unseen"
    )
    look.add_argument("--shuffle-blocks", action="store_true", help="run blocks in random order")
    add_source_arguments(parser)
    how = parser.add_argument_group("building")
    how.add_argument(
        "-I", dest="include_dirs", action="append", default=[], type=Path, metavar="DIR", help="a folder of headers"
    )
    how.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME[=VALUE]", help="a macro")
    how.add_argument("-l", dest="libraries", action="append", default=[], metavar="NAME", help="link hipblas, ...")
    how.add_argument("-O", dest="optimization", metavar="LEVEL", help="3, or 1 with --source")
    how.add_argument("--std", default="c++17", metavar="STANDARD", help="C++ standard (c++17)")
    how.add_argument("--untranslated", action="store_true", help="map the names of a .cu only, leave its lane logic")
    parser.add_argument("--under", metavar="COMMAND", help="start the program with this: 'gdb --args', valgrind")
    limits = parser.add_argument_group("limits")
    limits.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")
    limits.add_argument("--timeout", type=float, metavar="S", help="stop the program after this time")
    limits.add_argument("--watchdog", type=float, default=60.0, metavar="S", help="a kernel without progress (60)")
    limits.add_argument("--memory", type=float, metavar="GB", help="device memory (default: the GPU's)")
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout, the program's output in it")
    parser.set_defaults(arguments=[])
    keep_words_after_dashes(parser, "arguments")


def run(args: argparse.Namespace) -> int:
    """Build where needed, run, report."""
    with _clear_end(args.files):
        return _emulate(args)


@contextmanager
def _clear_end(files: Sequence[Path]) -> Iterator[None]:
    """What a damaged file, a kernel that cannot be translated or a machine that is not set up ends in: one message."""
    from kernel_pytorch.core.cache_folder import default_cache
    from kernel_pytorch.emulate.assembly.instruction import AssemblyError
    from kernel_pytorch.emulate.codegen.emission import TranslationError
    from kernel_pytorch.emulate.host_compiler import HostCompileFailed
    from kernel_pytorch.emulate.isa.row import TableError
    from kernel_pytorch.emulate.runtime_build import RuntimeBuildError
    from kernel_pytorch.toolchain.code_object import CodeObjectError
    from kernel_pytorch.toolchain.elf import ElfError
    from kernel_pytorch.toolchain.offload_bundle import BundleError

    named = ", ".join(map(str, files))
    try:
        yield
    except (CodeObjectError, ElfError, BundleError) as damage:
        raise UsageError(f"{named}: no code object that can be read: {damage}") from damage
    except (TranslationError, AssemblyError, TableError) as refusal:
        raise UsageError(f"{named}: cannot be emulated: {refusal}") from refusal
    except (HostCompileFailed, RuntimeBuildError) as failure:
        raise UsageError(f"{named}: {failure}") from failure
    except BrokenPipeError:
        raise
    except OSError as problem:
        place = problem.filename if problem.filename is not None else named
        kept = default_cache()
        in_cache = kept in (Path(str(place)), *Path(str(place)).parents)
        hint = "; KPT_CACHE_DIR names another folder to keep builds in" if in_cache else ""
        raise UsageError(f"{place}: {problem.strerror or problem}{hint}") from problem


def _emulate(args: argparse.Namespace) -> int:
    for path in args.files:
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
        if is_binary_source(path):
            raise UsageError(f"{path}: not a text file: nothing a compiler could read")
    if any(path.suffix == ".hsaco" for path in args.files):
        return _translate_only(args)
    settings = _settings(args)
    names = args.compare.split(",") if args.compare else [] if args.source else [args.gpu or DEFAULT_GPU]
    gpus = [_gpu(name.strip()) for name in names]
    if args.source:
        return _from_source(args, gpus, settings)
    if args.compare and len(gpus) < 2:
        raise UsageError("--compare needs two GPUs, such as --compare rx7900xtx,mi300x")
    with tempfile.TemporaryDirectory(prefix="kpt-emulate-") as scratch, ExitStack() as stack:
        programs = _executables(args, gpus, settings, Path(scratch), stack)
        outcomes = [_run(program, args, gpu, settings) for program, gpu in zip(programs, gpus, strict=True)]
        differences = _compared(programs, outcomes, args, gpus, settings) if args.compare else {}
    _print(args, outcomes, differences)
    if any(differences.values()) and not args.json:
        _print_suspects(args)
    failed = any(not outcome.ok for outcome in outcomes) or any(differences.values())
    return 1 if failed else 0


def _from_source(args: argparse.Namespace, gpus: Sequence[GPU], settings: Settings) -> int:
    from kernel_pytorch.cli.emulate_source.verb import print_verdicts, run_from_source

    with tempfile.TemporaryDirectory(prefix="kpt-emulate-") as scratch, ExitStack() as stack:

        def on_machines() -> list[Outcome]:
            programs = _executables(args, gpus, settings, Path(scratch), stack)
            return [_run(program, args, gpu, settings) for program, gpu in zip(programs, gpus, strict=True)]

        result = run_from_source(args, settings, Path(scratch), _say, on_machines if gpus else None)
    _print(args, [result.outcome, *result.machine], result.differences, {"lockstep": result.verdicts} if gpus else {})
    print_verdicts(args, result)
    return 0 if result.ok else 1


def _settings(args: argparse.Namespace) -> Settings:
    from kernel_pytorch.emulate.run import Settings

    wanted = [word.strip() for word in args.check.split(",") if word.strip()]
    for word in wanted:
        if word not in CHECKS:
            raise UsageError(f"--check {word}: not known; expected {', '.join(CHECKS)}")
    for name in ("threads", "timeout", "watchdog", "memory"):
        value = getattr(args, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name} {value:g}: expected more than 0")
    if args.whole_pages and wanted:
        raise UsageError("--whole-pages lets small overruns go unseen, which --check is to find: leave one of them out")
    under = command_words("--under", args.under)
    if under and (args.compare or args.json):
        raise UsageError("--under gives the terminal to one run of the program: leave --compare and --json out")
    return Settings(
        checked="memory" in wanted or "races" in wanted,
        races="races" in wanted,
        counted=args.profile,
        shuffle_blocks=args.shuffle_blocks,
        whole_pages=args.whole_pages,
        threads=args.threads,
        watchdog_s=args.watchdog if not under else _A_DAY_S,
        under=under,
        memory_gb=args.memory,
        timeout_s=args.timeout,
        quiet_faults=not args.compare,
    )


def _gpu(name: str) -> GPU:
    from kernel_pytorch.core.hardware import gpu_by_alias

    gpu = gpu_by_alias(name)
    if gpu.vendor != "amd":
        raise UsageError(f"{gpu.name} is not an AMD GPU: only those are emulated")
    return gpu


def _executables(
    args: argparse.Namespace, gpus: Sequence[GPU], settings: Settings, scratch: Path, stack: ExitStack
) -> list[Path]:
    """One executable per GPU: built from source for its target, or the one that was given."""
    if all(path.suffix.lower() not in SOURCES for path in args.files):
        if len(args.files) != 1:
            raise UsageError("give one executable, or sources")
        for gpu in gpus:
            _check_carries(args.files[0], gpu)
        return [args.files[0]] * len(gpus)
    from kernel_pytorch.emulate.program import build_emulated
    from kernel_pytorch.toolchain.compile import CompileFailed
    from kernel_pytorch.toolchain.find import find_toolchain

    toolchain = find_toolchain()
    sources, options = _sources(args, stack)
    made = []
    for target in dict.fromkeys(gpu.target.name for gpu in gpus):
        _say(f"building for {target} with {toolchain.version}")
        destination = scratch / f"program-{target}"
        try:
            build_emulated(sources, target, toolchain, destination, options, args.libraries, settings.build)
        except CompileFailed as failure:
            raise UsageError(_build_problem(args.files, target, failure)) from failure
        made.append((target, destination))
    by_target = dict(made)
    return [by_target[gpu.target.name] for gpu in gpus]


def _check_carries(program: Path, gpu: GPU) -> None:
    """A program without code for the GPU would run, launch nothing, and seem to be fine."""
    from kernel_pytorch.core.hardware import base_target
    from kernel_pytorch.toolchain.code_object import CodeObjectError, code_object_images

    try:
        images = code_object_images(program.read_bytes())
    except CodeObjectError:
        return  # it may load its kernels from files, or compile them
    targets = sorted({base_target(image.entry) for image in images})
    if gpu.target.name not in targets and not any("generic" in image.entry for image in images):
        raise UsageError(
            f"{program}: has code for {', '.join(targets)}, not for {gpu.name} ({gpu.target.name}): "
            f"build it with --offload-arch={gpu.target.name}, or give its sources"
        )


def _build_problem(files: Sequence[Path], target: str, failure: CompileFailed) -> str:
    named = ", ".join(map(str, files))
    if "undefined reference to `main'" in failure.stderr or "undefined symbol: main" in failure.stderr:
        return f"{named}: has no main(); to run a single kernel use kernel_pytorch.emulate.launch from Python"
    said = str(failure)
    if "stopped with" in said:
        said = "\n".join(failure.stderr.strip().splitlines()[-8:]) or said
    return f"{named} does not build for {target}:\n{said}"


def _sources(args: argparse.Namespace, stack: ExitStack) -> tuple[list[Path], CompileOptions]:
    """The HIP sources to compile: a .cu is translated into a scratch folder first."""
    from kernel_pytorch.port.builds.hipified_tree import hipified_folders, hipified_tree
    from kernel_pytorch.toolchain.compile import CompileOptions

    sources = []
    folders: list[Path] = []
    for path in args.files:
        if path.suffix.lower() == ".cu":
            rules = without_lane_rules() if args.untranslated else None
            tree = stack.enter_context(hipified_tree(path, tuple(args.include_dirs), rules))
            sources.append(tree.main)
            folders += [one for one in hipified_folders(tree, args.include_dirs) if one not in args.include_dirs]
            for finding in tree.findings:
                if not finding.edits:
                    _say(f"left for a person: {finding}")
        elif path.suffix.lower() in SOURCES:
            sources.append(path)
        else:
            raise UsageError(f"{path}: not a source; expected {', '.join(SOURCES)}")
    options = CompileOptions(
        optimization=f"-O{args.optimization or 3}",
        defines=tuple(args.defines),
        include_dirs=(*folders, *args.include_dirs),
        std=args.std,
        extra=("-include", UNTOUCHED_LANES) if args.untranslated else (),
    )
    return sources, options


def without_lane_rules() -> tuple[str, ...]:
    """Every code but those that adapt lane logic."""
    from kernel_pytorch.port.rules import rule_names

    codes = (name[:5].upper() for name in rule_names())
    return tuple(code for code in codes if not code.startswith("KP3"))


def _run(program: Path, args: argparse.Namespace, gpu: GPU, settings: Settings) -> Outcome:
    from kernel_pytorch.emulate.run import run_program

    _say(f"running on an emulated {gpu.name} ({gpu.target.name}, wave {gpu.target.wave_size})")
    echo = not (args.json or args.compare)
    return run_program(program, args.arguments, gpu, settings, echo=echo)


def _compared(
    programs: Sequence[Path], outcomes: Sequence[Outcome], args: argparse.Namespace, gpus: Sequence[GPU], how: Settings
) -> dict[str, list[str]]:
    """What each GPU did differently from the first; a second run of the first tells noise from difference."""
    from kernel_pytorch.emulate.compare import differences

    found: dict[str, list[str]] = {}
    again = None
    for gpu, outcome in list(zip(gpus, outcomes, strict=True))[1:]:
        apart = differences(outcomes[0], outcome)
        if apart and again is None:
            again = _run(programs[0], args, gpus[0], replace(how))
        if again is not None:
            apart = differences(outcomes[0], outcome, again)
        found[gpu.name] = [str(one) for one in apart]
    return found


def _translate_only(args: argparse.Namespace) -> int:
    from kernel_pytorch.emulate.translate import translate_module
    from kernel_pytorch.toolchain.code_object import code_object_images, read_code_object

    found = []
    for path in args.files:
        for image in code_object_images(path.read_bytes()):
            described = read_code_object(image.content)
            translate_module(image.content, None, _settings(args).build)
            names = [kernel.name for kernel in described.kernels]
            found.append({"file": str(path), "target": described.target, "kernels": names})
            _say(f"{path}: {len(names)} kernels can be emulated; run the program that launches them, or use")
            _say("kernel_pytorch.emulate.launch from Python")
    if args.json:
        print(json.dumps({"schema": 1, "code_objects": found}, indent=2))
    return 0


def _print(
    args: argparse.Namespace, outcomes: Sequence[Outcome], differences: dict[str, list[str]], more: Any = None
) -> None:
    if args.json:
        from kernel_pytorch.core.findings import to_plain

        plain = [{"ok": outcome.ok, **to_plain(outcome)} for outcome in outcomes]
        print(json.dumps({"schema": 1, "runs": plain, "differences": differences, **to_plain(more or {})}, indent=2))
        return
    for outcome in outcomes:
        _print_outcome(args, outcome)
    for name, lines in differences.items():
        if not lines:
            print(f"{outcomes[0].gpu} and {name}: the same output, exit code and device buffers")
        for line in lines:
            print(f"{outcomes[0].gpu} and {name} differ: {line}")


def _print_suspects(args: argparse.Namespace) -> None:
    """The places where lane logic depends on the width: what `kpt port` would change, or leaves to a person."""
    from kernel_pytorch.port.builds.hipified_tree import hipified_tree

    for path in args.files:
        if path.suffix.lower() != ".cu":
            continue
        with hipified_tree(path, tuple(args.include_dirs)) as tree:
            suspects = [finding for finding in tree.findings if finding.code.startswith("KP3")]
        if suspects and args.untranslated:
            print("lane logic that depends on the width (`kpt port` adapts what it can prove):")
        for finding in suspects if args.untranslated else [one for one in suspects if not one.edits]:
            print(f"  {finding}")


def _print_outcome(args: argparse.Namespace, outcome: Outcome) -> None:
    from kernel_pytorch.emulate.summary import ending, fault_lines, profile_lines

    if args.compare:
        _say(f"{outcome.gpu}: {ending(outcome)} after {outcome.seconds:.1f} s")
    for line in fault_lines(outcome.events):
        print(line)
    if args.profile:
        for line in profile_lines(outcome.events):
            print(line)
    if not args.compare and outcome.exit_code != 0:
        _say(f"the program {ending(outcome)}")
    kernels = sum(launch.seconds for launch in outcome.events.launches)
    _say(f"{outcome.gpu}: {len(outcome.events.launches)} launches, {kernels:.2f} s in kernels on this CPU")
    for name in outcome.events.unsupported:
        _say(f"not emulated: {name} returned an error to the program")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
