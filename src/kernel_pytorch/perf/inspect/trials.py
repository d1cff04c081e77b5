"""One process for each kernel of a repository, as many at a time as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from kernel_pytorch.core.findings import from_json
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.perf.inspect.find_kernels import FoundKernel
from kernel_pytorch.perf.inspect.repository import UserKernel

LIMIT_CPU_S, LIMIT_S = 60, 400
NEWS_EVERY_S = 10.0


@dataclass
class Trial:
    """One kernel in a process of its own: with unlucky constants the compiler may take for ever, or crash.

    `works` are tried in turn, the next one where the last took too long and had no answer."""

    found: FoundKernel
    answer: Path
    works: tuple[Callable[[Path], None], ...]
    tried: int = 0
    process: BaseProcess = field(init=False, repr=False, compare=False)
    deadline: float = 0.0

    def start(self) -> None:
        """Begin, in a copy of this process: the modules are imported and the GPU is stood in for."""
        self.process = multiprocessing.get_context("fork").Process(target=self.works[self.tried], args=(self.answer,))
        self.deadline = time.monotonic() + LIMIT_S
        self.process.start()

    def has_ended(self) -> bool:
        """Whether it is over; a process that is past its time is ended."""
        if self.process.is_alive() and time.monotonic() > self.deadline:
            self.process.kill()
            self.process.join()
        if self.process.is_alive():
            return False
        if self._took_too_long() and not self.answer.exists() and self.tried + 1 < len(self.works):
            self.tried += 1
            self.start()
            return False
        return True

    def _took_too_long(self) -> bool:
        return self.process.exitcode in (-signal.SIGKILL, -signal.SIGXCPU)

    def outcome(self, gpu: GPU) -> UserKernel:
        """The best attempt that came to its end."""
        if self.answer.exists():
            return from_json(UserKernel, self.answer.read_text(encoding="utf-8"))
        why, cause = f"the compiler ended with status {self.process.exitcode}", "compiler"
        if self._took_too_long():
            tries = f"{LIMIT_CPU_S} s of work" + (" each with usual and with small" if self.tried else " with usual")
            why, cause = f"not compiled after {tries} constants: name them in --spec", "time"
        return not_compiled(self.found, gpu, why, cause)


def not_compiled(found: FoundKernel, gpu: GPU, why: str, cause: str) -> UserKernel:
    """The answer about a kernel of which no configuration came out."""
    return UserKernel(
        gpu.target.name, found.path, found.line, found.name,
        signature={}, assumed={}, configurations=(), fitting=0, failure=why, cause=cause,
    )  # fmt: skip


def run_side_by_side(trials: list[Trial], tell: Callable[[str], None] = lambda text: None) -> None:
    """As many at a time as there are cores. `tell` hears of the progress, not of every kernel."""
    waiting, running, heard, said = list(trials), list[Trial](), time.monotonic(), 0
    while waiting or running:
        running = [trial for trial in running if not trial.has_ended()]
        done = len(trials) - len(waiting) - len(running)
        if done != said and time.monotonic() - heard > NEWS_EVERY_S:
            heard, said = time.monotonic(), done
            tell(f"{done} of {len(trials)} kernels done")
        while waiting and len(running) < len(os.sched_getaffinity(0)):
            trial = waiting.pop(0)
            trial.start()
            running.append(trial)
        time.sleep(0.05)
