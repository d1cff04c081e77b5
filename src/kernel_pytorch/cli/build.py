"""Compile HIP, CUDA and Triton kernels for AMD GPUs, and show what each kernel needs.

    kpt build kernels.hip --arch gfx942,gfx1100          registers, spills, LDS, occupancy per kernel and target
    kpt build kernels.hip --gpu mi300x -o out            also writes out/kernels.gfx942.hsaco
    kpt build kernels.cu --arch gfx942                   CUDA is translated first (as `kpt hipify` does)
    kpt build kernels.hip -I include -D N=4 -- -ffast-math
    kpt build model.py::add_kernel --arch gfx942 --signature "*fp32,*fp32,i32" --constexpr BLOCK=1024
    kpt build out/kernels.gfx942.hsaco                   the table of a file that is compiled already
    kpt build --toolchain                                which compiler would be used, and what the others lack

Needs no AMD GPU and no ROCm: pip install ziglang==0.17.0 "triton>=3.5" is enough. What follows `--` goes to the
compiler.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.cli.arguments.commands import keep_words_after_dashes
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.inside import bound_root

if TYPE_CHECKING:
    from kernel_pytorch.jobs.build import KernelBuild
    from kernel_pytorch.toolchain.build import BuildOutcome

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
    from kernel_pytorch.jobs.build import build_kernels
    from kernel_pytorch.toolchain.build import write_outputs
    from kernel_pytorch.toolchain.build_report import build_json

    if args.toolchain:
        return _show_toolchain(args)
    if not args.files:
        raise UsageError("kpt build needs a file; `kpt build --help` shows examples")
    targets = _targets(args)
    with _Progress(shown=not args.json) as progress:
        result = build_kernels(args.files, targets, _kernel_build(args), args.jobs, progress.step)
    written = write_outputs(result.built, args.out) if args.out is not None else {}
    if args.json:
        launch = {"workgroup_size": args.workgroup_size, "dynamic_lds_bytes": args.dynamic_lds}
        print(json.dumps(build_json(result.built, result.toolchain, written, **launch), indent=2))
    else:
        _print_text(result.built, args)
    return 0 if result.ok else 1


def _targets(args: argparse.Namespace) -> Sequence[str]:
    from kernel_pytorch.jobs.build import build_targets
    from kernel_pytorch.toolchain.build import default_targets

    named = build_targets(_split(args.arch), _split(args.gpu))
    if not named and (args.arch or args.gpu):
        raise UsageError("--arch and --gpu need at least one name, such as --arch gfx942,gfx1100")
    return named or default_targets()


def _kernel_build(args: argparse.Namespace) -> KernelBuild:
    from kernel_pytorch.jobs.build import KernelBuild, TritonTypes
    from kernel_pytorch.toolchain.build import Wanted
    from kernel_pytorch.toolchain.compile import CompileOptions

    return KernelBuild(
        options=CompileOptions(
            optimization=f"-O{args.optimization}",
            defines=tuple(args.defines),
            include_dirs=tuple(args.include_dirs),
            extra=tuple(args.extra),
            bounds=bound_root(),
        ),
        std=args.std,
        compile_commands=args.compile_commands,
        check_host=args.host,
        as_hip=args.as_hip,
        compiler=args.compiler,
        wanted=Wanted(args.asm, args.disassemble),
        triton=TritonTypes(args.signature, tuple(args.constexpr), args.num_warps, args.num_stages),
    )


def _print_text(results: Sequence[BuildOutcome], args: argparse.Namespace) -> None:
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


def _print_listings(results: Sequence[BuildOutcome]) -> None:
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

    def __init__(self, shown: bool) -> None:
        self._bar: Any = None
        if shown and sys.stderr.isatty():
            from rich.progress import Progress

            from kernel_pytorch.core.standard_streams import rich_console

            self._bar = Progress(console=rich_console(sys.stderr), transient=True)
            self._task = self._bar.add_task("compiling", total=None)

    def __enter__(self) -> _Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, built: BuildOutcome, total: int) -> None:
        if self._bar is not None:
            from rich.markup import escape

            from kernel_pytorch.core.printable import printable

            shown = escape(printable(f"{built.name} {built.arch}"))
            self._bar.update(self._task, total=total, advance=1, description=shown)


def _split(texts: Sequence[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


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
