"""Compiles HIP, CUDA and Triton kernels for AMD GPUs, and reads code objects that are there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import gpu_by_alias, target
from kernel_pytorch.core.text_file import is_binary_source
from kernel_pytorch.port.builds.hipified_tree import HipifiedTree, hipified_folders, hipified_tree
from kernel_pytorch.toolchain.build import (
    SOURCE_SUFFIXES,
    BuildOutcome,
    Source,
    Wanted,
    build_sources,
    build_triton_kernel,
    default_targets,
    is_compiled,
    read_built,
)
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.compile_commands import CompileCommands
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.triton_build import (
    TritonRequest,
    parse_constexprs,
    parse_signature,
    split_kernel_path,
)


@dataclass(frozen=True)
class TritonTypes:
    """The types and constants that a Triton kernel is compiled for, as the command line writes them."""

    signature: str | None = None
    constexprs: tuple[str, ...] = ()
    num_warps: int | None = None
    num_stages: int | None = None


@dataclass(frozen=True)
class KernelBuild:
    """How to compile. `std` wins over what `compile_commands` says; `as_hip` compiles a .cu file untranslated."""

    options: CompileOptions = CompileOptions()  # noqa: RUF009 (frozen)
    std: str | None = None
    compile_commands: Path | None = None
    check_host: bool = True
    as_hip: bool = False
    compiler: str | None = None  # rocm, clang or zig; None for the first that is found
    wanted: Wanted = Wanted()  # noqa: RUF009 (frozen)
    triton: TritonTypes = TritonTypes()


@dataclass(frozen=True)
class BuildResult:
    """The outcome of every file for every target, in the order they were given, and the compiler that was used."""

    built: tuple[BuildOutcome, ...]
    toolchain: Toolchain | None = None

    @property
    def ok(self) -> bool:
        return all(one.ok for one in self.built)


def build_kernels(
    files: Sequence[str],
    targets: Sequence[str] = (),
    how: KernelBuild = KernelBuild(),
    workers: int | None = None,
    done: Callable[[BuildOutcome, int], None] = lambda built, total: None,
) -> BuildResult:
    """Build every file for every target. `done` is called after each compilation with the number of all of them.

    A file is a HIP or CUDA source, `file.py::kernel` (Triton), a .hsaco, an object or an executable. Without targets it
    is built for one of each architecture.
    """
    targets = targets or default_targets()
    # Look at every file before anything is compiled: a mistyped last name should not cost minutes.
    kinds = [file_kind(text) for text in files]
    toolchain = None
    if "hip" in kinds:
        _check_folders(how.options.include_dirs)
        toolchain = find_toolchain(prefer=how.compiler)
    sources: list[Source] = []
    results: dict[int, list[BuildOutcome]] = {}
    trees: dict[Path, HipifiedTree] = {}
    with ExitStack() as scratch:
        for index, (text, kind) in enumerate(zip(files, kinds, strict=True)):
            if kind == "hip":
                sources.append(_source(Path(text), how, scratch, trees))
            elif kind == "code-object":
                results[index] = read_built(Path(text), how.wanted)
            else:
                results[index] = build_triton_kernel(_triton_request(text, how.triton), targets, how.wanted)
        if toolchain is not None:
            each = len(targets) + how.check_host
            total = len(sources) * each
            compiled = build_sources(sources, targets, toolchain, how.wanted, workers, lambda one: done(one, total))
            starts = iter(range(0, total, each))
            for index in (index for index, kind in enumerate(kinds) if kind == "hip"):
                start = next(starts)
                results[index] = [_on_original(one, trees) for one in compiled[start : start + each]]
    return BuildResult(tuple(one for index in sorted(results) for one in results[index]), toolchain)


def build_targets(arches: Sequence[str], products: Sequence[str]) -> tuple[str, ...]:
    """The targets that `--arch` and `--gpu` name, each once. Raises UsageError for one that is not AMD's."""
    for name in arches:
        if target(name).vendor != "amd":
            raise UsageError(f"--arch {name}: not an AMD target")
    named = list(arches)
    for alias in products:
        gpu = gpu_by_alias(alias)
        if gpu.vendor != "amd":
            raise UsageError(f"--gpu {alias}: {gpu.name} is not an AMD GPU")
        named.append(gpu.target.name)
    return tuple(dict.fromkeys(named))


def file_kind(text: str) -> str:
    """What a file to build is: "hip", "triton" or "code-object". Raises UsageError for what cannot be built."""
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


def _check_folders(folders: Sequence[Path]) -> None:
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"-I {folder}: no such directory")


def _source(path: Path, how: KernelBuild, scratch: ExitStack, trees: dict[Path, HipifiedTree]) -> Source:
    """What to compile: a CUDA source is translated into a scratch folder first, with the headers it reaches."""
    options = how.options
    if path.suffix.lower() == ".cu" and not how.as_hip:
        tree = scratch.enter_context(hipified_tree(path, options.include_dirs))
        trees[tree.main] = tree
        path = tree.main
        bounds = (*options.bounds, tree.top) if options.bounds else ()
        options = replace(options, include_dirs=hipified_folders(tree, options.include_dirs), bounds=bounds)
    if how.compile_commands is not None:
        flags = CompileCommands(how.compile_commands).flags_for(path)
        options = replace(
            options,
            defines=flags.defines + options.defines,
            include_dirs=flags.include_dirs + options.include_dirs,
            extra=flags.extra + options.extra,
            std=flags.std or options.std,
        )
    return Source(path, options if how.std is None else replace(options, std=how.std), check_host=how.check_host)


def _on_original(built: BuildOutcome, trees: dict[Path, HipifiedTree]) -> BuildOutcome:
    """What was built from a translation, under the user's file name and lines, with what the translation left open."""
    tree = trees.get(Path(built.file))
    if tree is None:
        return built
    left = [f"{finding}" for finding in tree.findings if not finding.edits]
    note = (
        f"translated from CUDA; {counted(len(left), 'finding')} left for a person, the first: {left[0]}"
        if left
        else None
    )
    messages = tuple(tree.on_original(message) for message in built.messages)
    return replace(built, file=str(tree.original), messages=messages, note=built.note or note)


def _triton_request(text: str, types: TritonTypes) -> TritonRequest:
    named = split_kernel_path(text)
    assert named is not None
    path, kernel = named
    if types.signature is None:
        raise UsageError(f'{path}::{kernel}: give the parameter types, such as --signature "*fp32,*fp32,i32"')
    signature, constexprs = parse_signature(types.signature), parse_constexprs(types.constexprs)
    return TritonRequest(path, kernel, signature, constexprs, types.num_warps, types.num_stages)
