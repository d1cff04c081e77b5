"""Runs a HIP or CUDA program on emulated AMD GPUs, and compares what it does on several of them.

No AMD GPU is involved: the program's machine code is translated to C and run on the CPU. Timings say nothing about
hardware.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Finding
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate, stated_figures
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.text_file import is_binary_source
from kernel_pytorch.emulate.assembly.instruction import AssemblyError
from kernel_pytorch.emulate.codegen.emission import TranslationError
from kernel_pytorch.emulate.host_compiler import HostCompileFailed
from kernel_pytorch.emulate.isa.row import TableError
from kernel_pytorch.emulate.run import Outcome, RunSettings, run_program
from kernel_pytorch.emulate.run_differences import differences
from kernel_pytorch.emulate.runtime_build import RuntimeBuildError
from kernel_pytorch.emulate.second_engine import find_launcher, run_on_first, run_on_second
from kernel_pytorch.emulate.source.lockstep import LockstepVerdict as LockstepVerdict
from kernel_pytorch.emulate.translate import translate_module, translate_to_c
from kernel_pytorch.jobs.program_build import ProgramBuild, Say, built_programs, say_nothing
from kernel_pytorch.port.builds.hipified_tree import hipified_tree
from kernel_pytorch.toolchain.code_object import CodeObjectError, code_object_images, read_code_object
from kernel_pytorch.toolchain.elf import ElfError
from kernel_pytorch.toolchain.offload_bundle import BundleError

DEFAULT_GPU = "mi300x"


@dataclass(frozen=True)
class EmulationResult:
    """How each run ended, first GPU first. `differences` are those from the first, by the name of the other GPU.

    `lockstep` says, for a comparison with a run from source, whether the program depends on lanes running in lockstep.
    """

    runs: tuple[Outcome, ...]
    differences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lockstep: tuple[LockstepVerdict, ...] = ()

    @property
    def ok(self) -> bool:
        """Every run ended well, and none differs from the first."""
        return all(run.ok for run in self.runs) and not any(self.differences.values())


@dataclass(frozen=True)
class EmulatedCodeObject:
    """A code object all of whose kernels can be emulated. `missing_waits` are kernel, place and what is wrong there."""

    file: str
    target: str
    kernels: tuple[str, ...]
    missing_waits: tuple[tuple[str, str, str], ...] = ()


def emulate(
    files: Path | str | Sequence[Path | str],
    *,
    gpus: Sequence[str] = (DEFAULT_GPU,),
    arguments: Sequence[str] = (),
    build: ProgramBuild = ProgramBuild(),  # noqa: B008 (frozen)
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
    echo: bool = False,
    progress: Say = say_nothing,
    engine: str = "kpt",
) -> EmulationResult:
    """Build a program where needed and run it on each of `gpus`; with several, compare them with the first.

    - `files`: .hip or .cu sources of one program, or an executable.
    - `gpus`: AMD products such as "mi300x" (wave 64) and "rx7900xtx" (wave 32).
    - `arguments`: the program's own.
    - `build`: include folders, macros, and whether to leave a .cu file's lane logic as written.
    - `settings`: what to look for (memory faults, races, counts) and the limits of a run.
    - `echo`: let the program's output through instead of collecting it.
    - `progress`: called with a line of text before each step that takes time.
    - `engine`: "rocjitsu" runs it on AMD's emulator too, where that is installed, and compares the two.

    Raises UsageError for a program that cannot be built or emulated, and for an engine that is not installed.
    """
    paths = source_files(files)
    if not gpus:
        raise UsageError(f"no GPU to emulate: name one, such as {DEFAULT_GPU}")
    with clear_errors(paths):
        chosen = [gpu_to_emulate(name) for name in gpus]
        with built_programs(paths, chosen, replace(build, kernels=settings.build), progress) as programs:
            if engine != "kpt":
                return _on_both_engines(programs[0], chosen, arguments, settings, progress)
            return _run_all(list(zip(programs, chosen, strict=True)), arguments, settings, echo, progress)


def emulate_command(
    command: Sequence[str],
    *,
    gpus: Sequence[str] = (DEFAULT_GPU,),
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
    echo: bool = False,
    progress: Say = say_nothing,
    engine: str = "kpt",
) -> EmulationResult:
    """Run any command on each of `gpus`: an interpreter, a test runner, a script. Nothing is built for it.

    What it loads of ROCm, at its start or later, is the emulator's: the runtime and every library. Its kernels are
    translated when they are launched. Raises UsageError for a command that is not there.
    """
    found = shutil.which(command[0])
    if found is None and Path(command[0]).is_file():
        raise UsageError(f"{command[0]}: not executable; `chmod +x` it, or name what runs it: python {command[0]}")
    if found is None:
        raise UsageError(f"{command[0]}: no such program here")
    program = Path(found)
    with clear_errors([program]):
        if engine != "kpt":
            named = [gpu_to_emulate(name) for name in gpus]
            return _on_both_engines(program, named, command[1:], settings, progress, loads_anything=True)
        chosen = [(program, gpu_to_emulate(name)) for name in gpus]
        return _run_all(chosen, command[1:], settings, echo, progress, loads_anything=True)


def _run_all(
    programs: Sequence[tuple[Path, GPU]],
    arguments: Sequence[str],
    settings: RunSettings,
    echo: bool,
    progress: Say,
    loads_anything: bool = False,
) -> EmulationResult:
    def run(program: Path, gpu: GPU) -> Outcome:
        return run_on(program, gpu, arguments, settings, echo, progress, loads_anything)

    runs = [run(program, gpu) for program, gpu in programs]
    found = {}
    again: Outcome | None = None
    for (_, gpu), outcome in list(zip(programs, runs, strict=True))[1:]:
        differ = differences(runs[0], outcome)
        # A second run on the first GPU tells noise (times, addresses) from a difference.
        if differ and again is None:
            again = run(*programs[0])
        if again is not None:
            differ = differences(runs[0], outcome, again)
        found[gpu.name] = tuple(map(str, differ))
    return EmulationResult(tuple(runs), found)


def _on_both_engines(
    program: Path,
    gpus: Sequence[GPU],
    arguments: Sequence[str],
    settings: RunSettings,
    progress: Say,
    loads_anything: bool = False,
) -> EmulationResult:
    """Here and on the second engine; what differs between two runs here is noise and is left out."""
    if len(gpus) != 1:
        raise UsageError("--engine compares two engines on one GPU: name one with --gpu, and leave --compare out")
    launcher = find_launcher(gpus[0])
    progress(f"running on an emulated {gpus[0].name}, here and with {launcher.form}")
    ours = run_on_first(program, arguments, gpus[0], settings, loads_anything)
    theirs = run_on_second(program, arguments, gpus[0], settings, launcher)
    differ = differences(ours, theirs)
    if differ:
        again = run_on_first(program, arguments, gpus[0], settings, loads_anything)
        differ = differences(ours, theirs, again)
    found = list(map(str, differ))
    if not theirs.events.complete:
        found.append("the buffers of the second engine could not be read at the program's end: they were not compared")
    return EmulationResult((ours, theirs), {theirs.gpu: tuple(found)})


def run_on(
    program: Path,
    gpu: GPU,
    arguments: Sequence[str],
    settings: RunSettings,
    echo: bool,
    progress: Say,
    loads_anything: bool = False,
) -> Outcome:
    """Run one executable on one emulated GPU."""
    progress(f"running on an emulated {gpu.name} ({gpu.target.name}, wave {gpu.target.wave_size})")
    if stated := stated_figures(gpu):
        progress(stated)
    return run_program(program, arguments, gpu, settings, echo=echo, loads_anything=loads_anything)


def translate_code_objects(files: Sequence[Path], settings: RunSettings) -> tuple[EmulatedCodeObject, ...]:
    """Translate every kernel of .hsaco files; nothing is run. Raises UsageError for one that cannot be emulated."""
    found = []
    with clear_errors(files):
        for path in files:
            for image in code_object_images(path.read_bytes()):
                described = read_code_object(image.content)
                translate_module(image.content, None, settings.build)
                names = tuple(kernel.name for kernel in described.kernels)
                waits = _missing_waits(image.content) if settings.waits else ()
                found.append(EmulatedCodeObject(str(path), described.target, names, waits))
    return tuple(found)


def _missing_waits(code_object: bytes) -> tuple[tuple[str, str, str], ...]:
    found = translate_to_c(code_object, flags=frozenset({"waits"})).missing_waits
    return tuple(
        (kernel, f"{one.place.file}:{one.place.line}" if one.place and one.place.file else one.text, one.detail)
        for kernel, one in found
    )


def lane_findings(files: Sequence[Path], include_dirs: Sequence[Path]) -> tuple[Finding, ...]:
    """The places of .cu files where lane logic depends on the wave width."""
    found: list[Finding] = []
    for path in files:
        if path.suffix.lower() == ".cu":
            with hipified_tree(path, tuple(include_dirs)) as tree:
                found += [finding for finding in tree.findings if finding.code.startswith("KP3")]
    return tuple(found)


def source_files(files: Path | str | Sequence[Path | str]) -> tuple[Path, ...]:
    """The files as paths. Raises UsageError for one that is not there, or is binary under the name of a source."""
    paths = tuple(map(Path, (files,) if isinstance(files, (str, Path)) else files))
    for path in paths:
        if not path.is_file():
            what = "a folder; name the program's files" if path.is_dir() else "no such file"
            raise UsageError(f"{path}: {what}")
        if path.suffix in (".py", ".sh"):
            runner = "python" if path.suffix == ".py" else "sh"
            raise UsageError(f"{path}: a script; run it with `kpt emulate -- {runner} {path}`")
        if is_binary_source(path):
            raise UsageError(f"{path}: not a text file: nothing a compiler could read")
    return paths


@contextmanager
def clear_errors(files: Sequence[Path]) -> Iterator[None]:
    """A damaged file, a kernel that cannot be translated, a machine that is not set up: each ends in one UsageError."""
    named = ", ".join(map(str, files))
    try:
        yield
    except (CodeObjectError, ElfError, BundleError) as damage:
        raise UsageError(f"{named}: no code object that can be read: {damage}") from damage
    except (TranslationError, AssemblyError, TableError) as refusal:
        raise UsageError(f"{named}: cannot be emulated: {refusal}") from refusal
    except (HostCompileFailed, RuntimeBuildError) as failure:
        raise UsageError(f"{named}: {failure}") from failure
    except BrokenPipeError:
        raise
    except OSError as problem:
        place = problem.filename if problem.filename is not None else named
        kept = default_cache()
        in_cache = kept in (Path(str(place)), *Path(str(place)).parents)
        hint = "; KPT_CACHE_DIR names another folder to keep builds in" if in_cache else ""
        raise UsageError(f"{place}: {problem.strerror or problem}{hint}") from problem
