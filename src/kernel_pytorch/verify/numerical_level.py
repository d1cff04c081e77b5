"""Numerical level: the project's golden records, replayed here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.verify.levels import LevelResult
from kernel_pytorch.verify.settings import VerifySettings

NEEDS = (
    "a golden record: on the reference GPU `kpt golden record TARGET --out golden/NAME`, then "
    'golden = ["TARGET = golden/NAME"] in [tool.kernel_pytorch.verify]'
)


def numerical_level(root: Path, settings: VerifySettings, timeout_s: float = 1800.0) -> LevelResult:
    """Check every record the project names; each in a process of its own, since model code is the project's."""
    checks = tuple(_check(root, target, folder, timeout_s) for target, folder in settings.golden)
    return LevelResult("numerical", checks, "" if checks else NEEDS)


def _check(root: Path, target: str, folder: str, timeout_s: float) -> CheckResult:
    name = f"{target} against {folder}"
    command = [sys.executable, "-m", "kernel_pytorch", "golden", "check", target, str(root / folder), "--json"]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in paths if part)}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return CheckResult(name, Status.FAIL, f"did not end within {timeout_s:g} s")
    if done.returncode == 2 or not done.stdout:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return CheckResult(name, Status.NOT_RUN, lines[-1] if lines else f"ended with status {done.returncode}")
    results = json.loads(done.stdout)
    device = results[0]["checked_on"].get("device_name", "?")
    if all(one["ok"] for one in results):
        return CheckResult(name, Status.PASS, f"same in {', '.join(one['mode'] for one in results)}; on {device}")
    first = next(one for one in results if not one["ok"])
    culprit = first["culprits"][0] if first["culprits"] else {"module": "the output", "kind": "noise", "text": ""}
    return CheckResult(name, Status.FAIL, f"{first['mode']}: {culprit['module']}: {culprit['kind']}: {culprit['text']}")
