"""Translate CUDA C++ to HIP: names, headers, lane masks, PTX, language differences.

    kpt hipify saxpy.cu > saxpy.hip    one file to standard output
    kpt hipify src -o src-hip          a folder
    kpt hipify src --examine           figures and findings only

One file goes to standard output. A folder, or several files, go below -o OUT, .cu files as .hip. The original is never
touched. What could not be translated is listed on standard error, with its place and a code (`kpt explain CODE`).
`--layout single-source` and `torch-extension` keep the CUDA code and put ROCm's behind gates. There every file is
proven: with the gates taken out it is the original. A file that fails is refused: given alone it is not written, in a
folder it stays as it was.

exit status: 0 everything was translated, 1 something is left for a person or was refused, 2 bad usage; nothing is
half-written
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel_pytorch.jobs.hipify import HipifyResult

NOT_CXX = {"python": "Python", "notebook": "a notebook", "cmake": "CMake", "make": "a Makefile"}
SUMMARY = "translate CUDA source to HIP: one file to stdout, or a tree below -o OUT"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `kpt hipify`."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="CUDA sources or folders")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "-o",
        "--out",
        "--output",
        dest="output",
        type=Path,
        metavar="OUT",
        help="file (for one FILE) or folder to write",
    )
    where.add_argument("--stdout", action="store_true", help="write to standard output (the default for one FILE)")
    where.add_argument("--examine", action="store_true", help="translate nothing, show the figures and findings")
    parser.add_argument("--stats", action="store_true", help="show figures per file and in all on standard error")
    parser.add_argument(
        "--layout",
        default="copy",
        choices=("copy", "single-source", "torch-extension"),
        help="copy: a HIP twin; single-source: CUDA names, gated lines, one header; torch-extension: gated lines only",
    )
    parser.add_argument(
        "--wave",
        default="logical32",
        choices=("logical32", "native"),
        help="keep warps of 32 lanes, or widen where it is provably right",
    )
    parser.add_argument("--unsafe", action="store_true", help="apply edits that need a review as well")
    parser.add_argument(
        "-I", dest="include", action="append", default=[], type=Path, metavar="DIR", help="project include folder"
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=None, metavar="N", help="processes for a folder (default: all cores)"
    )
    parser.add_argument(
        "--json", action="store_true", help="figures and findings as JSON on standard output (with -o or --examine)"
    )


def run(args: argparse.Namespace) -> int:
    """Runs `kpt hipify`."""
    from kernel_pytorch.core.errors import UsageError
    from kernel_pytorch.core.standard_streams import write_bytes
    from kernel_pytorch.core.text_file import is_text
    from kernel_pytorch.jobs.hipify import hipify_file, hipify_tree, write_hipified
    from kernel_pytorch.port.hipify.file import HipifyOptions
    from kernel_pytorch.port.source import language_of

    for path in args.paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        if path.is_file() and (language := language_of(path.name)) in NOT_CXX:
            what = NOT_CXX[language]
            raise UsageError(f"{path}: {what}, not CUDA or C++; `kpt port FOLDER` ports what a project has of it")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"-j {args.jobs}: expected a number of processes from 1 up")
    options = HipifyOptions(args.layout, args.wave, None, args.unsafe)
    several = len(args.paths) > 1 or args.paths[0].is_dir()
    if several and args.output is None and not args.examine:
        raise UsageError("several files or a folder: say where to write with -o OUT, or look with --examine")
    if args.json and not (args.output or args.examine):
        raise UsageError("--json goes with -o OUT or --examine: standard output is taken by the translation")
    if several:
        return _report(args, hipify_tree(args.paths, args.output, options, args.include, args.jobs))
    one = hipify_file(args.paths[0], options, args.include)
    if not is_text(args.paths[0]):
        raise UsageError(f"{args.paths[0]}: not a text file: there is nothing to translate")
    if args.output is not None:
        write_hipified(one, args.paths[0], args.output)
    elif not args.examine and one.data is not None:
        write_bytes(one.data)
    return _report(args, one)


def _report(args: argparse.Namespace, result: HipifyResult) -> int:
    if args.json:
        from kernel_pytorch.core.findings import to_plain

        files = [stats.to_dict() for stats in result.files]
        document = {"totals": result.totals.to_dict(), "files": files, "refused": to_plain(result.refused)}
        print(json.dumps({"schema": 2, **document}, indent=1))
        return 0 if result.ok else 1
    out = sys.stdout if args.examine else sys.stderr
    for stats in result.files:
        for found in stats.left:
            print(found, file=out)
        if args.stats and stats.changed:
            print(f"{stats.path}: {stats.translated} references translated, {stats.untranslated} left", file=out)
    for verdict in result.refused:
        print(f"refused, not proven: {verdict}", file=out)
    if args.stats or args.examine:
        for line in result.totals.lines():
            print(line, file=out)
    return 0 if result.ok else 1
