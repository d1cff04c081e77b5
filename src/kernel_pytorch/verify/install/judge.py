"""What is wrong with an install on ROCm, held against the same install on CUDA. Each fault is a finding at its line."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.build_files.nvcc_flags import libraries
from kernel_pytorch.verify.install.record import Extension, InstallRecord, Place

SETUP = "setup.py"


def judged(cuda: InstallRecord, rocm: InstallRecord) -> tuple[Finding, ...]:
    """The findings of a trial. A project that does not install on CUDA either cannot be judged: see `not_judged`."""
    if rocm.failure is not None:
        place = rocm.failure.place or Place(SETUP, 1)
        return (_finding("KP810", place, f"the install stops on ROCm: {rocm.failure.error}"),)
    found = [*_dropped(cuda, rocm), *_without_kernels(cuda, rocm), *_missing(cuda, rocm)]
    return (*found, *(finding for extension in rocm.extensions for finding in _libraries(extension)))


def not_judged(cuda: InstallRecord) -> str:
    """Why nothing can be said about an install: it does not work on a CUDA machine either. Empty where it does."""
    if cuda.failure is None:
        return ""
    if cuda.failure.missing_module:
        name = cuda.failure.missing_module.partition(".")[0]
        return f"setup.py needs the Python package {name}, which is not installed here: pip install {name}"
    where = f"{cuda.failure.place}: " if cuda.failure.place else ""
    return f"setup.py does not run here for CUDA either: {where}{cuda.failure.error}"


def _dropped(cuda: InstallRecord, rocm: InstallRecord) -> Iterator[Finding]:
    there = {extension.name for extension in rocm.extensions}
    for extension in cuda.extensions:
        if extension.name not in there:
            units = len(cuda.gpu_units(extension.name))
            with_kernels = f" with its {units} GPU sources" if units else ""
            message = f"the extension {extension.name}{with_kernels} is built on CUDA and left out on ROCm"
            yield _finding("KP811", extension.made_at or Place(SETUP, 1), message)


def _without_kernels(cuda: InstallRecord, rocm: InstallRecord) -> Iterator[Finding]:
    for extension in rocm.extensions:
        wanted, there = len(cuda.gpu_units(extension.name)), len(rocm.gpu_units(extension.name))
        if there < wanted:
            message = f"{extension.name} has {wanted} GPU sources on CUDA and {there} on ROCm"
            yield _finding("KP812", extension.made_at or Place(SETUP, 1), message)


def _missing(cuda: InstallRecord, rocm: InstallRecord) -> Iterator[Finding]:
    # What is missing on CUDA too is a file that the build makes later.
    made_later = {(extension.name, source) for extension in cuda.extensions for source in extension.missing}
    for extension in rocm.extensions:
        for source in extension.missing:
            if (extension.name, source) not in made_later:
                message = f"{extension.name} names the source {source}, which is not there"
                yield _finding("KP813", extension.made_at or Place(SETUP, 1), message)


def _libraries(extension: Extension) -> Iterator[Finding]:
    rows = libraries()
    for name in extension.libraries:
        row = rows.get(name)
        if row is not None and row.hip != name:
            instead = f"ROCm's is {row.hip}" if row.hip not in ("", "?") else row.note or "ROCm has none"
            message = f"{extension.name} links {name}, which ROCm does not have: {instead}"
            yield _finding("KP815", extension.made_at or Place(SETUP, 1), message)


def _finding(code: str, place: Place, message: str) -> Finding:
    return Finding(code, place.path, place.line, 1, message)
