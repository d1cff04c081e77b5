"""What is wrong with an install on ROCm, held against the same install on CUDA. Each fault is a finding at its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.build_files.nvcc_flags import libraries
from kernel_pytorch.verify.install.out_of_reach import out_of_reach
from kernel_pytorch.verify.install.parting import partings
from kernel_pytorch.verify.install.record import Extension, InstallRecord, InstallTrial, SourceLine

_VENDOR_MACRO = re.compile(r"HIP|ROCM|AMD")
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.MULTILINE)
_COMPILED = (".c", ".cc", ".cpp", ".cxx", ".cu", ".hip")
# What torch itself passes to hipcc, and what the port has CMake pass.
_OF_TORCH = frozenset({"__HIP_PLATFORM_AMD__", "USE_ROCM", "HIPBLAS_V2", "HIP_ENABLE_WARP_SYNC_BUILTINS"}) | {
    f"__HIP_NO_{name}__" for name in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
}


def judged(trial: InstallTrial) -> tuple[Finding, ...]:
    """The findings of a trial. A project that does not install on CUDA either cannot be judged: see `not_judged`."""
    failure = trial.rocm.failure
    if failure is not None:
        place = failure.place or SourceLine(trial.setup, 1)
        return (_finding("KP810", place, f"the install stops on ROCm: {failure.error}"),)
    lost = (*_dropped(trial), *_without_kernels(trial), *_without_macros(trial))
    return (
        *lost,
        *_one_name(trial),
        *_not_hipified(trial),
        *_out_of_reach(trial),
        *_missing(trial),
        *_libraries(trial),
        *_compiled_again(trial),
    )


def not_judged(trial: InstallTrial) -> str:
    """Why nothing can be said about an install: it does not work on a CUDA machine either. Empty where it does."""
    failure = trial.cuda.failure
    if failure is None:
        return _stopped_without_network(trial)
    name = PurePosixPath(trial.setup).name
    if failure.missing_module:
        package = failure.missing_module.partition(".")[0]
        return f"{name} needs the Python package {package}, which is not installed here: pip install {package}"
    where = f"{failure.place}: " if failure.place else ""
    return f"{name} does not run here for CUDA either: {where}{failure.error}{_not_checked_out(trial.tree)}"


def _not_checked_out(tree: Path) -> str:
    """A hint at the submodules that are not there, which a clone leaves out."""
    named = _SUBMODULE.findall((read_if_there(tree / ".gitmodules", tree) or b"").decode("utf-8", "replace"))
    absent = [path for path in named if not (tree / path).is_dir() or not any((tree / path).iterdir())]
    if not absent:
        return ""
    shown = f"{counted(len(absent), 'submodule')} ({', '.join(absent[:3])}{' ...' if len(absent) > 3 else ''})"
    return f". Not checked out: {shown}; git submodule update --init --recursive"


def _stopped_without_network(trial: InstallTrial) -> str:
    """A run that wanted to fetch something says nothing about ROCm: CUDA's stand-in may not look at what is missing."""
    failure, asked = trial.rocm.failure, trial.rocm.asked_network
    if failure is None or asked is None:
        return ""
    stopped = f"and then it stops on ROCm: {failure.error}"
    return f"{asked} asks for the network, which is off here, {stopped}. Install what it fetches, and try again"


def made_at(trial: InstallTrial, extension: Extension) -> SourceLine:
    """The line that made an extension; the first of setup.py where torch's functions did not make it."""
    return extension.made_at or SourceLine(trial.setup, 1)


def _dropped(trial: InstallTrial) -> Iterator[Finding]:
    there = {extension.name for extension in trial.rocm.extensions}
    for extension in trial.cuda.extensions:
        if extension.name not in there:
            units = len(trial.cuda.gpu_units(extension.name))
            with_kernels = f" with its {counted(units, 'GPU source')}" if units else ""
            kind = "target" if extension.kind.startswith("cmake") else "extension"
            message = f"the {kind} {extension.name}{with_kernels} is built on CUDA and left out on ROCm"
            yield _where_they_part(trial, extension, "KP811", message)


def _without_kernels(trial: InstallTrial) -> Iterator[Finding]:
    for extension in trial.rocm.extensions:
        wanted, there = len(trial.cuda.gpu_units(extension.name)), len(trial.rocm.gpu_units(extension.name))
        if there < wanted:
            message = f"{extension.name} has {counted(wanted, 'GPU source')} on CUDA and {there} on ROCm"
            yield _where_they_part(trial, extension, "KP812", message)


def _without_macros(trial: InstallTrial) -> Iterator[Finding]:
    """WITH_CUDA and the like: without it the kernels are compiled and never called."""
    for extension in trial.rocm.extensions:
        on_cuda, on_rocm = _macros(trial.cuda, extension.name), _macros(trial.rocm, extension.name)
        if any(_VENDOR_MACRO.search(name) for name in on_rocm - on_cuda - _OF_TORCH):
            continue  # WITH_HIP in the place of WITH_CUDA
        if len(trial.rocm.units(extension.name)) < len(trial.cuda.units(extension.name)):
            continue  # a source that is not compiled has no macros
        lost = on_cuda - on_rocm
        names = sorted(name for name in lost if not name.startswith("__CUDA_NO_"))
        if names:
            message = f"{extension.name} is compiled with {', '.join(names)} on CUDA and without on ROCm"
            yield _where_they_part(trial, extension, "KP817", message)


