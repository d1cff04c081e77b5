"""The generated module: readable, and it does exactly the same in a process that knows nothing of the climb."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.clock.in_turns import Comparison
from kernel_pytorch.perf.ladder.generate import environment_block, module_text, write_result
from kernel_pytorch.perf.ladder.ledger import KEPT, Attempt, Entry, Ledger
from kernel_pytorch.perf.ladder.optimize import optimize
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, Step
from tests.perf.ladder.made import FakeMeasure, model_rung, shallow, wrap_rung

COMPARISON = Comparison(8.0, 4.0, 0.5, 0.49, 0.51, "faster", 10)
FUSE = model_rung("fuse", lambda m, i, o: shallow(m))
COMPILE = wrap_rung("compile", lambda f, i, o: f)
VARIABLES = EnvironmentRung("variables", 1, "v", lambda m, i: "", lambda m, i, k: ())
KNOWN = (VARIABLES, COMPILE, FUSE)
RECIPE = (
    Step("variables", {"HIP_FORCE_DEV_KERNARG": "1", "ODD": "a b'c"}),
    Step("compile", {"inductor": {"coordinate_descent_tuning": True}, "modes": ["x" * 60, "y" * 60]}),
    Step("fuse"),
)
LEDGER = Ledger(
    'we"""ird\\file.py:make', {"torch": "2.13", "device": "gpu: AMD"}, {},
    (Entry("fuse", 3, "fused\nthings", "model", KEPT, "8 -> 4 ms", attempts=(Attempt({}, KEPT, "", COMPARISON),)),),
    total=COMPARISON, when="2026",
)  # fmt: skip


def test_the_module_parses_and_holds_the_recipe(tmp_path: Path) -> None:
    text = module_text(LEDGER, RECIPE, KNOWN)
    ast.parse(text)
    assert max(map(len, text.splitlines())) <= 140
    assert "# level 3, fused things: 8 -> 4 ms" in text
    names: dict[str, object] = {}
    exec(compile(text, "optimized.py", "exec"), names)
    assert names["STEPS"] == RECIPE[1:]
    assert names["ENVIRONMENT"] == RECIPE[0].options


def test_the_environment_block_can_be_sourced(tmp_path: Path) -> None:
    _, block = write_result(LEDGER, RECIPE, KNOWN, tmp_path / "new")
    said = subprocess.run(
        ["sh", "-c", f'. "{block}"; printf "%s|%s" "$HIP_FORCE_DEV_KERNARG" "$ODD"'],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert said == "1|a b'c"
    assert "No variable made a difference" in environment_block(LEDGER, {})


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_result(LEDGER, RECIPE, KNOWN, tmp_path / "file")


def test_missing_variables_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIP_FORCE_DEV_KERNARG", raising=False)
    names: dict[str, object] = {}
    exec(compile(module_text(LEDGER, RECIPE[:1], KNOWN), "optimized.py", "exec"), names)
    model = torch.nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="not set, though measured with: HIP_FORCE_DEV_KERNARG, ODD"):
        assert names["apply"](model, torch.ones(1, 2)) is model  # type: ignore[operator]


MODEL_FILE = """
import torch
from torch import nn

class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)
    def forward(self, x):
        return self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))

def make():
    torch.manual_seed(0)
    return Gated().eval(), (torch.randn(4, 32),)
"""

FRESH = """
import sys
sys.path[:0] = sys.argv[1:3]
import torch
from optimized import STEPS, apply
from gated import make
model, inputs = make()
with torch.no_grad():
    torch.save((model(*inputs), apply(model, inputs)(*inputs), [step.rung for step in STEPS]), sys.argv[3])
"""


@pytest.mark.parametrize("level", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_in_a_fresh_process_it_gives_the_same(level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real ladder: what applies here, all of it declared faster. Level 2 compiles, twice."""
    (tmp_path / "gated.py").write_text(MODEL_FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gated", raising=False)
    from gated import make  # type: ignore[import-not-found]

    model, inputs = make()
    result = optimize(model, inputs, levels={level}, measure=FakeMeasure(), budget_s=300)
    assert result.recipe, result.explain()
    result.write(tmp_path / "out")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    command = [sys.executable, "-c", FRESH, str(tmp_path), str(tmp_path / "out"), str(tmp_path / "said.pt")]
    subprocess.run(command, env=environment, check=True)
    original, optimised, steps = torch.load(tmp_path / "said.pt", weights_only=True)
    assert steps == [step.rung for step in result.recipe]
    with torch.no_grad():
        assert torch.equal(original, model(*inputs))
        torch.testing.assert_close(optimised, result(*inputs), rtol=0, atol=1e-7)
