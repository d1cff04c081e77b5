"""Builds a program for emulated GPUs: CUDA sources are translated first, HIP sources are compiled as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU, base_target
from kernel_pytorch.emulate.libraries import libraries_with
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.port.builds.hipified_tree import hipified_folders, hipified_tree
from kernel_pytorch.port.cxx.reached_files import reached_files
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.names.table import names_used
from kernel_pytorch.port.rules import rule_names
from kernel_pytorch.toolchain.code_object import CodeObjectError, code_object_images
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.other_passes import compile_plain

HOST_SOURCES = (".cpp", ".cc", ".cxx")
C_SOURCES = (".c",)
SOURCES = (".hip", ".cu", *HOST_SOURCES, *C_SOURCES)
# HIP refuses 32-bit masks at compile time; this header takes them, so that what they do at run time is seen.
UNTOUCHED_LANES = "kpt_untouched_lanes.h"
# What linkers say of a function that no library has: lld, then GNU's.
_UNDEFINED = re.compile(r"undefined (?:symbol: |reference to [`'])(\w+)")
_OF_A_GPU = re.compile(rb"\bhip|\bthrust\b|\brocprim\b|__(?:global|device|host|shared|constant)__|<<<")
Say = Callable[[str], None]


def say_nothing(text: str) -> None:
    """For callers that want no progress."""


@dataclass(frozen=True)
class ProgramBuild:
    """How to build a program. `untranslated` maps the names of a .cu file and leaves its lane logic as written.

    `kernels` is the build of the translated kernels that a run needs: plain, checked, counted or checked-counted.
    """

    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    optimization: str = "3"
    std: str = "c++17"
    untranslated: bool = False
    kernels: str = "plain"


def without_lane_rules() -> tuple[str, ...]:
    """Every code but those that adapt lane logic."""
    codes = (name[:5].upper() for name in rule_names())
    return tuple(code for code in codes if not code.startswith("KP3"))


@contextmanager
def built_programs(files: Sequence[Path], gpus: Sequence[GPU], how: ProgramBuild, say: Say) -> Iterator[list[Path]]:
    """One executable for every GPU: built from source for its target, or the one that was given.

    What was built is gone when the block ends. Raises UsageError for what does not build.
    """
    if all(path.suffix.lower() not in SOURCES for path in files):
        yield _given(files, gpus)
        return
    toolchain = find_toolchain()
    with TemporaryDirectory(prefix="kpt-emulate-") as scratch, ExitStack() as stack:
        every, options = _sources(files, how, stack, say)
        plain = [path for path in every if is_plain(path, how.include_dirs)]
        sources = [path for path in every if path not in plain]
        targets = list(dict.fromkeys(gpu.target.name for gpu in gpus))
        say(f"building for {' and '.join(targets)} with {toolchain.version}")
        made = {target: Path(scratch) / f"program-{target}" for target in targets}
        try:
            objects = _plain_objects(plain, toolchain, options, Path(scratch))
        except CompileFailed as failure:
            raise UsageError(_build_problem(files, targets[0], failure)) from failure

        def build(target: str) -> None:
            try:
                build_emulated(sources, target, toolchain, made[target], options, how.libraries, how.kernels, objects)
            except CompileFailed as failure:
                raise UsageError(_build_problem(files, target, failure)) from failure

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for _ in pool.map(build, targets):
                pass
        yield [made[gpu.target.name] for gpu in gpus]


def _plain_objects(sources: Sequence[Path], toolchain: Toolchain, options: CompileOptions, scratch: Path) -> list[str]:
    """Files without GPU code, compiled as what they are. C++ refuses `int *new = malloc(4)`, which is right in C. HIP
    would choose what a header has for GPU compilers, without its own headers to go with that."""
    objects = []
    for number, path in enumerate(sources):
        made = scratch / f"plain{number}.o"
        made.write_bytes(compile_plain(path, toolchain, options))
        objects.append(str(made))
    return objects


def _given(files: Sequence[Path], gpus: Sequence[GPU]) -> list[Path]:
    if len(files) != 1:
        raise UsageError("give one executable, or sources")
    for gpu in gpus:
        _check_carries(files[0], gpu)
    return [files[0]] * len(gpus)


def _check_carries(program: Path, gpu: GPU) -> None:
    """A program without code for the GPU would run, launch nothing, and seem to be fine."""
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


def _sources(files: Sequence[Path], how: ProgramBuild, stack: ExitStack, say: Say) -> tuple[list[Path], CompileOptions]:
    """The sources to compile: a .cu, and a C or C++ file that calls CUDA, is translated into a scratch folder first."""
    sources = []
    folders: list[Path] = []
    for path in files:
        if path.suffix.lower() == ".cu" or (
            path.suffix.lower() in (*HOST_SOURCES, *C_SOURCES) and calls_cuda(path, how.include_dirs)
        ):
            rules = without_lane_rules() if how.untranslated else None
            tree = stack.enter_context(hipified_tree(path, how.include_dirs, rules))
            sources.append(tree.main)
            folders += [one for one in hipified_folders(tree, how.include_dirs) if one not in how.include_dirs]
            for finding in tree.findings:
                if not finding.edits:
                    say(f"left for a person: {finding}")
        elif path.suffix.lower() in SOURCES:
            sources.append(path)
        else:
            raise UsageError(f"{path}: not a source; expected {', '.join(SOURCES)}")
    options = CompileOptions(
        optimization=f"-O{how.optimization}",
        defines=how.defines,
        include_dirs=(*folders, *how.include_dirs),
        std=how.std,
        extra=("-include", UNTOUCHED_LANES) if how.untranslated else (),
    )
    return sources, options


def calls_cuda(path: Path, include_dirs: Sequence[Path]) -> bool:
    """Whether a C or C++ file, or a header of the project that it reaches, uses CUDA's names."""
    if not path.is_file():
        return False
    for file, data in reached_files(path, include_dirs).files.items():
        uses, _ = names_used(cxx_file(file.name, data))
        if any(use.name.hip and use.name.cuda != use.name.hip for use in uses):
            return True
    return False


def is_plain(path: Path, include_dirs: Sequence[Path]) -> bool:
    """Whether a file is C, or C++ that neither uses HIP nor reaches a header of the project that does."""
    if path.suffix.lower() in C_SOURCES:
        return True
    if path.suffix.lower() not in HOST_SOURCES:
        return False
    return not any(_OF_A_GPU.search(data) for data in reached_files(path, include_dirs).files.values())


def _build_problem(files: Sequence[Path], target: str, failure: CompileFailed) -> str:
    named = ", ".join(map(str, files))
    if "undefined reference to `main'" in failure.stderr or "undefined symbol: main" in failure.stderr:
        return f"{named}: has no main(); to run a single kernel use kernel_pytorch.emulate.launch from Python"
    reason = str(failure)
    if "stopped with" in reason:
        reason = "\n".join(failure.stderr.strip().splitlines()[-8:]) or reason
    needed = libraries_with(set(_UNDEFINED.findall(failure.stderr)))
    hint = f"\nTo link what it calls, add: {' '.join(f'-l {name}' for name in needed)}" if needed else ""
    return f"{named} does not build for {target}:\n{reason}{hint}"
