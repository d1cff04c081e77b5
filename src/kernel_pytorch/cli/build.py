"""Compile HIP, CUDA and Triton kernels for AMD GPUs, and show what each kernel needs.

    kpt build kernels.hip --arch gfx942,gfx1100          registers, spills, LDS, occupancy per kernel and target
    kpt build kernels.hip --gpu mi300x -o out            also writes out/kernels.gfx942.hsaco
    kpt build kernels.cu --arch gfx942                   CUDA is translated first (as `kpt hipify` does)
    kpt build kernels.hip -I include -D N=4 -- -ffast-math
    kpt build model.py::add_kernel --arch gfx942 --signature "*fp32,*fp32,i32" --constexpr BLOCK=1024
    kpt build out/kernels.gfx942.hsaco                   the table of a file that is compiled already
    kpt build --toolchain                                which compiler would be used, and what the others lack

Needs no AMD GPU and no ROCm: pip install "kernel-pytorch[toolchain]" is enough. What follows `--` goes to the compiler.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.cli.arguments.commands import keep_words_after_dashes
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.inside import bound_root
from kernel_pytorch.core.text_file import is_binary_source

if TYPE_CHECKING:
    from kernel_pytorch.port.layouts.translated_tree import TranslatedTree
    from kernel_pytorch.toolchain.build import Built, Source
    from kernel_pytorch.toolchain.compile import CompileOptions
    from kernel_pytorch.toolchain.find import Toolchain

SUMMARY = "compile kernels for AMD GPUs and show registers, spills, LDS and occupancy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt build`."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="HIP or CUDA source, file.py::kernel, .hsaco, object or executable"
    )
    where = parser.add_argument_group("targets")
    where.add_argument(
        "--arch",
        action="append",
        default=[],
        metavar="LIST",
        help="gfx targets, comma-separated (default: six common ones)",
    )
    where.add_argument(
        "--gpu", action="append", default=[], metavar="LIST", help="products instead, such as mi300x,rx7900xtx"
    )
    out = parser.add_argument_group("output")
    out.add_argument("-o", "--out", type=Path, metavar="DIR", help="write NAME.ARCH.hsaco (and .s, .dis) there")
    out.add_argument("--json", action="store_true", help="everything as JSON on stdout")
    out.add_argument("--asm", action="store_true", help="also the compiler's assembly")
    out.add_argument("--disassemble", action="store_true", help="also the machine code, disassembled")
    out.add_argument(
        "--workgroup-size", type=_positive, metavar="N", help="occupancy for this launch (default: the best)"
    )
    out.add_argument("--dynamic-lds", type=_natural, default=0, metavar="BYTES", help="LDS the launch adds")
    how = parser.add_argument_group("compiling")
    how.add_argument(
        "-I",
        dest="include_dirs",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="include folder (repeatable)",
    )
    how.add_argument(
        "-D", dest="defines", action="append", default=[], metavar="NAME[=VALUE]", help="a macro (repeatable)"
    )
    how.add_argument("-O", dest="optimization", default="3", metavar="LEVEL", help="0, 1, 2, 3, s or fast (default 3)")
    how.add_argument("--std", metavar="STANDARD", help="C++ standard (default c++17)")
    how.add_argument("--compile-commands", type=Path, metavar="FILE", help="take include paths and defines from there")
    how.add_argument("--host", action=argparse.BooleanOptionalAction, default=True, help="check the host side too")
    how.add_argument("--as-hip", action="store_true", help="compile a .cu file as HIP, untranslated")
    how.add_argument("-j", "--jobs", type=_positive, metavar="N", help="compilers at once (default: one per core)")
    how.add_argument("--compiler", choices=("rocm", "clang", "zig"), help="use this kind (default: the first found)")
    how.add_argument("--toolchain", action="store_true", help="show the compilers that were found and what each lacks")
    triton = parser.add_argument_group("Triton kernels (file.py::kernel)")
    triton.add_argument("--signature", metavar="TYPES", help='run-time parameter types in order: "*fp32,*fp32:16,i32"')
    triton.add_argument(
        "--constexpr", action="append", default=[], metavar="NAME=VALUE", help="a compile-time parameter (repeatable)"
    )
    triton.add_argument("--num-warps", type=_positive, metavar="N", help="waves per program (default: Triton's)")
    triton.add_argument("--num-stages", type=_positive, metavar="N", help="pipeline stages (default: Triton's)")
    parser.set_defaults(extra=[])
    keep_words_after_dashes(parser, "extra")


def run(args: argparse.Namespace) -> int:
    """Build; 0 when everything compiled, 1 when something did not."""
    from kernel_pytorch.toolchain.build import write_outputs
    from kernel_pytorch.toolchain.build_report import build_json

    if args.toolchain:
        return _show_toolchain(args)
    if not args.files:
        raise UsageError("kpt build needs a file; `kpt build --help` shows examples")
    architectures = _architectures(args)
    results, toolchain = _build(args, architectures)
    written = write_outputs(results, args.out) if args.out is not None else {}
    if args.json:
        launch = {"workgroup_size": args.workgroup_size, "dynamic_lds_bytes": args.dynamic_lds}
        print(json.dumps(build_json(results, toolchain, written, **launch), indent=2))
    else:
        _print_text(results, args)
    return 0 if all(built.ok for built in results) else 1


def _build(args: argparse.Namespace, architectures: Sequence[str]) -> tuple[list[Built], Toolchain | None]:
    from kernel_pytorch.toolchain.build import Wanted, build_sources, build_triton_kernel, read_built
    from kernel_pytorch.toolchain.find import find_toolchain
    from kernel_pytorch.toolchain.triton_build import split_kernel_path

    wanted = Wanted(args.asm, args.disassemble)
    sources: list[Source] = []
    others: dict[int, list[Built]] = {}
    # Look at every file before anything is compiled: a mistyped last name should not cost minutes.
    kinds = [_kind(text) for text in args.files]
    options = _options(args) if "hip" in kinds else {}
    toolchain = find_toolchain(prefer=args.compiler) if "hip" in kinds else None
    scratch = ExitStack()
    trees: dict[Path, TranslatedTree] = {}
    for index, (text, kind) in enumerate(zip(args.files, kinds, strict=True)):
        if kind == "hip":
            path = _translated(Path(text), scratch, trees, args)
            sources.append(_source(path, trees.get(path), options, args))
        elif kind == "code-object":
            others[index] = read_built(Path(text), wanted)
        else:
            named = split_kernel_path(text)
            assert named is not None
            others[index] = build_triton_kernel(_triton_request(*named, args), architectures, wanted)
    if toolchain is None:
        return [built for index in sorted(others) for built in others[index]], None
    with scratch, _Progress(len(sources) * (len(architectures) + bool(args.host)), shown=not args.json) as progress:
        compiled = build_sources(sources, architectures, toolchain, wanted, args.jobs, progress.step)
    compiled = [_on_original(built, trees) for built in compiled]
    results: list[Built] = []
    per_source = len(architectures) + bool(args.host)
    for index, kind in enumerate(kinds):
        if kind == "hip":
            results += compiled[:per_source]
            del compiled[:per_source]
        else:
            results += others[index]
    return results, toolchain


def _translated(path: Path, scratch: ExitStack, trees: dict[Path, TranslatedTree], args: argparse.Namespace) -> Path:
    """The file to compile: a CUDA source is translated into a scratch folder first, with the headers it reaches."""
    if path.suffix.lower() != ".cu" or args.as_hip:
        return path
    from kernel_pytorch.port.layouts.translated_tree import translated_tree

    tree = scratch.enter_context(translated_tree(path, tuple(args.include_dirs)))
    trees[tree.main] = tree
    return tree.main


def _on_original(built: Built, trees: dict[Path, TranslatedTree]) -> Built:
    """What was built from a translation, under the user's file name and lines, with what the translation left open."""
    tree = trees.get(Path(built.file))
    if tree is None:
        return built
    left = [f"{finding}" for finding in tree.findings if not finding.edits]
    note = f"translated from CUDA; {len(left)} findings are left for a person, the first: {left[0]}" if left else None
    messages = tuple(tree.on_original(message) for message in built.messages)
    return replace(built, file=str(tree.original), messages=messages, note=built.note or note)


