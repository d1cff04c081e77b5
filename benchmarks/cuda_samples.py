#!/usr/bin/env python3
"""A collection of CUDA samples, unit by unit: does it compile for AMD targets once translated, and if not, does a
finding stand at the line?

    git clone https://github.com/NVIDIA/cuda-samples
    python benchmarks/cuda_samples.py cuda-samples --include Common --every 3

The whole collection is translated once (`kpt hipify`). A unit is a .cu file that no other file includes, or a .cpp file
that calls CUDA. Each is checked, without making code, in the device pass for every --arch and in the host pass. A unit
passes, or fails with a finding at the line of its first error, or fails in silence, or is not run: a header of others
(OpenGL, MPI, Vulkan) is not on this machine. Exercises often leave blanks for the reader: with --blank FIXME a unit
whose first error is about that word is one, and no compiler takes it as it is. --explain prints every error of the
units that fail in silence. Nothing of the collection is kept here.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hecbench_build import classify

from kernel_pytorch.jobs.hipify import HipifyResult, hipify_tree
from kernel_pytorch.port.builds.hipified_tree import line_map
from kernel_pytorch.port.cxx.include_folders import compile_folders
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.layouts import LAYOUTS, layout_named
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host
from kernel_pytorch.toolchain.diagnostics import CompilerMessage, errors
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.other_passes import check_device

STATUSES = ("passes", "finding at the line", "silent", "not run", "blank")
# A header that declares CUDA's API itself does not go with HIP's, as a whole.
ABOUT_A_FILE = frozenset({"KP238"})
CALLS_CUDA = re.compile(rb"\bcuda[A-Z]\w+\s*\(|\bcu[A-Z]\w+\s*\(|#\s*include\s*[<\"](?:cuda|cu[a-z]+\.h|nvrtc)")
COMPILED_LATER = re.compile(rb'(?<!#include )"([\w.-]+\.cu)"')


@dataclass(frozen=True)
class Outcome:
    """One unit. `at` is the line of the original that the first error is about; `codes` are the findings there."""

    unit: str
    status: str
    cause: str = ""
    at: str = ""
    error: str = ""
    codes: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


def main() -> int:
    """Translates, checks, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="a checkout of a collection")
    parser.add_argument("--include", action="append", default=[], help="include folder of the collection, relative")
    parser.add_argument("--define", action="append", default=[], help="a macro that the collection's build defines")
    parser.add_argument("--arch", default="gfx942,gfx1100", help="targets, separated by commas")
    parser.add_argument("--layout", choices=LAYOUTS, default="copy")
    parser.add_argument("--match", default="", help="only units whose path matches this regular expression")
    parser.add_argument("--every", type=int, default=1, help="take one unit of so many")
    parser.add_argument("--work", type=Path, help="keep the translated collection here")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--blank", help="the word that an exercise has where the reader is to write something")
    parser.add_argument(
        "--no-check", action="store_true", help="translate and list only: a build of whole programs is to follow"
    )
    parser.add_argument("--explain", action="store_true", help="print every error of units that fail in silence")
    parser.add_argument("--json", type=Path, help="write all outcomes here; units already in it are not checked again")
    args = parser.parse_args()
    toolchain = find_toolchain()
    print(f"toolchain: {toolchain.reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="kpt-samples-") as scratch:
        work = args.work or Path(scratch) / "translated"
        root = args.path.resolve()
        common = tuple(root / name for name in args.include)
        result = hipify_tree([root], work, HipifyOptions(layout=args.layout), common)
        checks = Checks(root, work.resolve(), common, toolchain, tuple(args.arch.split(",")), result, args.layout,
                        args.blank, tuple(args.define))  # fmt: skip
        ported = {one.path for one in result.files}  # folders of third-party code are left alone
        chosen = [name for name in units(root) if name in ported and re.search(args.match, name)][:: args.every]
        if args.no_check:
            remember(args.json, [Outcome(name, "passes", "not checked") for name in chosen])
            return 0
        outcomes = [Outcome(**row) for row in remembered(args.json)]
        done = {one.unit for one in outcomes}
        with ThreadPoolExecutor(args.jobs) as pool:
            for outcome in pool.map(checks.outcome, [name for name in chosen if name not in done]):
                outcomes.append(outcome)
                print(f"{len(outcomes):4}/{len(chosen)} {outcome.status}: {outcome.unit}", file=sys.stderr)
                remember(args.json, outcomes)
    report([one for one in outcomes if one.unit in chosen], explain=args.explain)
    return 0


def remembered(path: Path | None) -> list[dict[str, Any]]:
    """The rows of an earlier run that was cut off."""
    return list(json.loads(path.read_text())) if path is not None and path.is_file() else []


def remember(path: Path | None, outcomes: Sequence[Any]) -> None:
    """Write all outcomes so far."""
    if path is not None:
        path.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")


def units(root: Path) -> list[str]:
    """The sources that a build would compile one by one."""
    files = [path for path in sorted(root.rglob("*")) if path.suffix in (".cu", ".cpp", ".cuh", ".h", ".inl")]
    texts = {path: path.read_bytes() for path in files if path.is_file() and ".git" not in path.parts}
    included = {(path.parent / include.name).resolve() for path, text in texts.items() for include in includes_of(text)}
    # Source that a program reads and compiles while it runs.
    included |= {path.parent / name.decode() for path, text in texts.items() for name in COMPILED_LATER.findall(text)}
    return [
        path.relative_to(root).as_posix()
        for path, text in texts.items()
        if (path.suffix == ".cu" or (path.suffix == ".cpp" and CALLS_CUDA.search(text))) and path not in included
    ]


@dataclass(frozen=True)
class Checks:
    """How units of one translated collection are checked."""

    root: Path
    work: Path
    common: tuple[Path, ...]
    toolchain: Toolchain
    targets: tuple[str, ...]
    result: HipifyResult
    layout: str
    blank: str | None = None
    defines: tuple[str, ...] = ()

    def outcome(self, unit: str) -> Outcome:
        """Both passes of one unit; the first error decides."""
        name = layout_named(self.layout).written_name(unit)
        source = self.work / name
        # The root holds the header that the single-source layout writes.
        common = [*(self.work / folder.relative_to(self.root) for folder in self.common), self.work]
        options = options_of(source, common)
        options = replace(options, defines=(*options.defines, *self.defines))
        for message in self._failures(source, options):
            return self._explained(unit, message)
        return Outcome(unit, "passes")

    def _failures(self, source: Path, options: CompileOptions) -> Iterator[tuple[CompilerMessage, ...]]:
        try:
            for target in self.targets:
                check_device(source, target, self.toolchain, options)
            check_host(source, self.toolchain, options, self.targets[0])
        except CompileFailed as failure:
            yield tuple(errors(failure.messages)) or failure.messages

    def _explained(self, unit: str, messages: tuple[CompilerMessage, ...]) -> Outcome:
        first = messages[0]
        cause = classify(first.text, first.code)
        place = self._original(first)
        found = findings_by_line(self.result)
        codes = tuple(
            code for line in statement(self.root / place[0], place[1]) for code in found.get((place[0], line), ())
        )
        codes = codes or self._about_file(place[0])
        lacks = re.match(r"'([^']+)' file not found", first.text)
        if codes:
            status = "finding at the line"
        elif self.blank and f"'{self.blank}'" in first.text:
            status = "blank"
        elif lacks and not list(self.root.rglob(Path(lacks[1]).name)):
            status = "not run"
        else:
            status = "silent"
        shown = f"{place[0]}:{place[1]}"
        texts = tuple(dict.fromkeys(f"{path}:{line}: {one.text} {found.get((path, line), '')}"
                                    for one in messages for path, line in [self._original(one)]))  # fmt: skip
        return Outcome(unit, status, cause, shown, first.text, codes, texts)

    def _about_file(self, path: str) -> tuple[str, ...]:
        """The findings that are about all of a file, at whatever line."""
        own = (file for file in self.result.files if file.path == path)
        return tuple(one.code for file in own for one in file.left if one.code in ABOUT_A_FILE)

    def _original(self, message: CompilerMessage) -> tuple[str, int]:
        """The file and the line of the collection that a message about the translation is about."""
        path = Path(os.path.normpath(message.path)) if message.path else self.work
        if not path.is_relative_to(self.work):
            return str(path), message.line
        written = path.relative_to(self.work).as_posix()
        name = next((one.path for one in self.result.files if one.written_as == written), written)
        before = self.root / name
        lines = line_map(before.read_bytes(), path.read_bytes()) if before.is_file() and path.is_file() else {}
        return name, lines.get(message.line, message.line)


def options_of(source: Path, common: Sequence[Path]) -> CompileOptions:
    """How a translated unit is compiled: with the collection's headers and those beside it."""
    beside = [source.parent / name for name in ("inc", "../inc", "include", "../include")]
    near = (*compile_folders(source.parent, [source]), *(folder for folder in beside if folder.is_dir()))
    # The host's compiler, which a project gives its .cpp files to, takes `register` with a warning.
    extra = ("-w", "-ferror-limit=0", *(("-Wno-register",) if source.suffix == ".cpp" else ()))
    return CompileOptions(include_dirs=(*near, *common), defines=("USE_ROCM",), extra=extra, timeout_s=1200)


@functools.lru_cache(maxsize=1)
def findings_by_line(result: HipifyResult) -> dict[tuple[str, int], tuple[str, ...]]:
    """The codes of the findings that are left, by place."""
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for file in result.files:
        for one in file.left:
            found[(file.path, one.line)] = (*found.get((file.path, one.line), ()), one.code)
    return found


def statement(path: Path, line: int) -> range:
    """The lines of the statement around a line: a finding stands at its first word, a compiler's message may not."""
    if not path.is_file():
        return range(line, line + 1)
    lines = [one.rstrip() for one in path.read_bytes().splitlines()]
    first = last = min(line, len(lines))
    while first > 1 and lines[first - 2] and not lines[first - 2].endswith((b";", b"{", b"}", b":")):
        first -= 1
    while last < len(lines) and lines[last - 1] and not lines[last - 1].endswith((b";", b"{", b"}", b":")):
        last += 1
    return range(first, last + 1)


def report(outcomes: list[Outcome], *, explain: bool) -> None:
    """Totals, then what failed, by class of the first error."""
    count = Counter(one.status for one in outcomes)
    print(f"{len(outcomes)} units: " + ", ".join(f"{count[status]} {status}" for status in STATUSES))
    for status in STATUSES[1:]:
        classes: dict[str, list[Outcome]] = defaultdict(list)
        for one in outcomes:
            if one.status == status:
                classes[f"{' '.join(one.codes)} {one.cause}".strip()].append(one)
        for cause, rows in sorted(classes.items(), key=lambda item: -len(item[1])):
            print(f"{status}: {len(rows):4}  {cause}\n      {rows[0].at}: {rows[0].error[:160]}")
            print("      " + ", ".join(Path(one.unit).name for one in rows))
            if explain and status == "silent":
                print("".join(f"        {text}\n" for one in rows for text in one.more[:6]), end="")


if __name__ == "__main__":
    sys.exit(main())
