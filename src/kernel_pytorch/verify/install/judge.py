"""What is wrong with an install on ROCm, held against the same install on CUDA. Each fault is a finding at its line."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.build_files.nvcc_flags import libraries
from kernel_pytorch.verify.install.parting import parting_conditions
from kernel_pytorch.verify.install.record import Extension, InstallRecord, InstallTrial, Place


def judged(trial: InstallTrial) -> tuple[Finding, ...]:
    """The findings of a trial. A project that does not install on CUDA either cannot be judged: see `not_judged`."""
    failure = trial.rocm.failure
    if failure is not None:
        place = failure.place or Place(trial.setup, 1)
        return (_finding("KP810", place, f"the install stops on ROCm: {failure.error}"),)
    return (*_dropped(trial), *_without_kernels(trial), *_missing(trial), *_libraries(trial))


def not_judged(cuda: InstallRecord) -> str:
    """Why nothing can be said about an install: it does not work on a CUDA machine either. Empty where it does."""
    if cuda.failure is None:
        return ""
    if cuda.failure.missing_module:
        name = cuda.failure.missing_module.partition(".")[0]
        return f"setup.py needs the Python package {name}, which is not installed here: pip install {name}"
    where = f"{cuda.failure.place}: " if cuda.failure.place else ""
    return f"setup.py does not run here for CUDA either: {where}{cuda.failure.error}"


def made_at(trial: InstallTrial, extension: Extension) -> Place:
    """The line that made an extension; the first of setup.py where torch's functions did not make it."""
    return extension.made_at or Place(trial.setup, 1)


def _dropped(trial: InstallTrial) -> Iterator[Finding]:
    there = {extension.name for extension in trial.rocm.extensions}
    for extension in trial.cuda.extensions:
        if extension.name not in there:
            units = len(trial.cuda.gpu_units(extension.name))
            with_kernels = f" with its {units} GPU sources" if units else ""
            message = f"the extension {extension.name}{with_kernels} is built on CUDA and left out on ROCm"
            yield _where_they_part(trial, extension, "KP811", message)


def _without_kernels(trial: InstallTrial) -> Iterator[Finding]:
    for extension in trial.rocm.extensions:
        wanted, there = len(trial.cuda.gpu_units(extension.name)), len(trial.rocm.gpu_units(extension.name))
        if there < wanted:
            message = f"{extension.name} has {wanted} GPU sources on CUDA and {there} on ROCm"
            yield _where_they_part(trial, extension, "KP812", message)


def _where_they_part(trial: InstallTrial, extension: Extension, code: str, message: str) -> Finding:
    """A finding at the condition that decides, where one is seen; else where the extension is made."""
    conditions = parting_conditions(trial.cuda, trial.rocm, trial.tree)
    if not conditions:
        return _finding(code, made_at(trial, extension), message)
    return _finding(code, conditions[0], f"{message}: this condition holds on one of them only")


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


def _finding(code: str, place: Place, message: str) -> Finding:
    return Finding(code, place.path, place.line, 1, message)
