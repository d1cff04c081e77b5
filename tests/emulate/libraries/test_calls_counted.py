"""Calls that a stand-in computes are counted by the name of the function that the program called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main

SOURCE = """#include <hip/hip_runtime.h>
#include <hiprand/hiprand.h>
int main() {
  float *x;
  hiprandGenerator_t g;
  if (hipMalloc(&x, 4096) != hipSuccess || hiprandCreateGenerator(&g, HIPRAND_RNG_PSEUDO_DEFAULT)) return 2;
  int bad = hiprandGenerateUniform(g, x, 1024) + hiprandGenerateUniform(g, x, 1024);
  return bad + hiprandGenerateNormal(g, x, 1024, 0, 1);
}
"""


def test_calls_of_stand_ins_are_counted_by_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "numbers.hip"
    source.write_text(SOURCE)
    assert main(["emulate", str(source), "-l", "hiprand", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["events"]["fidelity"]["stand_in_calls"] == {"hiprandGenerateNormal": 1, "hiprandGenerateUniform": 2}
