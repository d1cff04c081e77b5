"""Runs a program that was built from source, and says what it did in the words of the machine-code mode."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.emulate.run import Outcome, RunSettings, run_command
from kernel_pytorch.emulate.source.build import SourceProgram
from kernel_pytorch.emulate.source.report import source_events

NAME = "CUDA source (warp 32)"


def run_source(
    program: SourceProgram,
    arguments: Sequence[str],
    settings: RunSettings = RunSettings(),  # noqa: B008 (frozen)
    seed: int = 1,
    directory: Path | None = None,
    echo: bool = False,
) -> Outcome:
    """Run it. `seed` decides the order in which threads run; the same seed on one CPU thread gives the same run."""
    with tempfile.TemporaryDirectory(prefix="kpt-source-") as scratch:
        report = Path(scratch) / "report.jsonl"
        environment = {
            **os.environ,
            "KPT_EMULATE_FLAGS": settings.flags,
            "KPT_EMULATE_WATCHDOG_S": f"{settings.watchdog_s:g}",
            "KPT_EMULATE_REPORT": str(report),
            "KPT_EMULATE_SEED": str(seed),
        }
        if settings.threads is not None:
            environment["KPT_EMULATE_THREADS"] = str(settings.threads)
        if settings.memory_gb is not None:
            environment["KPT_EMULATE_MEMORY_GB"] = f"{settings.memory_gb:g}"
        started = time.monotonic()
        command = [str(program.executable.resolve()), *arguments]
        code, out, err = run_command(command, environment, settings, directory, echo)
        return Outcome(NAME, code, out, err, time.monotonic() - started, source_events(report, program))
