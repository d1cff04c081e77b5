"""Runs a program from source on the CPU, with CUDA's own meaning, and compares it with its machine code where asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate
from kernel_pytorch.emulate.run import Outcome, RunSettings
from kernel_pytorch.emulate.run_differences import differences
from kernel_pytorch.emulate.source.build import SourceOptions, SourceProgram, build_source
from kernel_pytorch.emulate.source.lockstep import verdict
from kernel_pytorch.emulate.source.run import NAME, run_source
from kernel_pytorch.jobs.emulate import EmulationResult, clear_errors, run_on, source_files
from kernel_pytorch.jobs.program_build import ProgramBuild, Say, built_programs, say_nothing

_SUFFIXES = (".cu", ".hip", ".cpp", ".cc", ".cxx")
# Lines are exact and accesses are still where the user wrote them.
SOURCE_OPTIMIZATION = "1"


def emulate_source(
    files: Path | str | Sequence[Path | str],
    *,
    gpus: Sequence[str] = (),
    arguments: Sequence[str] = (),
    build: ProgramBuild = ProgramBuild(),  # noqa: B008 (frozen)
    optimization: str = SOURCE_OPTIMIZATION,
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
    seed: int = 1,
    echo: bool = False,
    progress: Say = say_nothing,
) -> EmulationResult:
    """Run a program from source at warp 32, without lockstep; then on `gpus` as machine code, and compare.

    `seed` orders the threads, `optimization` is for the run from source. Everything else is as for `emulate`.
    """
    paths = source_files(files)
    for path in paths:
        if path.suffix.lower() not in _SUFFIXES:
            raise UsageError(f"{path}: --source needs sources, such as .cu or .hip")
    with clear_errors(paths), TemporaryDirectory(prefix="kpt-emulate-") as scratch:
        chosen = [gpu_to_emulate(name) for name in gpus]
        progress("building from source for this CPU")
        options = SourceOptions(build.include_dirs, build.defines, build.std, optimization)
        program = build_source(list(paths), Path(scratch) / "program-source", options)
        progress(f"running {NAME}, threads in the order of seed {seed}")
        outcome = run_source(program, arguments, settings, seed, echo=echo)
        if not chosen:
            return EmulationResult((outcome,))
        with built_programs(paths, chosen, replace(build, kernels=settings.build), progress) as programs:
            machine = [
                run_on(one, gpu, arguments, settings, echo, progress) for one, gpu in zip(programs, chosen, strict=True)
            ]
        return _compared(program, arguments, settings, seed, outcome, machine)


def _compared(
    program: SourceProgram,
    arguments: Sequence[str],
    settings: RunSettings,
    seed: int,
    outcome: Outcome,
    machine: Sequence[Outcome],
) -> EmulationResult:
    closer: Outcome | None = None
    found = {}
    verdicts = []
    for other in machine:
        # Device addresses, times and unwritten memory differ anyway: a second run in another order shows which lines.
        differ = differences(outcome, other)
        if differ and closer is None:
            closer = run_source(program, arguments, replace(settings, checked=True, races=True), seed + 1)
        if closer is not None:
            differ = differences(outcome, other, closer)
        found[other.gpu] = tuple(map(str, differ))
        verdicts.append(verdict(outcome, other, closer, any(one.what in ("exit", "output") for one in differ)))
    return EmulationResult((outcome, *machine), found, tuple(verdicts))
