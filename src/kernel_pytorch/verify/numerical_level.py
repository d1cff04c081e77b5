"""Numerical level: the project's golden records, of models and of programs, replayed here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kernel_pytorch.core.children import KPT_GRACE_S
from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import CheckResult, Status, from_json
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.port.cxx.includes import search_folders
from kernel_pytorch.verify.golden.check import GoldenCheck
from kernel_pytorch.verify.kernels.record_comparison import KernelComparison
from kernel_pytorch.verify.levels import LevelResult
from kernel_pytorch.verify.run_level import emulated_gpu_for
from kernel_pytorch.verify.settings import VerifySettings

NEEDS = (
    "a golden record: on the reference GPU `kpt golden record TARGET --out golden/NAME` (a program: `--program FILE`), "
    'then golden = ["TARGET = golden/NAME"] in [tool.kernel_pytorch.verify]'
)
PROGRAM_SOURCES = (".cu", ".hip")
T = TypeVar("T")


@dataclass(frozen=True)
class Numbers:
    """What the level saw: replays of models, mode by mode, and programs compared kernel by kernel."""

    models: tuple[GoldenCheck, ...] = ()
    programs: tuple[KernelComparison, ...] = ()


def numerical_level(
    root: Path, settings: VerifySettings, targets: Sequence[str], timeout_s: float = 1800.0
) -> tuple[LevelResult, Numbers]:
    """Check every record the project names; each in a process of its own, since the code is the project's."""
    checks: list[CheckResult] = []
    models: list[GoldenCheck] = []
    programs: list[KernelComparison] = []
    for target, folder in settings.golden:
        if target.endswith(PROGRAM_SOURCES):
            for gpu in _emulated(targets):
                check, compared = _program(root, target, folder, gpu, timeout_s)
                checks.append(check)
                programs += compared
        else:
            check, replayed = _model(root, target, folder, timeout_s)
            checks.append(check)
            models += replayed
    level = LevelResult("numerical", tuple(checks), "" if checks else NEEDS)
    return level, Numbers(tuple(models), tuple(programs))


def _emulated(targets: Sequence[str]) -> list[GPU]:
    return [gpu for gpu in map(emulated_gpu_for, targets) if gpu is not None]


def _model(root: Path, target: str, folder: str, timeout_s: float) -> tuple[CheckResult, list[GoldenCheck]]:
    name = f"{target} against {folder}"
    found = _check(root, name, [target, str(root / folder)], timeout_s)
    if isinstance(found, CheckResult):
        return found, []
    results = [_read(GoldenCheck, one) for one in found]
    device = results[0].checked_on.get("device_name", "?")
    if all(one.ok for one in results):
        modes = ", ".join(one.mode for one in results)
        passes = "forward and backward" if all(one.backward.ends for one in results) else "forward only"
        return CheckResult(name, Status.PASS, f"same in {modes}, {passes}; on {device}"), results
    first = next(one for one in results if not one.ok)
    if first.culprits:
        culprit = first.culprits[0]
        text = f"{culprit.module}, {culprit.where}: {culprit.kind}: {culprit.text}"
    elif not first.backward.ok:
        wrong = next(one.event for one in first.backward.ends if not one.ok)
        text = f"backward: {wrong.module}, {wrong.phase}: more than the rounding that piles up before it"
    else:
        text = "the output: more than the noise and rounding that pile up before it"
    return CheckResult(name, Status.FAIL, f"{first.mode}: {text}"), results


def _program(
    root: Path, source: str, folder: str, gpu: GPU, timeout_s: float
) -> tuple[CheckResult, list[KernelComparison]]:
    name = f"{source} against {folder}, emulated at wave {gpu.target.wave_size} ({gpu.target.name})"
    words = [str(root / folder), "--program", str(root / source), "--gpu", gpu.alias, "--repeats", "1"]
    words += [word for place in search_folders(root) if place.is_dir() for word in ("-I", str(place))]
    found = _check(root, name, words, timeout_s)
    if isinstance(found, CheckResult):
        return found, []
    result = _read(KernelComparison, found)
    first = result.first_fault
    if result.ok:
        launches = counted(len(result.launches), "launch", "launches")
        detail = f"{launches}, kernel by kernel the same as on {result.recorded_on}"
        return CheckResult(name, Status.PASS, detail), [result]
    if first is None:
        detail = "some contents are not in the record: raise --max-mb when it is made"
        return CheckResult(name, Status.WARN, detail), [result]
    wrong = [buffer for buffer in first.buffers if not buffer.ok]
    how = f": {wrong[0].kind}: {wrong[0].text}" if wrong else f": {first.text}"
    detail = f"the first kernel that differs: {first.kernel} (launch {first.number}): {first.status}{how}"
    return CheckResult(name, Status.FAIL, detail), [result]


def _check(root: Path, name: str, words: Sequence[str], timeout_s: float) -> Any:
    """The JSON that `kpt golden check` prints; a CheckResult where it printed none."""
    command = python_module("kernel_pytorch", "golden", "check", *words, "--json")
    paths = [str(root), os.environ.get("PYTHONPATH", "")]  # the level runs the project's code
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in paths if part)}
    try:
        done = run_child(command, cwd=root, env=environment, timeout_s=timeout_s, grace_s=KPT_GRACE_S)
    except subprocess.TimeoutExpired:
        return CheckResult(name, Status.FAIL, f"did not end within {timeout_s:g} s")
    if done.returncode == 2 or not done.stdout:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return CheckResult(name, Status.NOT_RUN, lines[-1] if lines else f"ended with status {done.returncode}")
    # Whatever the model prints while it is built comes before the last line.
    return json.loads(done.stdout.splitlines()[-1])


def _read(kind: type[T], plain: dict[str, Any]) -> T:
    return from_json(kind, json.dumps({key: value for key, value in plain.items() if key != "ok"}))
