#!/usr/bin/env python3
"""Ports real CUDA projects, builds every translation unit for an AMD target and classifies every error that is left.

    python benchmarks/hipify_projects.py llama.cpp apex bitsandbytes diff-gaussian-rasterization llm.c

A path is a checkout of a project; those named above get their own include folders and layouts from the table below,
any other is taken as a plain CUDA tree. Each layout is translated into a copy, then every .cu file is checked for the
device (--arch) and the host. In the torch-extension layout torch.utils.hipify does the names, as torch's build does,
and torch's own headers are run through it once and kept in the cache folder. An error counts once, however many units
include its line. Nothing else is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hecbench_build import classify

from kernel_pytorch.port.builds.torch_extension import reaches_torch, renamed_extension
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.run import run_tasks
from kernel_pytorch.port.hipify.tree import find_sources, tasks_of
from kernel_pytorch.port.layouts import LAYOUTS, layout_named
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER, compat_header
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host
from kernel_pytorch.toolchain.diagnostics import CompilerMessage, errors
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.other_passes import check_device
from kernel_pytorch.toolchain.torch_headers import extension_options, installed_torch, rocm_headers


@dataclass(frozen=True)
class Project:
    """Where a project keeps its CUDA code and how it is built. Folders are relative to the checkout."""

    sources: tuple[str, ...] = ("",)
    copied: tuple[str, ...] = ("",)
    includes: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ("copy", "single-source")
    flags: tuple[str, ...] = ()
    standard: str = "c++17"


KNOWN = {
    "llama.cpp": Project(
        ("ggml/src/ggml-cuda",),
        ("ggml",),
        ("ggml/include", "ggml/src", "ggml/src/ggml-cuda"),
        flags=("-DGGML_USE_HIP", "-DGGML_HIP_NO_VMM", "-DGGML_CUDA_PEER_MAX_BATCH_SIZE=128"),
    ),
    "apex": Project(("csrc",), ("csrc",), ("csrc", "csrc/megatron"), ("torch-extension",), standard="c++20"),
    "bitsandbytes": Project(("csrc",), ("csrc",), ("csrc",), flags=("-DBUILD_HIP",)),
    "diff-gaussian-rasterization": Project(
        includes=("third_party/glm",), layouts=("copy", "single-source", "torch-extension"), standard="c++20"
    ),
    "llm.c": Project(),
}

# What an error says -> the class it counts in, and what stands behind it. The first that matches wins.
CLASSES: tuple[tuple[str, str], ...] = (
    (r"(?:output|input) constraint '.*' in asm", "KP230 inline PTX of tensor cores: for a person"),
    (r"explicit instantiation of '.*' does not refer to", "follows from a declaration that failed above"),
)


@dataclass(frozen=True)
class Unit:
    """One translation unit of a layout: built, failed, or not tried (with the reason)."""

    name: str
    status: str
    messages: tuple[CompilerMessage, ...] = ()
    reason: str = ""


def main() -> int:
    """Ports, builds and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a checkout of a project")
    parser.add_argument("--layout", choices=LAYOUTS, action="append", help="only these (default: those of the table)")
    parser.add_argument("--wave", default="logical32", choices=("logical32", "native"))
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--include", type=Path, action="append", default=[], help="third-party headers (MPI, NCCL)")
    parser.add_argument("--work", type=Path, help="keep the ported trees here")
    parser.add_argument("--every", type=int, default=1, help="build one unit of so many (all are translated)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write every error here")
    args = parser.parse_args()
    toolchain = find_toolchain()
    print(f"toolchain: {toolchain.reason}", file=sys.stderr)
    work = args.work or Path(tempfile.mkdtemp(prefix="kpt-projects-"))
    everything = []
    for path in args.paths:
        project = KNOWN.get(path.resolve().name, Project())
        for layout in args.layout or project.layouts:
            tree = work / f"{path.resolve().name}-{layout}"
            ported = port(path, project, layout, args.wave, tree)[:: args.every]
            builder = Builder(args.arch, toolchain, tree, project, tuple(args.include))
            with ThreadPoolExecutor(args.jobs) as pool:
                units = list(pool.map(builder.build, ported))
            everything += report(path.resolve().name, layout, tree, units)
    if args.json:
        args.json.write_text(json.dumps(everything, indent=1) + "\n")
    if args.work is None:
        shutil.rmtree(work, ignore_errors=True)
    return 0


