"""Run level: programs, tests and entry points on emulated GPUs; entry points on the CPU with ROCm stood in for too."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pytorch.core.children import KPT_GRACE_S
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.hardware import GPU, usual_gpu
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.port.cxx.includes import search_folders
from kernel_pytorch.verify.isolation.trees import FolderTree, Tree
from kernel_pytorch.verify.levels import LevelResult
from kernel_pytorch.verify.project_tests import check_tests, where_it_ran
from kernel_pytorch.verify.settings import VerifySettings

NEEDS = (
    "a driver: name self-checking programs, entry points or tests in [tool.kernel_pytorch.verify] of pyproject.toml "
    '(programs = ["csrc/selfcheck.cu"], entry_points = ["package.module:function"], tests = ["tests"])'
)


@dataclass(frozen=True)
class Scenario:
    """A machine that is stood in for while an entry point runs on the CPU. `hip` None is the NVIDIA path."""

    name: str
    target: str = ""
    gpu: str = ""  # the product whose name and figures the device shows
    hip: str | None = None
    aiter: bool = False
    emulated: str = ""  # not the CPU: torch's "cuda" device is this GPU, emulated


SCENARIOS = (
    Scenario("as it is"),
    Scenario("gfx942, no aiter", "gfx942:sramecc+:xnack-", "mi300x", "7.1.52802"),
    Scenario("gfx942, aiter present", "gfx942:sramecc+:xnack-", "mi300x", "7.1.52802", aiter=True),
    Scenario("gfx1100, no aiter", "gfx1100", "rx7900xtx", "7.1.52802"),
)


def run_level(
    root: Path,
    settings: VerifySettings,
    targets: Sequence[str],
    timeout_s: float = 600.0,
    before: Tree | None = None,
) -> LevelResult:
    """Run everything the project names. Nothing named: the level is not run, and says what it needs.

    `before` is the project before the port: its tests run too, and what passed there must pass now.
    """
    checks = [check for program in settings.programs for check in _programs(root, program, targets, timeout_s)]
    for entry in settings.entry_points:
        checks += _entry_point(root, entry, settings.iterations, targets, timeout_s)
    if settings.tests:
        checks += _tests(root, before, settings.tests, targets, timeout_s)
    return LevelResult("run", tuple(checks), "" if checks else NEEDS)


def emulated_gpu_for(target: str) -> GPU | None:
    """The usual product of the hardware table that has this target."""
    return usual_gpu(target)


def _tests(
    root: Path, before: Tree | None, tests: Sequence[str], targets: Sequence[str], timeout_s: float
) -> list[CheckResult]:
    missing = [module for module in ("torch", "pytest") if importlib.util.find_spec(module) is None]
    found = {target: emulated_gpu_for(target) for target in targets}
    not_run = []
    for target, gpu in found.items():
        reason = "no GPU of the table has this target" if gpu is None else ""
        if missing:
            reason = f"{missing[0]} is not installed: pip install {missing[0]}"
        if reason:
            not_run.append(CheckResult(f"{' '.join(tests)} on {target}", Status.NOT_RUN, reason))
    gpus = [gpu for gpu in found.values() if gpu is not None and not missing]
    return [*not_run, *check_tests(FolderTree(root), before, tests, gpus, timeout_s)]


def _programs(root: Path, program: str, targets: Sequence[str], timeout_s: float) -> list[CheckResult]:
    checks = []
    for target in targets:
        gpu = emulated_gpu_for(target)
        if gpu is None:
            checks.append(CheckResult(f"{program} on {target}", Status.NOT_RUN, "no GPU of the table has this target"))
        else:
            checks.append(_program(root, program, gpu, timeout_s))
    return checks


def _program(root: Path, program: str, gpu: GPU, timeout_s: float) -> CheckResult:
    name = f"{program} emulated at wave {gpu.target.wave_size} ({gpu.target.name})"
    command = python_module("kernel_pytorch", "emulate", str(root / program), "--gpu", gpu.alias, "--json")
    command += [word for folder in search_folders(root) if folder.is_dir() for word in ("-I", str(folder))]
    try:
        done = run_child(command, timeout_s=timeout_s, grace_s=KPT_GRACE_S)
    except subprocess.TimeoutExpired:
        return CheckResult(name, Status.FAIL, f"did not end within {timeout_s:g} s")
    if done.returncode == 2 or not done.stdout:
        return CheckResult(name, Status.NOT_RUN, _last_line(done.stderr))
    (run,) = json.loads(done.stdout)["runs"]
    launches = f"{len(run['events']['launches'])} launches"
    if run["ok"]:
        return CheckResult(name, Status.PASS, f"exit 0, {launches}, no faults; emulated, not run on a GPU")
    faults = [f"{fault['kind']} at {fault['file']}:{fault['line']}" for fault in run["events"]["faults"][:3]]
    reason = "; ".join(faults) or _last_line(run["stdout"]) or _last_line(run["stderr"])
    return CheckResult(name, Status.FAIL, f"exit {run['exit_code']}, {launches}: {reason}")


def _entry_point(
    root: Path, entry: str, iterations: int, targets: Sequence[str], timeout_s: float
) -> list[CheckResult]:
    checks = []
    plain: dict[str, Any] | None = None
    emulated = [gpu for target in targets if (gpu := emulated_gpu_for(target)) is not None]
    on_gpus = [
        Scenario(f"on an emulated {gpu.name} (wave {gpu.target.wave_size})", emulated=gpu.alias) for gpu in emulated
    ]
    for scenario in (*SCENARIOS, *on_gpus):
        name = f"{entry} {scenario.name}" if scenario.emulated else f"{entry} on the CPU, {scenario.name}"
        answer = _worker(root, entry, scenario, iterations if scenario.hip else 1, timeout_s)
        if "error" in answer:
            status = Status.NOT_RUN if answer.get("not_here") else Status.FAIL
            checks.append(CheckResult(name, status, answer["error"]))
            continue
        checks.append(_judged(name, answer, plain))
        plain = plain or answer
    return checks


def _judged(name: str, answer: dict[str, Any], plain: dict[str, Any] | None) -> CheckResult:
    if answer["not_finite"]:
        return CheckResult(name, Status.FAIL, f"{answer['not_finite']} values are NaN or infinite")
    if answer["growth_mb"] > 64:
        detail = f"memory grew by {answer['growth_mb']:.0f} MB over {answer['iterations']} iterations"
        return CheckResult(name, Status.WARN, detail)
    difference = _difference(answer["summary"], plain["summary"]) if plain is not None else 0.0
    if difference > 1e-2:
        return CheckResult(
            name, Status.FAIL, f"the ROCm branch gives other results than the original: {difference:.2g}"
        )
    gates = f"; ROCm branches taken: {answer['gates']}" if answer["gates"] else ""
    ran = f"; {answer['ran']}" if "ran" in answer else ""
    return CheckResult(
        name, Status.PASS, f"{answer['iterations']} iterations, finite, memory steady; {answer['backward']}{gates}{ran}"
    )


def _difference(here: list[list[float]], there: list[list[float]]) -> float:
    """The largest relative difference of the outputs' norms, means and first values."""
    if len(here) != len(there):
        return float("inf")
    worst = 0.0
    for left, right in zip(here, there, strict=True):
        scale = max((abs(value) for value in right), default=0.0) or 1.0
        worst = max([worst, *(abs(a - b) / scale for a, b in zip(left, right, strict=False))])
    return worst


