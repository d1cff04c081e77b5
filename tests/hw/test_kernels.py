"""The Triton kernels on a real GPU against fp64, with the checks that Triton's interpreter passes elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("gpu")


def test_kernels_agree_with_fp64() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-m", "tests.models.kernels.interpreted_checks", "cuda"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    errors = json.loads(done.stdout)
    assert len(errors) >= 50
    assert {name: error for name, error in errors.items() if not error < 1} == {}
