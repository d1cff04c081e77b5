"""The same program on a second, independent emulator: AMD's rocjitsu, where it is installed.

rocjitsu stands below ROCm's own libraries, so that a ROCm installation has to be there too. Its launcher has changed
more than once; what is on this machine is asked for its help text and called in the form that it has:

    rocjitsu run --profile mi300x -- PROGRAM       mirage run --profile mi300x -- PROGRAM
    rocjitsu --config CONFIG -- PROGRAM            LD_PRELOAD=librocjitsu... RJ_CONFIG=CONFIG PROGRAM
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.whole_file import whole_file
from kernel_pytorch.emulate.events import read_events
from kernel_pytorch.emulate.host_compiler import find_host_compiler
from kernel_pytorch.emulate.run import Outcome, RunSettings, run_command, run_program

_PROBE = Path(__file__).resolve().parent / "native" / "second_engine" / "buffers.c"
_ROOTS = ("ROCJITSU_HOME", "ROCM_PATH", "ROCM_HOME")
_WITH_PROBE = 'LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$KPT_ENGINE_PROBE" exec "$@"'


@dataclass(frozen=True)
class Launcher:
    """How a program is started on the other engine: words before it, and what its environment needs."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    form: str  # for people


def find_launcher(gpu: GPU, environ: Mapping[str, str] | None = None) -> Launcher:
    """The launcher of this machine for a GPU. Raises UsageError that says what was looked for."""
    given = os.environ if environ is None else environ
    path = given.get("PATH", "")
    profile = given.get("KPT_ROCJITSU_PROFILE", gpu.name.lower().replace(" ", ""))
    for name in ("rocjitsu", "mirage"):
        program = shutil.which(name, path=path)
        if program is None:
            continue
        if "--profile" in _help([program, "run", "--help"]):
            return Launcher((program, "run", "--profile", profile, "--"), {}, f"{name} run --profile {profile}")
        if "--config" in _help([program, "--help"]):
            config = _config(gpu, given, Path(program).resolve().parents[1])
            return Launcher((program, "--config", str(config), "--"), {}, f"{name} --config {config.name}")
    for root in (given.get(name) for name in _ROOTS):
        for library in sorted(Path(root, "lib").glob("librocjitsu*.so")) if root else ():
            config = _config(gpu, given, Path(root or "."))
            preload = ":".join(part for part in (given.get("LD_PRELOAD", ""), str(library)) if part)
            return Launcher((), {"LD_PRELOAD": preload, "RJ_CONFIG": str(config)}, f"LD_PRELOAD={library.name}")
    raise UsageError(
        "rocjitsu is not on this machine: no `rocjitsu` or `mirage` on PATH that takes --profile or --config, and no "
        f"lib/librocjitsu*.so under {', '.join(_ROOTS)}. It comes with ROCm's nightly packages (TheRock); leave "
        "--engine out to use the emulator that is here"
    )


def _help(command: Sequence[str]) -> str:
    try:
        done = run_child(list(command), timeout_s=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _config(gpu: GPU, environ: Mapping[str, str], prefix: Path) -> Path:
    """A configuration for the GPU: KPT_ROCJITSU_CONFIG, RJ_CONFIG, or one of the installation for its target."""
    for name in ("KPT_ROCJITSU_CONFIG", "RJ_CONFIG"):
        if environ.get(name):
            path = Path(environ[name])
            if not path.is_file():
                raise UsageError(f"{name}={path}: no such file")
            return path
    for folder in (prefix / "share" / "rocjitsu" / "configs", prefix / "configs"):
        found = sorted(folder.glob(f"{gpu.target.name}*.json"))
        if found:
            return found[0]
    raise UsageError(
        f"rocjitsu wants a configuration for {gpu.target.name} and none was found under {prefix}: name one in "
        "KPT_ROCJITSU_CONFIG"
    )


def probe_library() -> Path:
    """The library that notes a program's device buffers, built if the cache lacks it."""
    compiler = find_host_compiler()
    digest = hashlib.sha256(_PROBE.read_bytes() + compiler.version.encode()).hexdigest()[:16]
    path = default_cache() / f"second-engine-{digest}.so"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as built:
            command = [*compiler.command, "-O2", "-shared", "-fPIC", "-o", str(built), str(_PROBE), "-ldl", "-lpthread"]
            done = run_child(command, timeout_s=300)
            if done.returncode != 0:
                raise UsageError(f"{_PROBE.name} does not compile here:\n{done.stderr}")
    return path


def with_probe(report: Path) -> tuple[str, ...]:
    """Words before a program that put the library into it, beside whatever a launcher puts there."""
    told = (f"KPT_ENGINE_PROBE={probe_library()}", f"KPT_ENGINE_REPORT={report}")
    return ("/usr/bin/env", *told, "/bin/sh", "-c", _WITH_PROBE, "sh")


def run_on_second(
    executable: Path, arguments: Sequence[str], gpu: GPU, settings: RunSettings, launcher: Launcher
) -> Outcome:
    """Run an executable on the other engine. Its buffers are those the program had at its end."""
    with tempfile.TemporaryDirectory(prefix="kpt-engine-") as scratch:
        report = Path(scratch) / "report.jsonl"
        environment = {**os.environ, **launcher.environment}
        command = [*launcher.words, *with_probe(report), str(executable.absolute()), *arguments]
        plain = replace(settings, under=())
        started = time.monotonic()
        code, out, err = run_command(command, environment, plain, None, echo=False)
        events = read_events(report)
        return Outcome(f"{gpu.name} (rocjitsu)", code, out, err, time.monotonic() - started, events)


def run_on_first(
    executable: Path, arguments: Sequence[str], gpu: GPU, settings: RunSettings, loads_anything: bool
) -> Outcome:
    """Run it here, with the buffers that the library noted: they are numbered as on the other engine."""
    with tempfile.TemporaryDirectory(prefix="kpt-engine-") as scratch:
        report = Path(scratch) / "report.jsonl"
        probed = replace(settings, under=with_probe(report))
        outcome = run_program(executable, arguments, gpu, probed, loads_anything=loads_anything)
        return replace(outcome, events=replace(outcome.events, buffers=read_events(report).buffers))
