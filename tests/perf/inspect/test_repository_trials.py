"""Kernels of a repository are compiled in processes of their own: a crash or an endless compile is one kernel's."""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path

from kernel_pytorch.core.findings import to_json
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.inspect.find_kernels import FoundKernel
from kernel_pytorch.perf.inspect.repository import UserKernel
from kernel_pytorch.perf.inspect.trials import Trial, run_side_by_side

KERNEL = FoundKernel("kernels.py", 3, "scale")


def good(answer: Path) -> None:
    answer.write_text(to_json(UserKernel("gfx942", "kernels.py", 3, "scale", {}, {}, (), 1, None, "")))


def crashes(answer: Path) -> None:
    faulthandler.disable()  # pytest's: a page of stack in the middle of a run that passes
    os.kill(os.getpid(), signal.SIGSEGV)


def runs_out_of_time(answer: Path) -> None:
    os.kill(os.getpid(), signal.SIGXCPU)


def runs_out_after_an_attempt(answer: Path) -> None:
    answer.write_text(to_json(UserKernel("gfx942", "kernels.py", 3, "scale", {}, {}, (), 0, "no", "signature")))
    os.kill(os.getpid(), signal.SIGXCPU)


def test_each_ends_as_its_own_process_did(tmp_path: Path) -> None:
    works = (good, crashes, runs_out_of_time, runs_out_after_an_attempt)
    trials = [Trial(KERNEL, tmp_path / f"{number}.json", (work,)) for number, work in enumerate(works)]
    run_side_by_side(trials)
    outcomes = [trial.outcome(gpu_by_alias("mi300x")) for trial in trials]
    assert [one.cause for one in outcomes] == ["", "compiler", "time", "signature"]
    assert outcomes[1].failure == f"the compiler ended with status -{int(signal.SIGSEGV)}"


def test_one_that_never_ends_is_ended(tmp_path: Path) -> None:
    trial = Trial(KERNEL, tmp_path / "a.json", (lambda answer: signal.pause(),))
    trial.start()
    trial.deadline = 0.0
    assert trial.has_ended()
    assert trial.outcome(gpu_by_alias("mi300x")).cause == "time"


def test_what_takes_too_long_is_tried_with_smaller_constants(tmp_path: Path) -> None:
    trials = [
        Trial(KERNEL, tmp_path / "good.json", (runs_out_of_time, good)),
        Trial(KERNEL, tmp_path / "never.json", (runs_out_of_time, runs_out_of_time)),
        Trial(KERNEL, tmp_path / "answered.json", (runs_out_after_an_attempt, good)),
    ]
    run_side_by_side(trials)
    outcomes = [trial.outcome(gpu_by_alias("mi300x")) for trial in trials]
    assert [one.cause for one in outcomes] == ["", "time", "signature"]
    assert "with usual and with small constants: name them in --spec" in str(outcomes[1].failure)