def _macros(record: InstallRecord, extension: str) -> set[str]:
    """The names of an extension's macros, those of torch's own that only one platform has left out."""
    words = [word for one in record.compiles if one.extension == extension for word in one.words]
    return {word[2:].partition("=")[0] for word in words if word.startswith("-D") and len(word) > 2}


def _one_name(trial: InstallTrial) -> Iterator[Finding]:
    for extension, source, other in same_objects(trial):
        stem = next((PurePosixPath(new).stem for old, new in trial.rocm.renamed if old == source), "")
        message = f"torch's hipify gives {source} and {other} one object file, {stem}.o: rename one of them"
        yield _finding("KP818", made_at(trial, extension), message)


def same_objects(trial: InstallTrial) -> Iterator[tuple[Extension, str, str]]:
    """Two sources of an extension with one object file, of which the first is lost.

    hipify makes ops_hip.cpp of ops.cpp and ops_hip.hip of ops_cuda.cu.
    """
    for extension in trial.rocm.extensions:
        compiled = trial.rocm.units(extension.name)
        lost = [source for source in extension.sources if source not in compiled and source.endswith(_COMPILED)]
        for source in lost if compiled else ():
            stem = PurePosixPath(source).with_suffix("")
            other = next((one for one in sorted(compiled) if PurePosixPath(one).with_suffix("") == stem), None)
            if other is not None:
                yield extension, trial.rocm.as_written(source), trial.rocm.as_written(other)


def _not_hipified(trial: InstallTrial) -> Iterator[Finding]:
    # hipify leaves a .cu without CUDA names as it is; hipcc takes it.
    seen = {old for old, _ in trial.rocm.renamed}
    for extension in trial.rocm.extensions:
        gpu = trial.rocm.gpu_units(extension.name)
        units = [one for one in gpu if one.endswith((".cu", ".cuh")) and one not in seen]
        if units and extension.kind == "Extension" and extension.sources:  # without sources CMake builds it
            message = f"{extension.name} hands {units[0]} to hipcc as it is: only CUDAExtension runs hipify"
            yield _finding("KP819", made_at(trial, extension), message)


def _out_of_reach(trial: InstallTrial) -> Iterator[Finding]:
    for one in out_of_reach(trial):
        why = "its includer moves to another folder" if one.is_left_behind else "it keeps CUDA's names"
        message = f"torch's hipify does not reach {one.header}: {why} on ROCm"
        yield _finding("KP821", SourceLine(one.path, one.line), message)


def _compiled_again(trial: InstallTrial) -> Iterator[Finding]:
    """A second build in the same tree: torch's hipify wrote files there, which a glob may take for sources."""
    if trial.again is None:
        return
    if trial.again.failure is not None:
        place = trial.again.failure.place or SourceLine(trial.setup, 1)
        message = f"a second install in the same folder stops on ROCm: {trial.again.failure.error}"
        yield _finding("KP816", place, message)
        return
    first = {(one.extension, one.source) for one in trial.rocm.compiles}
    for extension in trial.again.extensions:
        more = sorted(
            one.source
            for one in trial.again.compiles
            if one.extension == extension.name and (one.extension, one.source) not in first
        )
        if more:
            shown = ", ".join(more[:3]) + (" ..." if len(more) > 3 else "")
            message = f"a second install in the same folder also compiles what hipify wrote: {shown}"
            yield _finding("KP816", made_at(trial, extension), message)


def _where_they_part(trial: InstallTrial, extension: Extension, code: str, message: str) -> Finding:
    """A finding at the condition that decides, where one is seen; else where the extension is made."""
    found = [one.condition for one in partings(trial.cuda, trial.rocm) if one.condition.kind == "test"]
    if not found:
        return _finding(code, made_at(trial, extension), message)
    # Of several, the last one on the way to the extension: an earlier one may choose a version's name.
    made = made_at(trial, extension)
    before = [one for one in found if one.path == made.path and one.line <= made.line]
    nearest = before[-1] if before else found[0]
    place = SourceLine(nearest.path, nearest.line)
    return _finding(code, place, f"{message}: this condition holds on one of them only")


def _missing(trial: InstallTrial) -> Iterator[Finding]:
    # What is missing on CUDA too is a file that the build makes later.
    made_later = {(extension.name, source) for extension in trial.cuda.extensions for source in extension.missing}
    for extension in trial.rocm.extensions:
        for source in extension.missing:
            if (extension.name, source) not in made_later:
                message = f"{extension.name} names the source {source}, which is not there"
                yield _finding("KP813", made_at(trial, extension), message)


def _libraries(trial: InstallTrial) -> Iterator[Finding]:
    rows = libraries()
    for extension in trial.rocm.extensions:
        for name in extension.libraries:
            row = rows.get(name)
            if row is not None and row.hip != name:
                instead = f"ROCm's is {row.hip}" if row.hip not in ("", "?") else row.note or "ROCm has none"
                message = f"{extension.name} links {name}, which ROCm does not have: {instead}"
                yield _finding("KP815", made_at(trial, extension), message)


def _finding(code: str, place: SourceLine, message: str) -> Finding:
    return Finding(code, place.path, place.line, 1, message)
