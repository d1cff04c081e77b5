"""Translate CUDA C++ to HIP: names, headers, lane masks, PTX, language differences.

    kpt hipify saxpy.cu > saxpy.hip    one file to standard output
    kpt hipify src -o src-hip          a folder
    kpt hipify src --examine           figures and findings only

One file goes to standard output. A folder, or several files, go below -o OUT, .cu files as .hip. The original is never
touched. What could not be translated is listed on standard error, with its place and a code (`kpt explain CODE`).

exit status: 0 everything was translated, 1 something is left for a person, 2 bad usage; nothing is half-written
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel_pytorch.port.hipify.file import TranslateOptions
    from kernel_pytorch.port.hipify.tree import Done

SUMMARY = "CUDA source to HIP, one file to stdout or a tree below -o OUT"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `kpt hipify`."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="CUDA sources or folders")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-o", "--output", type=Path, metavar="OUT", help="file (for one FILE) or folder to write")
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
    from kernel_pytorch.port.hipify.file import TranslateOptions

    for path in args.paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"-j {args.jobs}: expected a number of processes from 1 up")
    options = TranslateOptions(args.layout, args.wave, None, args.unsafe)
    several = len(args.paths) > 1 or args.paths[0].is_dir()
    if several and args.output is None and not args.examine:
        raise UsageError("several files or a folder: say where to write with -o OUT, or look with --examine")
    if args.json and not (args.output or args.examine):
        raise UsageError("--json goes with -o OUT or --examine: standard output is taken by the translation")
    if not several:
        return _one(args, options)
    return _tree(args, options)


def _one(args: argparse.Namespace, options: TranslateOptions) -> int:
    from kernel_pytorch.core.standard_streams import write_bytes
    from kernel_pytorch.port.cxx.unit import Unit
    from kernel_pytorch.port.hipify.file import COMPAT_HEADER, translate_or_say
    from kernel_pytorch.port.hipify.stats import file_stats
    from kernel_pytorch.port.hipify.tree import Done, local_to, single_file
    from kernel_pytorch.port.names.compat_header import compat_header, needs_of

    path: Path = args.paths[0]
    src, unit, root = single_file(path)
    folders = [*args.include, root, root / "include", root / "src"]
    result = translate_or_say(src, Unit(unit.files, options.wave), options, local_to(path.resolve(), folders))
    done = Done(file_stats(result), needs_of(result))
    if args.output is not None:
        target = args.output / f"{path.stem}.hip" if args.output.is_dir() else args.output
        if target.exists() and target.resolve() == path.resolve():
            from kernel_pytorch.core.errors import UsageError

            raise UsageError(f"{target} is the input: a translation never replaces its original")
        _write(target, result.after)
        if options.layout == "single-source":
            _write(target.parent / COMPAT_HEADER, compat_header([done.needs]).encode())
    elif not args.examine:
        write_bytes(result.after)
    return _report(args, [done])


def _tree(args: argparse.Namespace, options: TranslateOptions) -> int:
    import os
    import shutil
    import tempfile

    from kernel_pytorch.core.errors import UsageError
    from kernel_pytorch.port.hipify.file import COMPAT_HEADER
    from kernel_pytorch.port.hipify.tree import find_sources, run_tasks, tasks_of
    from kernel_pytorch.port.names.compat_header import compat_header

    folders = [path for path in args.paths if path.is_dir()]
    if len(folders) > 1 or (folders and len(args.paths) > 1):
        raise UsageError("one folder at a time, or several files")
    output: Path | None = args.output
    if folders:
        root = folders[0]
        files, unread = find_sources(root, [output] if output else [])
    else:
        root = Path(os.path.commonpath([path.resolve().parent for path in args.paths]))
        files, unread = [path.resolve() for path in args.paths], []
    if output is not None and output.resolve() == root.resolve():
        raise UsageError(f"{output} is the input: a translation never replaces its originals")
    tasks = tasks_of(root, files, args.include)
    if output is None:
        return _report(args, [*unread, *run_tasks(tasks, options, None, args.jobs)])
    output.parent.mkdir(parents=True, exist_ok=True)
    # Everything is made beside the target first: a failure half-way leaves no half tree.
    staging = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    try:
        done = list(run_tasks(tasks, options, staging, args.jobs))
        if options.layout == "single-source":
            (staging / COMPAT_HEADER).write_text(compat_header(item.needs for item in done), encoding="utf-8")
        _put_in_place(staging, output)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return _report(args, [*unread, *done])


def _put_in_place(staging: Path, output: Path) -> None:
    import os

    if not output.exists():
        staging.chmod(0o755)
        staging.rename(output)
        return
    for folder, _, names in os.walk(staging):
        target = output / Path(folder).relative_to(staging)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            (Path(folder) / name).replace(target / name)


def _write(path: Path, data: bytes) -> None:
    import os
    import tempfile

    from kernel_pytorch.core.errors import UsageError

    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from problem
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _report(args: argparse.Namespace, done: list[Done]) -> int:
    from kernel_pytorch.port.hipify.stats import Totals

    totals = Totals()
    for item in done:
        totals.add(item.stats)
    if args.json:
        files = [item.stats.to_dict() for item in done]
        print(json.dumps({"totals": totals.to_dict(), "files": files}, indent=1))
    else:
        out = sys.stdout if args.examine else sys.stderr
        for item in done:
            for found in item.stats.left:
                print(found, file=out)
            if args.stats and item.stats.changed:
                stats = item.stats
                print(f"{stats.path}: {stats.translated} references translated, {stats.untranslated} left", file=out)
        if args.stats or args.examine:
            for line in totals.lines():
                print(line, file=out)
    return 1 if totals.findings else 0
