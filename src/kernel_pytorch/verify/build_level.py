"""Build level: every kernel source of the ported project, compiled for every wanted target.

Sources of a torch extension are built as torch's own ROCm build does it, those that are C++ only on the host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.port.builds.given_macros import GivenMacros, unless_a_macro_is_missing
from kernel_pytorch.port.builds.hipified_tree import hipified_folders, hipified_tree
from kernel_pytorch.port.builds.missing_header import missing_header
from kernel_pytorch.port.builds.torch_extension import (
    HOST_SUFFIXES,
    TorchExtension,
    pybind11_folders,
    reaches_pybind11,
    reaches_torch,
    torch_extension,
)
from kernel_pytorch.port.cxx.fragments import fragments
from kernel_pytorch.port.cxx.include_folders import compile_folders
from kernel_pytorch.port.discover import Project, globs
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.port.project import choose_layout
from kernel_pytorch.port.settings import project_of
from kernel_pytorch.toolchain.code_object import KernelResources, read_code_object
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, CompilerStopped, check_unit
from kernel_pytorch.toolchain.diagnostics import errors
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.precompiled import PrecompiledHeaders
from kernel_pytorch.toolchain.torch_headers import TorchHeadersError, installed_torch, rocm_headers
from kernel_pytorch.verify.install.make_run import make_units
from kernel_pytorch.verify.install.record import InstallTrial
from kernel_pytorch.verify.install.units import recorded_extension
from kernel_pytorch.verify.levels import NOTHING_TO_CHECK, LevelResult
from kernel_pytorch.verify.triton_build import triton_checks


@dataclass(frozen=True)
class BuiltKernel:
    """One kernel that compiled for one target, with what it needs."""

    source: str
    target: str
    resources: KernelResources


_Outcome = tuple[CheckResult, tuple[BuiltKernel, ...]]


@dataclass(frozen=True)
class _Sources:
    """What there is to build: plain HIP and CUDA, sources of a torch extension, and its C++ without kernels."""

    plain: tuple[str, ...]
    extension: tuple[str, ...]
    host: tuple[str, ...]
    no_torch: str  # why those of the extension cannot be built; empty where they can


def build_level(
    root: Path,
    targets: Sequence[str],
    include_dirs: Sequence[str] = (),
    triton_spec: str = "",
    trials: Sequence[InstallTrial] = (),
    only: Sequence[str] = (),
) -> tuple[LevelResult, tuple[BuiltKernel, ...]]:
    """Compile every .hip and .cu, the .cpp of a torch extension and Triton's kernels. Returns the level and kernels.

    Sources that a trial of the install names are compiled from its tree, with the flags of the project's own build.
    With `only`, which are globs, no other source is compiled.
    """
    wanted = globs(only or ("**",))
    project = project_of(root)
    triton = tuple(triton_checks(project, targets, triton_spec, wanted))
    folders = compile_folders(root, [root / path for path in project.of("cuda", "c++")], include_dirs)
    paths = _without_twins(project.of("cuda", "c++"))
    parts = fragments(root, paths)
    kernels = [
        path for path in paths if path.endswith((".cu", ".hip")) and path not in parts and wanted.fullmatch(path)
    ]
    recorded = {path: trial for trial in trials for path in map(trial.rocm.as_written, trial.rocm.sources)}
    # A kernel that includes pybind11 alone is none of torch's; the C++ files beside torch's kernels are.
    of_torch = [path for path in (*kernels, *_host_only(paths)) if reaches_torch(root / path, root, folders)]
    of_torch += [
        path for path in _host_only(paths) if path not in of_torch and reaches_pybind11(root / path, root, folders)
    ]
    of_torch = [path for path in of_torch if path not in recorded and wanted.fullmatch(path)]
    if only and not triton and not any(map(wanted.fullmatch, (*kernels, *of_torch, *recorded))):
        raise UsageError(f"--only {','.join(only)}: matches no source that {root} builds")
    if not kernels and not of_torch and not recorded:
        check = CheckResult(NOTHING_TO_CHECK, Status.PASS, "the project has no .cu or .hip sources")
        return LevelResult("build", triton or (check,)), ()
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError as error:
        missing = (CheckResult("kernels", Status.NOT_RUN, f"a HIP compiler: {error}"),) if triton else ()
        return LevelResult("build", (*missing, *triton), f"a HIP compiler: {error}"), ()
    sources = _sorted_out(project, [path for path in kernels if path not in recorded], of_torch)
    macros = GivenMacros(root, project.listed)
    switched = CompileOptions(defines=macros.switches)

    def with_python(path: str) -> tuple[Path, ...]:
        return pybind11_folders() if reaches_pybind11(root / path, root, folders) else ()

    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="kpt-make-")))
        made = {one.path: one.moved(root, root) for one in make_units(root, project.listed, scratch)}
        jobs: list[Callable[[], _Outcome]] = [
            partial(_build, root, path, target, toolchain, (*folders, *with_python(path)), made.get(path, switched))
            for path in sources.plain
            for target in targets
        ]
        if sources.extension or sources.host:
            jobs += _extension_jobs(root, paths, sources, targets, toolchain, folders, stack)
        for trial in trials:
            jobs += _trial_jobs(root, trial, targets, toolchain, wanted, include_dirs)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results = list(pool.map(lambda job: job(), jobs))
    checks = tuple(unless_a_macro_is_missing(check, macros) for check, _ in results)
    return LevelResult("build", (*checks, *triton)), tuple(kernel for _, found in results for kernel in found)


def _without_twins(paths: Sequence[str]) -> list[str]:
    """A copy-layout port has the HIP twin beside the CUDA original: the twin is what ROCm builds."""
    every = set(paths)
    return [path for path in paths if not path.endswith(".cu") or f"{path[:-3]}.hip" not in every]


def _host_only(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path.endswith(HOST_SUFFIXES)]


def _sorted_out(project: Project, kernels: Sequence[str], of_torch: Sequence[str]) -> _Sources:
    host = tuple(path for path in of_torch if path.endswith(HOST_SUFFIXES))
    extension = [path for path in kernels if path in of_torch]
    no_torch = ""
    if of_torch:
        try:
            rocm_headers(installed_torch())
            # torch's build renames every source of the extension, also those that include none of its headers.
            extension = list(kernels) if layout_named(choose_layout(project)).is_built_by_torch else extension
        except TorchHeadersError as error:
            no_torch = f"includes torch's headers: {error}"
    plain = tuple(path for path in kernels if path not in extension)
    return _Sources(plain, tuple(extension), host, no_torch)


def _build(
    root: Path, path: str, target: str, toolchain: Toolchain, folders: tuple[Path, ...], given: CompileOptions
) -> _Outcome:
    """`given`: the flags that the project's Makefile gives this source."""
    name = f"{path} for {target}"
    folders = (*given.include_dirs, *folders)
    with ExitStack() as stack:
        tree = stack.enter_context(hipified_tree(root / path, folders, project=root)) if path.endswith(".cu") else None
        source = tree.main if tree is not None else root / path
        searched = hipified_folders(tree, folders) if tree is not None else folders
        bounds = (root, tree.top) if tree is not None else (root,)
        options = replace(given, include_dirs=searched, bounds=bounds)
        try:
            payload = check_unit(source, target, toolchain, options)
        except CompilerStopped as stopped:  # a busy machine's fault, not the source's
            return CheckResult(name, Status.NOT_RUN, stopped.stderr), ()
        except CompileFailed as failure:
            found = errors(failure.messages) or failure.messages
            shown = [tree.on_original(one) if tree is not None else one for one in found[:3]]
            meaning = missing_header(shown[0].text, f"{shown[0].path}:{shown[0].line}".replace(f"{root}/", ""))
            if meaning is not None:
                return CheckResult(name, *meaning), ()
            reasons = "; ".join(str(message).replace(f"{root}/", "") for message in shown)
            return CheckResult(name, Status.FAIL, reasons), ()
    return _built(name, path, target, payload, toolchain)