def port(path: Path, project: Project, layout: str, wave: str, tree: Path) -> list[Path]:
    """A translated copy of the project; the sources to build in it."""
    shutil.rmtree(tree, ignore_errors=True)
    for part in project.copied:
        shutil.copytree(path / part, tree / part, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True)
    roots = [tree / part for part in project.sources]
    files = [file for file in find_sources(tree)[0] if any(file.is_relative_to(root) for root in roots)]
    search = [tree / part for part in project.includes]
    options = HipifyOptions(layout, wave)
    with tempfile.TemporaryDirectory() as scratch:
        done = list(run_tasks(tasks_of(tree, files, search), options, Path(scratch), 1))
        shutil.copytree(scratch, tree, dirs_exist_ok=True)
    if layout_named(layout).has_one_header:
        (tree / COMPAT_HEADER).write_text(compat_header(item.needs for item in done), encoding="utf-8")
    left = Counter(finding.code for item in done for finding in item.stats.left)
    shown = ", ".join(f"{code} {count}" for code, count in left.most_common())
    print(f"{tree.name}: {len(files)} files, left for a person: {shown or 'nothing'}", file=sys.stderr)
    sources = [file for file in files if file.suffix == ".cu"]
    if layout_named(layout).is_built_by_torch:
        extension = renamed_extension(tree, tree, [tree, *search])
        return [extension.source(file.relative_to(tree).as_posix()) for file in sources]
    return [tree / layout_named(layout).written_name(file.relative_to(tree).as_posix()) for file in sources]


@dataclass(frozen=True)
class Builder:
    """Checks units of one ported tree."""

    arch: str
    toolchain: Toolchain
    tree: Path
    project: Project
    third_party: tuple[Path, ...]

    def build(self, source: Path) -> Unit:
        """Both passes of one unit; all errors of the first pass that has some."""
        name = source.relative_to(self.tree).as_posix()
        if not source.is_file():
            return Unit(name, "not tried", reason="the layout wrote no such file")
        uses_torch = reaches_torch(source, self.tree, self._folders())
        if uses_torch and not self.tree.name.endswith("torch-extension"):
            return Unit(name, "not tried", reason="a torch extension: see the torch-extension layout")
        options = self._options(uses_torch)
        found: list[CompilerMessage] = []
        for check in (
            lambda: check_device(source, self.arch, self.toolchain, options),
            lambda: check_host(source, self.toolchain, options, self.arch),
        ):
            try:
                check()
            except CompileFailed as failure:
                found += errors(failure.messages)
        return Unit(name, "failed" if found else "built", tuple(found))

    def _folders(self) -> list[Path]:
        return [self.tree, *(self.tree / part for part in self.project.includes)]

    def _options(self, uses_torch: bool) -> CompileOptions:
        extra = ["-w", "-ferror-limit=0", *(f"-I{folder}" for folder in self._folders()), *self.project.flags]
        for folder in self.third_party:
            extra += ["-idirafter", str(folder)]
        options = CompileOptions(std=self.project.standard, extra=tuple(extra), timeout_s=600)
        if not uses_torch:
            return replace(options, defines=("USE_ROCM",))
        torch = installed_torch()
        return extension_options(options, torch, rocm_headers(torch), kernels=True)


def class_of(message: CompilerMessage) -> str:
    """The class an error counts in."""
    for pattern, name in CLASSES:
        if re.search(pattern, message.text):
            return name
    return str(classify(message.text, message.code))


def report(name: str, layout: str, tree: Path, units: list[Unit]) -> list[dict[str, object]]:
    """One project in one layout."""
    count = Counter(unit.status for unit in units)
    tried = len(units) - count["not tried"]
    print(f"\n{name}, {layout}: {count['built']} of {tried} units build")
    for reason, number in Counter(unit.reason for unit in units if unit.reason).most_common():
        print(f"      {number} not tried: {reason}")
    places: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
    inside: dict[str, set[str]] = defaultdict(set)
    for unit in units:
        for message in unit.messages:
            kind = class_of(message)
            shown = str(message.path or "").replace(f"{tree.resolve()}/", "").replace(f"{tree}/", "")
            places[kind].add((shown, message.line, message.text))
            inside[kind].add(unit.name)
    rows: list[dict[str, object]] = []
    for kind, found in sorted(places.items(), key=lambda item: -len(item[1])):
        first = min(found)
        print(f"{len(found):6} in {len(inside[kind]):3} units  {kind}")
        print(f"        {first[0]}:{first[1]}: {first[2][:150]}")
        rows += [{"project": name, "layout": layout, "class": kind, "at": f"{at}:{line}", "error": text}
                 for at, line, text in sorted(found)]  # fmt: skip
    return rows


if __name__ == "__main__":
    sys.exit(main())
