"""The index of benchmarks names every script, and no script that is not there."""

from __future__ import annotations

import re
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_the_index_names_every_script() -> None:
    named = set(re.findall(r"`(\w+\.py)`", (BENCHMARKS / "README.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in BENCHMARKS.glob("*.py")}