def _built(name: str, path: str, target: str, payload: bytes, toolchain: Toolchain) -> _Outcome:
    kernels = tuple(BuiltKernel(path, target, one) for one in read_code_object(payload).kernels)
    return CheckResult(name, Status.PASS, f"{counted(len(kernels), 'kernel')}, {toolchain.version}"), kernels


def _extension_jobs(
    root: Path,
    paths: Sequence[str],
    sources: _Sources,
    targets: Sequence[str],
    toolchain: Toolchain,
    folders: Sequence[Path],
    stack: ExitStack,
) -> list[Callable[[], _Outcome]]:
    """A device pass for every source and target, and one host pass for every source: it is the same for all targets."""
    reason = sources.no_torch
    tree: TorchExtension | None = None
    if not reason:
        try:
            store = PrecompiledHeaders()
            tree = stack.enter_context(torch_extension(root, paths, folders))
            tree = tree.made_fast((*sources.extension, *sources.host), store, toolchain)
        except TorchHeadersError as error:
            reason = f"a torch extension's source: {error}"
    return _unit_jobs(tree or reason, sources.extension, sources.host, targets, toolchain)


def _trial_jobs(
    root: Path,
    trial: InstallTrial,
    targets: Sequence[str],
    toolchain: Toolchain,
    wanted: re.Pattern[str],
    include_dirs: Sequence[str],
) -> list[Callable[[], _Outcome]]:
    """The same for what the project's own build names."""
    commands = {trial.rocm.as_written(command.source): command.is_gpu for command in trial.rocm.compiles}
    commands = {path: is_gpu for path, is_gpu in commands.items() if wanted.fullmatch(path)}
    gpu = [path for path, is_gpu in commands.items() if is_gpu]
    host = [path for path, is_gpu in commands.items() if not is_gpu]
    try:
        store = PrecompiledHeaders()
        tree = recorded_extension(trial, root, [root / one for one in include_dirs])
        tree = tree.made_fast((*gpu, *host), store, toolchain)
        return _unit_jobs(tree, gpu, host, targets, toolchain)
    except TorchHeadersError as error:
        return _unit_jobs(f"a torch extension's source: {error}", gpu, host, targets, toolchain)


def _unit_jobs(
    tree: TorchExtension | str, gpu: Sequence[str], host: Sequence[str], targets: Sequence[str], toolchain: Toolchain
) -> list[Callable[[], _Outcome]]:
    """`tree` is text where there is none: why nothing can be built."""

    def job(path: str, target: str) -> _Outcome:
        name = f"{path} for {target or 'the host'}"
        if isinstance(tree, str):
            return CheckResult(name, Status.NOT_RUN, tree), ()
        try:
            if target:
                return _built(name, path, target, tree.build_device(path, target, toolchain), toolchain)
            taken_by = tree.check_host(path, toolchain, targets[0])
        except CompilerStopped as stopped:
            return CheckResult(name, Status.NOT_RUN, stopped.stderr), ()
        except CompileFailed as failure:
            return CheckResult(name, *tree.outcome(path, failure, toolchain)), ()
        other = "" if taken_by == toolchain.version else f"{taken_by}, which torch's build uses (clang refuses it), "
        return CheckResult(name, Status.PASS, f"{other}with the headers of torch {tree.torch.version}"), ()

    wanted = [(path, target) for path in gpu for target in targets]
    wanted += [(path, "") for path in (*gpu, *host)]
    return [partial(job, path, target) for path, target in wanted]
