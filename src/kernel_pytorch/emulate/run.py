"""Runs a HIP program on an emulated GPU.

The program is an ordinary executable that was linked against HIP: it is started with our `libamdhip64.so` first in
the loader's search path and with the chosen GPU, the cache of translated kernels and the settings in its environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child_bytes
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.emulate import on_call
from kernel_pytorch.emulate.compile_server import compile_server
from kernel_pytorch.emulate.device_properties import write_device_properties
from kernel_pytorch.emulate.driver_files import with_driver_files
from kernel_pytorch.emulate.events import Events, read_events
from kernel_pytorch.emulate.libraries import library_directory, needed_libraries
from kernel_pytorch.emulate.outside import with_rocm
from kernel_pytorch.emulate.rocm_for_builds import fill_rocm
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.emulate.torch_builds import with_torch_builds
from kernel_pytorch.emulate.torch_device.environment import with_torch_device
from kernel_pytorch.emulate.translate import module_cache

GDB_COMMANDS = Path(__file__).resolve().parent / "native" / "lanes.gdb"


@dataclass(frozen=True)
class RunSettings:
    """How to run. `checked` finds memory faults, `races` data races, `waits` values used before their wait, `counted`
    counts what a profiler would, `debug` keeps source lines in translated code for a debugger."""

    checked: bool = False
    races: bool = False
    counted: bool = False
    waits: bool = False
    debug: bool = False
    quick: bool = False  # kernels compiled without optimisation
    shuffle_blocks: bool = False
    threads: int | None = None
    watchdog_s: float = 60.0
    memory_gb: float | None = None
    devices: int = 1
    timeout_s: float | None = None
    cpu_s: float | None = None  # of the program itself, all its threads together; not of translating its kernels
    whole_pages: bool = False  # as a driver gives them: an overrun within the last page goes unseen, one of LDS too
    quiet_faults: bool = False  # the caller shows the faults of the report: the runtime need not say them too
    real_libraries: Path | None = None  # a folder with the vendor's own rocBLAS and so on; their kernels are emulated
    under: tuple[str, ...] = ()  # a debugger or checker that the program is started with: gdb --args, valgrind

    @property
    def flags(self) -> str:
        """The comma list of KPT_EMULATE_FLAGS."""
        chosen = {
            "checked": self.checked,
            "races": self.races,
            "counted": self.counted,
            "waits": self.waits,
            "debug": self.debug,
            "quick": self.quick,
            "shuffle-blocks": self.shuffle_blocks,
            "whole-pages": self.whole_pages,
            "quiet-faults": self.quiet_faults,
        }
        return ",".join(name for name, on in chosen.items() if on)

    @property
    def build(self) -> str:
        """Which build of a translated kernel these settings need: plain, or some of the translator's FLAGS."""
        wanted = {
            "checked": self.checked or self.races,
            "counted": self.counted,
            "debug": self.debug,
            "quick": self.quick,
            "waits": self.waits,
        }
        return "-".join(name for name, on in wanted.items() if on) or "plain"


@dataclass(frozen=True)
class Outcome:
    """How one run ended. `exit_code` is negative for a signal, None after `timeout_s` or `cpu_s`."""

    gpu: str
    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    events: Events

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.events.faults


def run_program(
    executable: Path,
    arguments: Sequence[str],
    gpu: GPU,
    settings: RunSettings = RunSettings(),
    directory: Path | None = None,
    echo: bool = False,
    loads_anything: bool = False,
) -> Outcome:
    """Run an executable on the emulated GPU. `echo` lets its output through instead of collecting it.

    `loads_anything`: what libraries the program will want cannot be seen in its file; it gets all of them.
    """
    if not executable.is_file() or not os.access(executable, os.X_OK):
        raise UsageError(
            f"{executable}: not an executable file; give .hip or .cu sources, or a program that `chmod +x` made one"
        )
    with tempfile.TemporaryDirectory(prefix="kpt-emulate-") as scratch:
        report = Path(scratch) / "report.jsonl"
        libraries = None if loads_anything else needed_libraries(executable)
        environment = emulation_environment(gpu, settings, Path(scratch), report, libraries)
        started = time.monotonic()
        # Its own name, not where a link leads: a virtual environment's python is a link.
        command = [str(executable.absolute()), *arguments]
        with compile_server(Path(scratch)) as server:
            code, out, err = run_command(command, {**environment, **server}, settings, directory, echo)
        return Outcome(gpu.name, code, out, err, time.monotonic() - started, read_events(report))


