"""Every kernel in Triton's interpreter, forward and backward, against fp64."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

ROOT = Path(__file__).parents[3]


def run_interpreted(module: str) -> str:
    """What a module of this folder prints where Triton interprets, which it decides when it is imported."""
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", f"tests.models.kernels.{module}"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def errors() -> dict[str, float]:
    found: dict[str, float] = json.loads(run_interpreted("interpreted_checks"))
    return found


@pytest.mark.parametrize(
    ("family", "least"),
    [("rms_norm", 10), ("layer_norm", 7), ("long rows", 4), ("backward", 4), ("silu", 7), ("gelu", 14), ("rope", 7)],
)
def test_kernels_agree_with_fp64(errors: dict[str, float], family: str, least: int) -> None:
    mine = {name: error for name, error in errors.items() if family in name}
    assert len(mine) >= least
    assert {name: error for name, error in mine.items() if not error < 1} == {}


def test_every_check_passed(errors: dict[str, float]) -> None:
    assert len(errors) >= 50
    assert {name: error for name, error in errors.items() if not error < 1} == {}
