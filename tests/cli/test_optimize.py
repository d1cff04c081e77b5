"""`kpt optimize`: a climb from end to end, its files, resuming, JSON, the page, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.cli.optimize import parse_levels
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.python_child import python_module

MODEL = """
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
    return {"model": Gated().eval(), "inputs": (torch.randn(4, 32),)}

def function():
    return (lambda x: x), (torch.ones(1),)

def broken():
    raise RuntimeError("no weights here")
"""


@pytest.fixture
def target(tmp_path: Path) -> str:
    (tmp_path / "gated.py").write_text(MODEL)
    return f"{tmp_path / 'gated.py'}:make"


def test_a_climb_from_end_to_end(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Real rungs, real measurements: nothing is said about speed, only that everything is decided and written."""
    out = tmp_path / "out"
    arguments = ["optimize", target, "--out", str(out), "--levels", "3", "--measure", "0.5", "--budget", "300"]
    assert main([*arguments, "--json", "--html", str(tmp_path / "page.html")]) == 0
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    outcomes = {one["outcome"] for one in said["ledger"]["entries"]}
    assert outcomes <= {"kept", "rolled back", "does not apply", "not tried"}
    tried = [one for one in said["ledger"]["entries"] if one["attempts"]]
    assert tried and all(one["reason"] and one["found"] for one in tried)
    measured = [attempt for one in tried for attempt in one["attempts"] if attempt["comparison"]]
    assert measured and all(attempt["comparison"]["rounds"] >= 10 for attempt in measured)
    assert all(attempt["error"] <= attempt["allowed_error"] for attempt in measured)
    assert said["ledger"]["spent_s"] > 0 and said["ledger"]["identity"]["device"].startswith("cpu: ")
    assert {path.name for path in out.iterdir()} == {"ledger.json", "optimized.py", "env.sh"}
    assert [step["rung"] for step in said["recipe"]] == [one["rung"] for one in tried if one["outcome"] == "kept"]
    assert "<svg" in (tmp_path / "page.html").read_text() or said["speedup"] is None
    assert all(one["rung"] in captured.err for one in tried)
    # Everything is decided now: resuming tries nothing again and says the same.
    assert main([*arguments, "--resume"]) == 0
    again = capsys.readouterr()
    assert again.out.startswith(f"{target} on cpu: ")
    before = {one["rung"]: one["attempts"] for one in said["ledger"]["entries"] if one["outcome"] != "not tried"}
    after = {one["rung"]: one["attempts"] for one in json.loads((out / "ledger.json").read_text())["entries"]}
    assert all(after[rung] == attempts for rung, attempts in before.items())


def test_a_changed_model_file_is_not_resumed(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["optimize", target, "--out", str(tmp_path / "out"), "--levels", "5", "--measure", "0.5"]
    assert main(arguments) == 0
    path = tmp_path / "gated.py"
    path.write_text(path.read_text().replace("silu", "gelu"))
    capsys.readouterr()
    assert main([*arguments, "--resume"]) == 2
    assert "cannot be resumed, its figures are of something else: model code was" in capsys.readouterr().err


def test_kept_variables_are_in_force_for_the_rest(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is climbed by a new process that has them, with the same options and the ledger."""
    from kernel_pytorch.perf.ladder.ledger import KEPT, Attempt
    from kernel_pytorch.perf.ladder.rung import EnvironmentRung

    rung = EnvironmentRung("environment", 1, "v", lambda m, i: "v", lambda m, i, k: ({"KPT_TEST_VARIABLE": "1"},))
    monkeypatch.setattr("kernel_pytorch.perf.ladder.optimize.rungs", lambda: (rung, *others))
    from kernel_pytorch.perf.ladder.rungs import rungs

    others = tuple(one for one in rungs() if one.level == 2)
    monkeypatch.setattr(
        "kernel_pytorch.perf.ladder.environment_trial.EnvironmentTrials.__call__",
        lambda self, kept, rung, options, seconds: Attempt(dict(options), KEPT, "8 -> 4 ms"),
    )
    monkeypatch.setattr("kernel_pytorch.perf.ladder.climb.profile_of", lambda standing, inputs: None)
    started: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], *, env: dict[str, str], grace_s: float) -> int:
        started.append((command, env))
        return 0

    monkeypatch.setattr("kernel_pytorch.core.process.run_in_terminal", run)
    monkeypatch.delenv("KPT_TEST_VARIABLE", raising=False)
    out = tmp_path / "out"
    assert main(["optimize", target, "--out", str(out), "--skip", "compile", "--no-reduce-overhead", "--json"]) == 0
    ((command, environment),) = started
    assert environment["KPT_TEST_VARIABLE"] == "1"
    begin = python_module("kernel_pytorch", "optimize", target, "--resume", "--out")
    assert command[: len(begin)] == begin
    assert command[-4:] == ["--skip", "compile", "--no-reduce-overhead", "--json"]
    assert [one["rung"] for one in json.loads((out / "ledger.json").read_text())["entries"]] == ["environment"]
    assert "going on in a new process with KPT_TEST_VARIABLE=1" in capsys.readouterr().err


def test_the_list_of_rungs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", "--list"]) == 0
    assert "2  compile " in capsys.readouterr().out
    assert main(["optimize", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"rung", "level", "kind", "title", "needs"} == set(rows[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which model?"),
        (["TARGET", "--budget", "0"], "--budget 0: must be more than 0 seconds"),
        (["TARGET", "--measure", "-1"], "--measure -1: must be more than 0 seconds"),
        (["TARGET", "--levels", "6"], "there are levels 1 to 5"),
        (["TARGET", "--levels", "two"], "expected numbers from 1 to 5"),
        (["TARGET", "--only", "magic"], "no rung 'magic'; there are: "),
        (["TARGET", "--resume"], "there is no ledger to resume"),
        (["FOLDER/gated.py:function"], "the ladder needs a torch.nn.Module"),
        (["FOLDER/gated.py:broken"], "no weights here"),
        (["FOLDER/none.py:make"], "no such file"),
        (["TARGET", "--out", "FOLDER/gated.py"], "a file, and a folder is needed; name another --out"),
    ],
)
def test_what_it_refuses(
    target: str, tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("TARGET", target).replace("FOLDER", str(tmp_path)) for word in arguments]
    assert main(["optimize", "--out", str(tmp_path / "out"), *words]) == 2
    assert message in capsys.readouterr().err


def test_levels() -> None:
    assert parse_levels("1-5") == frozenset({1, 2, 3, 4, 5})
    assert parse_levels("1,3-4") == frozenset({1, 3, 4})
    for text in ("", "0", "1-9", "5-2", "a-b", "1,,2"):
        with pytest.raises(UsageError, match="--levels"):
            parse_levels(text)