def emulation_environment(
    gpu: GPU, settings: RunSettings, scratch: Path, report: Path | None, libraries: Sequence[str] | None = ()
) -> Mapping[str, str]:
    """The environment in which a HIP program finds the emulated GPU instead of a real one.

    `libraries` are the math libraries it needs: only those are built. None: it may want anything, so that it gets all
    of them, and ROCm's tools.
    """
    properties = scratch / "gpu.json"
    write_device_properties(gpu, properties, devices=settings.devices)
    # Ours first: a ROCm of this machine must not be picked up by a program that is meant to be emulated.
    runtime = runtime_directory()
    real = "" if settings.real_libraries is None else str(settings.real_libraries.absolute())
    search = [str(runtime), real, str(library_directory(libraries)), os.environ.get("LD_LIBRARY_PATH", "")]
    outside = dict(os.environ)
    if libraries is None:
        rocm = with_rocm(os.environ, gpu, settings.devices)
        fill_rocm(Path(rocm["ROCM_HOME"]))
        with_builds = with_torch_builds(rocm, gpu)
        outside = with_torch_device(with_builds, gpu, runtime)
        outside = with_driver_files(outside, gpu, settings.devices, scratch / "driver")
        # After the others: torch's libraries for extensions, once something has been built against them.
        search.insert(3, f"{outside['ROCM_HOME']}/lib")
    environment = {
        **outside,
        "LD_LIBRARY_PATH": ":".join(part for part in search if part),
        "KPT_EMULATE_GPU": str(properties),
        "KPT_EMULATE_CACHE": str(module_cache()),
        "KPT_EMULATE_TRANSLATE": " ".join(python_module("kernel_pytorch.emulate.translate")),
        "KPT_EMULATE_COMPILE": " ".join(python_module("kernel_pytorch.emulate.runtime_compile")),
        on_call.COMMAND: on_call.command_words(),
        "KPT_EMULATE_FLAGS": settings.flags,
        "KPT_EMULATE_WATCHDOG_S": f"{settings.watchdog_s:g}",
    }
    if report is not None:
        environment["KPT_EMULATE_REPORT"] = str(report)
    if settings.threads is not None:
        environment["KPT_EMULATE_THREADS"] = str(settings.threads)
    if settings.memory_gb is not None:
        environment["KPT_EMULATE_MEMORY_GB"] = f"{settings.memory_gb:g}"
    return environment


def run_command(
    command: list[str], environment: Mapping[str, str], settings: RunSettings, directory: Path | None, echo: bool
) -> tuple[int | None, str, str]:
    """Exit status (None: stopped at the time limit), standard output and error. With `echo` both go to the terminal."""
    require_project_code(command[0])
    pipe = None if echo else subprocess.PIPE
    try:
        done = run_child_bytes(
            [*under_words(settings.under), *command],
            timeout_s=settings.timeout_s,
            env=environment,
            cwd=directory,
            stdin=None,
            stdout=pipe,
            stderr=pipe,
            own_group=not settings.under,  # a debugger wants the terminal, and so our group
            cpu_s=settings.cpu_s,
        )
    except subprocess.TimeoutExpired as late:
        return None, _text(late.output), _text(late.stderr)
    except OSError as problem:
        raise UsageError(f"{command[0]}: cannot be started ({problem.strerror})") from problem
    stopped = settings.cpu_s is not None and done.returncode == -signal.SIGXCPU
    return None if stopped else done.returncode, _text(done.stdout), _text(done.stderr)


def is_gdb(under: Sequence[str]) -> bool:
    """Whether a program is started under gdb, for which kernels keep their source lines."""
    return bool(under) and Path(under[0]).name.startswith("gdb")


def under_words(under: Sequence[str]) -> list[str]:
    """The command a program is started under; gdb learns commands for waves and lanes first."""
    return [under[0], "-x", str(GDB_COMMANDS), *under[1:]] if is_gdb(under) else list(under)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", errors="replace")
