"""Golden records: what a model or a program computes on one machine, checked on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kernel_pytorch.core.entry_point import blaming, load_subject
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.jobs.program_build import ProgramBuild, Say, built_programs, say_nothing
from kernel_pytorch.verify.golden.archive import GoldenArchive, GoldenRecord
from kernel_pytorch.verify.golden.check import GoldenCheck, check
from kernel_pytorch.verify.golden.record import RecordOptions, record
from kernel_pytorch.verify.kernels.record import KernelArchive, KernelRecord
from kernel_pytorch.verify.kernels.record_comparison import KernelComparison, compare_records
from kernel_pytorch.verify.kernels.run import ProgramRun, record_executable
from kernel_pytorch.verify.numerical_level import PROGRAM_SOURCES


def record_model(target: str, out: Path, options: RecordOptions, progress: Say = say_nothing) -> GoldenRecord:
    """Run `module:function`'s model and write what it computed to `out`."""
    _refuse_file(out)
    subject = load_subject(target)
    with blaming(target):
        return record(subject, out, options, progress)


def check_model(
    target: str, folder: Path, modes: Sequence[str] = (), *, use_referee: bool = True, progress: Say = say_nothing
) -> tuple[GoldenCheck, ...]:
    """Replay a record of a model here, in each of `modes`; without any, in those the record has."""
    archive = GoldenArchive(folder)
    wanted = modes or [mode for mode in ("strict", "production") if mode in archive.record.events]
    subject = load_subject(target)
    with blaming(target):
        return tuple(check(subject, archive, mode, use_referee=use_referee, progress=progress) for mode in wanted)


def record_program(
    how: ProgramRun,
    out: Path,
    build: ProgramBuild = ProgramBuild(),  # noqa: B008 (frozen)
    progress: Say = say_nothing,
) -> KernelRecord:
    """Run a program, built first where it is a source, and write device memory around every launch to `out`."""
    _refuse_file(out)
    if how.program.suffix.lower() not in PROGRAM_SOURCES:
        return record_executable(how, out, progress)
    if how.gpu is None:
        raise UsageError(
            f"{how.program}: a source; give the executable (`nvcc -cudart shared`), or --gpu NAME to emulate it"
        )
    if not how.program.is_file():
        raise UsageError(f"{how.program}: no such file")
    with built_programs([how.program], [how.gpu], build, progress) as (executable,):
        return record_executable(replace(how, program=executable, source=how.program), out, progress)


def check_program(
    how: ProgramRun,
    folder: Path,
    build: ProgramBuild = ProgramBuild(),  # noqa: B008 (frozen)
    progress: Say = say_nothing,
) -> KernelComparison:
    """Run a program as its record in `folder` was made, and compare kernel by kernel."""
    reference = KernelArchive(folder)
    how = how if how.arguments else replace(how, arguments=reference.record.arguments)
    with TemporaryDirectory(prefix="kpt-check-") as scratch:
        record_program(how, Path(scratch), build, progress)
        return compare_records(reference, KernelArchive(Path(scratch)))


def compare_programs(reference: Path, folder: Path) -> KernelComparison:
    """Two records of programs, kernel by kernel."""
    return compare_records(KernelArchive(reference), KernelArchive(folder))


def _refuse_file(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file; --out names a folder")