def _kind(text: str) -> str:
    """What a file on the command line is; raises UsageError for what cannot be built."""
    from kernel_pytorch.toolchain.build import SOURCE_SUFFIXES, is_compiled
    from kernel_pytorch.toolchain.triton_build import split_kernel_path

    named = split_kernel_path(text)
    path = named[0] if named else Path(text)
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if path.is_dir():
        raise UsageError(f"{path}: a directory; name the files to build")
    if is_binary_source(path):
        raise UsageError(f"{path}: not a text file: nothing a compiler could read")
    if named:
        return "triton"
    try:
        compiled = is_compiled(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    if compiled:
        return "code-object"
    suffix = path.suffix.lower()
    if suffix == ".py":
        raise UsageError(f"{path}: name the Triton kernel to build: {path}::KERNEL --signature ...")
    if suffix not in (*SOURCE_SUFFIXES, ".cu"):
        raise UsageError(
            f"{path}: neither a HIP or CUDA source ({', '.join((*SOURCE_SUFFIXES, '.cu'))}), a Triton kernel "
            "(file.py::kernel) nor a code object"
        )
    return "hip"


def _architectures(args: argparse.Namespace) -> list[str]:
    from kernel_pytorch.core.hardware import gpu_by_alias, target
    from kernel_pytorch.toolchain.build import DEFAULT_TARGETS

    named = [name for text in args.arch for name in _split(text)]
    for name in named:
        if target(name).vendor != "amd":
            raise UsageError(f"--arch {name}: not an AMD target")
    for alias in [alias for text in args.gpu for alias in _split(text)]:
        gpu = gpu_by_alias(alias)
        if gpu.vendor != "amd":
            raise UsageError(f"--gpu {alias}: {gpu.name} is not an AMD GPU")
        named.append(gpu.target.name)
    if not named and (args.arch or args.gpu):
        raise UsageError("--arch and --gpu need at least one name, such as --arch gfx942,gfx1100")
    return list(dict.fromkeys(named)) or list(DEFAULT_TARGETS)


def _options(args: argparse.Namespace) -> dict[str, Any]:
    for directory in args.include_dirs:
        if not directory.is_dir():
            raise UsageError(f"-I {directory}: no such directory")
    return {
        "optimization": f"-O{args.optimization}",
        "defines": tuple(args.defines),
        "include_dirs": tuple(args.include_dirs),
        "extra": tuple(args.extra),
        "bounds": bound_root(),
    }


def _source(path: Path, tree: TranslatedTree | None, options: dict[str, Any], args: argparse.Namespace) -> Source:
    from kernel_pytorch.port.layouts.translated_tree import translated_folders
    from kernel_pytorch.toolchain.build import Source
    from kernel_pytorch.toolchain.compile import CompileOptions
    from kernel_pytorch.toolchain.compile_commands import CompileCommands

    chosen = CompileOptions(**options)
    if tree is not None:
        bounds = (*chosen.bounds, tree.top) if chosen.bounds else ()
        chosen = replace(chosen, include_dirs=translated_folders(tree, chosen.include_dirs), bounds=bounds)
    if args.compile_commands is not None:
        flags = CompileCommands(args.compile_commands).flags_for(path)
        chosen = replace(
            chosen,
            defines=flags.defines + chosen.defines,
            include_dirs=flags.include_dirs + chosen.include_dirs,
            extra=flags.extra + chosen.extra,
            std=flags.std or chosen.std,
        )
    return Source(path, _with_standard(chosen, args.std), check_host=args.host)


def _with_standard(options: CompileOptions, std: str | None) -> CompileOptions:
    return options if std is None else replace(options, std=std)


def _triton_request(path: Path, kernel: str, args: argparse.Namespace) -> Any:
    from kernel_pytorch.toolchain.triton_build import TritonRequest, parse_constexprs, parse_signature

    if args.signature is None:
        raise UsageError(f'{path}::{kernel}: give the parameter types, such as --signature "*fp32,*fp32,i32"')
    return TritonRequest(
        path, kernel, parse_signature(args.signature), parse_constexprs(args.constexpr), args.num_warps, args.num_stages
    )


def _print_text(results: Sequence[Built], args: argparse.Namespace) -> None:
    from kernel_pytorch.toolchain.build_report import problem_lines
    from kernel_pytorch.toolchain.resource_table import (
        by_kernel,
        footnotes,
        plain_table,
        print_rich_table,
        resource_rows,
    )

    listings = args.out is None and (args.asm or args.disassemble)
    notes: dict[str, None] = {}
    for file in dict.fromkeys(built.file for built in results):
        ours = [built for built in results if built.file == file]
        rows = by_kernel([r for built in ours for r in resource_rows(built, args.workgroup_size, args.dynamic_lds)])
        for line in problem_lines(file, ours):
            _say(line)
        for note in dict.fromkeys(built.note for built in ours if built.note):
            _say(note)
        if listings:
            _print_listings(ours)
        if not rows:
            if all(built.ok for built in ours):
                _say(f"{file}: compiles, and has no kernels")
            continue
        if listings:
            _say(f"{file}\n{plain_table(rows)}")
        elif sys.stdout.isatty():
            print_rich_table(rows, file)
        else:
            print(f"{file}\n{plain_table(rows)}")
        notes.update(dict.fromkeys(footnotes(rows)))
    for note in notes:
        _say(f"note: {note}")
    if args.out is not None:
        count = sum(built.code_object is not None for built in results)
        _say(f"{count} code objects written to {args.out}")


def _print_listings(results: Sequence[Built]) -> None:
    for built in results:
        for text in (built.assembly, built.disassembly):
            if text is not None:
                print(f"; {built.file} {built.arch}\n{text}")


def _show_toolchain(args: argparse.Namespace) -> int:
    """What was found, in order; 2 when none of it can be used."""
    from kernel_pytorch.toolchain.build_report import toolchain_json
    from kernel_pytorch.toolchain.find import HOW_TO_GET_ONE, candidates

    looked = candidates()
    chosen = next((c for c in looked if c.toolchain is not None and args.compiler in (None, c.kind)), None)
    if args.json:
        print(json.dumps(toolchain_json(looked, chosen), indent=2))
    else:
        for candidate in looked:
            mark = "used " if candidate is chosen else "found" if candidate.found else "     "
            lacks = f"; lacks {', '.join(candidate.lacks)}" if candidate.lacks else ""
            print(f"{mark}  {candidate.kind:<5}  {candidate.note}{lacks}")
        if chosen is not None and chosen.toolchain is not None:
            for note in chosen.toolchain.notes:
                print(f"              {note}")
    if chosen is None:
        _say(f"no HIP compiler can be used. To get one: {HOW_TO_GET_ONE}")
        return 2
    return 0


class _Progress:
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int, shown: bool) -> None:
        self._bar: Any = None
        if shown and sys.stderr.isatty():
            from rich.progress import Progress

            from kernel_pytorch.core.standard_streams import rich_console

            self._bar = Progress(console=rich_console(sys.stderr), transient=True)
            self._task = self._bar.add_task("compiling", total=total)

    def __enter__(self) -> _Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, built: Built) -> None:
        if self._bar is not None:
            from rich.markup import escape

            from kernel_pytorch.core.printable import printable

            self._bar.update(self._task, advance=1, description=escape(printable(f"{built.name} {built.arch}")))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be at least 1")
    return value


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text}: must not be negative")
    return value


def _say(text: str) -> None:
    print(text, file=sys.stderr)