def _worker(root: Path, entry: str, scenario: Scenario, iterations: int, timeout_s: float) -> dict[str, Any]:
    request: dict[str, Any] = {
        "entry": entry, "hip": scenario.hip, "target": scenario.target, "gpu": scenario.gpu, "aiter": scenario.aiter,
        "device": "cuda" if scenario.emulated else "",
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="kpt-verify-") as scratch:
        answer = Path(scratch) / "answer.json"
        request |= {"iterations": iterations, "answer": str(answer)}
        paths = [str(root), os.environ.get("PYTHONPATH", "")]
        command = python_module("kernel_pytorch.verify.stand_in_worker", json.dumps(request))
        if scenario.emulated:
            command = python_module("kernel_pytorch", "emulate", "--gpu", scenario.emulated, "--json", "--", *command)
        try:
            done = run_child(
                command,
                cwd=root,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(part for part in paths if part)},
                timeout_s=timeout_s,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"did not end within {timeout_s:g} s"}
        if not answer.is_file():
            return {"error": f"ended with status {done.returncode}: {_last_line(done.stderr)}"}
        plain: dict[str, Any] = json.loads(answer.read_text())
        if scenario.emulated and done.stdout.strip():
            plain["ran"] = where_it_ran(json.loads(done.stdout)["runs"][0]["events"])
        return plain


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "said nothing"
