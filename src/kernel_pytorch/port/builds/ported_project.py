"""Builds what a port wrote, for real, and says what does not compile, on the lines of the file that was written.

The ported sources are laid out in a scratch folder with the rest of the project beside them, so that includes resolve
as they will in the project.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import CheckResult, Patch, Status
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.builds.complaints import complaints, merged
from kernel_pytorch.port.builds.given_macros import GivenMacros, unless_a_macro_is_missing
from kernel_pytorch.port.builds.ignored_headers import ignored_headers
from kernel_pytorch.port.builds.missing_header import missing_header
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit
from kernel_pytorch.port.builds.torch_extension import (
    HOST_SUFFIXES,
    TorchExtension,
    pybind11_folders,
    reaches_pybind11,
    reaches_torch,
    renamed_extension,
    setup_files,
)
from kernel_pytorch.port.cxx.fragments import fragments
from kernel_pytorch.port.cxx.include_folders import compile_folders
from kernel_pytorch.port.cxx.includes import include_closure
from kernel_pytorch.port.discover import Project
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.port.repairs.complaint import Complaint
from kernel_pytorch.port.source import language_of
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, CompilerStopped, check_unit
from kernel_pytorch.toolchain.diagnostics import CompilerMessage, errors
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.precompiled import PrecompiledHeaders
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError

OUT_OF_TIME = "the time for builds was over (--build-limit)"


@dataclass(frozen=True)
class TriedUnit:
    """What became of one source, and what the compiler objects to."""

    path: str
    check: CheckResult
    complaints: tuple[Complaint, ...] = ()


def build_ported(
    project: Project,
    patches: Sequence[Patch],
    toolchain: Toolchain,
    target: str,
    include_dirs: Sequence[Path] = (),
    layout: str = "single-source",
) -> tuple[CheckResult, ...]:
    """Device and host pass of every ported .cu or .hip source, one result each.

    In the torch-extension layout most sources stay as they are and torch's own tool renames them: every source that was
    ported or includes a file that was is built, a .cpp on the host.
    """
    return tuple(one.check for one in try_ported(project, patches, toolchain, target, include_dirs, layout))


def try_ported(
    project: Project,
    patches: Sequence[Patch],
    toolchain: Toolchain,
    target: str,
    include_dirs: Sequence[Path] = (),
    layout: str = "single-source",
    *,
    every: bool = False,
    recorded: Sequence[RecordedUnit] = (),
    store: PrecompiledHeaders | None = None,
    progress: Callable[[str], None] = lambda text: None,
    time_left: Callable[[], float] = lambda: math.inf,
) -> tuple[TriedUnit, ...]:
    """The same, with what the compiler objects to on the lines of the ported files.

    `every`: also sources that neither were ported nor include a file that was. `recorded`: the sources that the
    project's own build names, with their flags; of torch's build they are all there is. `include_dirs` are searched
    last. `store` keeps headers precompiled; `progress` is told each source. Once no `time_left` remains, no source is
    begun, and compilers are stopped.
    """
    of_torch = layout_named(layout).is_built_by_torch
    ported = {patch.path for patch in patches}
    parts = fragments(project.root, project.of("cuda", "c++"))
    compiled = (patch.path for patch in patches if patch.path.endswith((".cu", ".hip")))
    sources = [path for path in compiled if path not in parts and language_of(path) == "cuda"]  # not Makefile.hip
    if not sources and not of_torch:
        return ()
    with tempfile.TemporaryDirectory(prefix="kpt-port-") as scratch:
        root = Path(scratch).resolve() / "project"
        _lay_out(project, patches, root)
        # What the project brings along is not laid out: it is not ported, and looked for where it is.
        named = compile_folders(project.root, [project.root / path for path in project.of("cuda", "c++")])
        for header in ignored_headers(project, named):
            _write(root / header.relative_to(project.root.resolve()), read_bytes(header, project.root))
        pairs = [(root / one.relative_to(project.root), one) for one in named]
        folders = (*(laid if laid.is_dir() else one for laid, one in pairs), *include_dirs)
        # `-I src` with src/third_party in it.
        brought = {one: one.relative_to(project.root).as_posix() for laid, one in pairs if laid.is_dir()}
        macros = GivenMacros(project.root, project.listed)
        if of_torch:
            paths = [*project.of("cuda", "c++"), *sorted(ported)]
            sources = _of_torch(root, paths, folders) if every else _reaching(root, ported, paths, folders)
            sources = [path for path in sources if path not in parts]
        if of_torch or (every and any(reaches_torch(root / path, root, folders) for path in sources)):
            # Also without setup.py: `load` has torch rename the sources when they are built at run time.
            units = {one.path: one.moved(root, project.root) for one in recorded if (root / one.path).is_file()}
            units = {path: one.with_folders(include_dirs) for path, one in units.items()}
            sources = list(units) or sources
            attempt = _Attempt(toolchain, target, store, units, time_left)
            build = _extension_build(root, folders, sources, setup_files(project.root), attempt)
        else:
            bounds = (root, project.root, *include_dirs)
            given = {one.path: one.moved(root, project.root) for one in recorded}
            made = {
                PurePosixPath(path).name.removesuffix(".in"): path for path in project.listed if path.endswith(".in")
            }

            def build(path: str) -> TriedUnit:
                switched = CompileOptions(defines=macros.switches)
                own = given.get(path) or given.get(_as_written(path), switched)
                options = replace(
                    own, include_dirs=(*own.include_dirs, *folders), bounds=bounds, all_errors=True,
                    timeout_s=min(own.timeout_s, max(time_left(), 1.0)),
                )  # fmt: skip
                return _build_one(path, target, toolchain, options, root, made, brought)

        def tried(path: str) -> TriedUnit:
            name, reason = f"build {path} for {target}", OUT_OF_TIME
            if time_left() > 0:
                progress(path)
                try:
                    unit = build(path)
                    return replace(unit, check=unless_a_macro_is_missing(unit.check, macros))
                except CompilerStopped as stopped:
                    reason = OUT_OF_TIME if time_left() <= 0 else str(stopped)
            return TriedUnit(path, CheckResult(name, Status.NOT_RUN, reason))

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return tuple(pool.map(tried, sources))


@dataclass(frozen=True)
class _Attempt:
    """How the sources of an extension are tried."""

    toolchain: Toolchain
    target: str
    store: PrecompiledHeaders | None
    units: Mapping[str, CompileOptions]
    time_left: Callable[[], float]


def _reaching(root: Path, ported: set[str], paths: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The sources that are among the ported files or include one."""
    files = {(root / path).resolve() for path in ported}
    sources = [path for path in dict.fromkeys(paths) if path.endswith((".cu", ".hip", *HOST_SUFFIXES))]
    return [path for path in sources if not files.isdisjoint(include_closure(root / path, root, folders))]


def _of_torch(root: Path, paths: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """All sources with kernels, and those of the host's compiler that include torch's headers."""
    sources = [path for path in dict.fromkeys(paths) if path.endswith((".cu", ".hip", *HOST_SUFFIXES))]
    return [path for path in sources if not path.endswith(HOST_SUFFIXES) or _is_of_torch(root / path, root, folders)]


def _is_of_torch(file: Path, root: Path, folders: Sequence[Path]) -> bool:
    return reaches_torch(file, root, folders) or reaches_pybind11(file, root, folders)


def _extension_build(
    root: Path, folders: tuple[Path, ...], sources: Sequence[str], setups: Sequence[Path], attempt: _Attempt
) -> Callable[[str], TriedUnit]:
    tree: TorchExtension | None = None
    reason = ""
    toolchain, target = attempt.toolchain, attempt.target
    try:
        tree = replace(renamed_extension(root, root, folders, setups), units=attempt.units, time_left=attempt.time_left)
        if attempt.store is not None:
            tree = tree.made_fast(sources, attempt.store, toolchain)
    except TorchHeadersError as error:
        reason = str(error)

    taken_by: dict[str, str] = {}

    def failures(path: str, made: TorchExtension) -> Iterator[CompileFailed]:
        try:
            if not path.endswith(HOST_SUFFIXES):
                made.build_device(path, target, toolchain)
        except CompilerStopped:
            raise
        except CompileFailed as failure:
            yield failure
        try:
            taken_by[path] = made.check_host(path, toolchain, target)
        except CompilerStopped:
            raise
        except CompileFailed as failure:
            yield failure

    def build(path: str) -> TriedUnit:
        name = f"build {path} for {target}"
        if tree is None:
            return TriedUnit(path, CheckResult(name, Status.NOT_RUN, reason))
        failed = list(failures(path, tree))
        if failed:
            check = CheckResult(name, *tree.outcome(path, failed[0], toolchain))
            found = merged(one for failure in failed for one in complaints(failure.stderr, tree.on_original))
            return TriedUnit(path, check, found)
        how = "host pass" if path.endswith(HOST_SUFFIXES) else "device and host pass"
        detail = f"{how}, with {taken_by[path]} and the headers of torch {tree.torch.version}"
        return TriedUnit(path, CheckResult(name, Status.PASS, detail))

    return build


def _as_written(path: str) -> str:
    """The source that a twin of the copy layout was made of."""
    return f"{path.removesuffix('.hip')}.cu"


def _lay_out(project: Project, patches: Sequence[Patch], root: Path) -> None:
    for path in project.of("cuda", "c++"):
        _write(root / path, read_bytes(project.root / path, project.root))
    for patch in patches:
        _write(root / patch.path, patch.after)


def _write(destination: Path, data: bytes) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(data)


def _build_one(
    path: str,
    target: str,
    toolchain: Toolchain,
    options: CompileOptions,
    root: Path,
    made: Mapping[str, str],
    brought: Mapping[Path, str],
) -> TriedUnit:
    """`made` are the templates of files that the project's own build makes, by the name of what they become. `brought`
    are the project's include folders, with their names: what it brings along in them is not ported."""
    name = f"build {path} for {target}"
    file = root / path
    if reaches_torch(file, root, options.include_dirs):
        detail = "includes torch's headers: --layout torch-extension builds it as torch does"
        return TriedUnit(path, CheckResult(name, Status.NOT_RUN, detail))
    if reaches_pybind11(file, root, options.include_dirs):
        options = options.with_folders(pybind11_folders())
    try:
        check_unit(file, target, toolchain, options)
    except CompilerStopped:
        raise
    except CompileFailed as failure:
        shown = errors(failure.messages) or failure.messages
        lacks = re.match(r"'(?:[^']*/)?([^'/]+)' file not found", shown[0].text) if shown else None
        if lacks and lacks[1] in made:
            detail = (
                f"includes {lacks[1]}, which the project's build makes of {made[lacks[1]]}: configure the port, then "
                "`kpt build FILE --compile-commands BUILD/compile_commands.json`"
            )
            return TriedUnit(path, CheckResult(name, Status.NOT_RUN, detail))
        first = _below(root, shown[0]) if shown else None
        meaning = missing_header(first.text, f"{first.path}:{first.line}") if first is not None else None
        there = _brought_along(first.text, brought) if first is not None else None
        if there is not None and first is not None:
            again = _build_one(path, target, toolchain, options.with_folders(tuple(brought)), root, made, {})
            if again.check.status is Status.PASS:  # no CUDA in it
                return again
            detail = f"{first.path}:{first.line} includes {there}: kpt does not port what a project brings along"
            return TriedUnit(path, CheckResult(name, Status.NOT_RUN, detail))
        if meaning is not None:
            return TriedUnit(path, CheckResult(name, *meaning), complaints(failure.stderr, partial(_below, root)))
        lines = [str(message).replace(f"{root}/", "") for message in shown[:3]]
        more = f" (and {len(shown) - 3} more)" if len(shown) > 3 else ""
        check = CheckResult(name, Status.FAIL, "; ".join(lines).replace(str(root), ".") + more)
        return TriedUnit(path, check, complaints(failure.stderr, partial(_below, root)))
    return TriedUnit(path, CheckResult(name, Status.PASS, f"device and host pass, with {toolchain.version}"))


def _brought_along(message: str, brought: Mapping[Path, str]) -> str | None:
    """The project's own path of a header that a build did not find because it was left out of the port."""
    missing = re.match(r"'([^']+)' file not found", message)
    name = missing[1] if missing is not None else ""
    return next((f"{shown}/{name}" for folder, shown in brought.items() if name and (folder / name).is_file()), None)


def _below(root: Path, message: CompilerMessage) -> CompilerMessage:
    """A message with the path of its file relative to the project."""
    path = Path(message.path) if message.path is not None else None
    if path is None or not path.is_relative_to(root):
        return message
    return replace(message, path=path.relative_to(root).as_posix())
