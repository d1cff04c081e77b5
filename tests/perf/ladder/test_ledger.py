"""The ledger: written whole, read back, and resumed only by what it is about."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.core.errors import AMDOptimizationError, UsageError
from kernel_pytorch.perf.ladder.ledger import FILE, KEPT, NOT_TRIED, Attempt, Entry, Ledger, load, save
from kernel_pytorch.perf.ladder.measuring import Comparison
from kernel_pytorch.perf.ladder.optimize import Optimized, optimize
from tests.perf.ladder.made import FakeMeasure, Model, model_rung, shallow, with_forward, wrap_rung

COMPARISON = Comparison(8.0, 4.0, 0.5, 0.49, None, "faster", 10, (7.9, 8.1), (3.9, 4.1), None, 12345)
ATTEMPT = Attempt({"deep": {"list": [1, "two", None]}}, KEPT, "x", COMPARISON, 1e-6, 1e-4, "said", 0, 1.5, 2.5)
LEDGER = Ledger(
    "file.py:make", {"torch": "2.13"}, {"device": "cpu"}, (Entry("a", 2, "A", "wrap", KEPT, "y", attempts=(ATTEMPT,)),),
    total=COMPARISON, notes=("one",), budget_s=60.0, spent_s=12.0, when="now",
)  # fmt: skip


def test_round_trip(tmp_path: Path) -> None:
    save(LEDGER, tmp_path / "new" / FILE)
    assert load(tmp_path / "new" / FILE) == LEDGER
    assert [path.name for path in (tmp_path / "new").iterdir()] == [FILE]
    json.loads((tmp_path / "new" / FILE).read_text())


def test_a_broken_file_names_itself(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text('{"target": 3}')
    with pytest.raises(UsageError, match=r"ledger\.json: not a ledger"):
        load(path)
    path.write_text(path.read_text()[:5])
    with pytest.raises(UsageError, match="not a ledger"):
        load(path)
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot be written"):
        save(LEDGER, Path("/proc/nowhere/ledger.json"))


def test_a_crash_while_writing_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / FILE
    save(LEDGER, path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left"):
        save(replace(LEDGER, notes=()), path)
    assert load(path) == LEDGER and [one.name for one in tmp_path.iterdir()] == [FILE]


class Counting:
    """A rung that counts how often it was applied."""

    def __init__(self, name: str) -> None:
        self.times = 0
        self.rung = model_rung(name, self.apply)

    def apply(self, model: nn.Module, *_: Any) -> nn.Module:
        self.times += 1
        return shallow(model)


def climb(model: nn.Module, inputs: Any, folder: Path, *ladder: Any, **more: Any) -> Optimized:
    settings: dict[str, Any] = {"measure": FakeMeasure(), "budget_s": 120.0, "folder": folder, **more}
    return optimize(model, inputs, ladder=ladder, **settings)


def test_what_was_decided_is_not_tried_again(model: nn.Module, inputs: Any, tmp_path: Path) -> None:
    first, second = Counting("first"), Counting("second")
    wrong = model_rung("wrong", lambda m, i, o: with_forward(m, lambda y: y + 1))
    before = climb(model, inputs, tmp_path, first.rung, wrong, second.rung, levels={3}, skip=["second"])
    assert [one.outcome for one in before.ledger.entries] == [KEPT, "rolled back", NOT_TRIED]
    measure = FakeMeasure()
    after = climb(model, inputs, tmp_path, first.rung, wrong, second.rung, resume=True, measure=measure)
    assert [name for _, name in measure.seen] == ["second", "all kept rungs"]
    assert first.times == 2  # once tried, once applied again
    assert [step.rung for step in after.recipe] == ["first", "second"]
    assert torch.equal(after(*inputs), model(*inputs))
    assert after.ledger.spent_s >= before.ledger.spent_s


def test_an_interrupted_climb_goes_on(model: nn.Module, inputs: Any, tmp_path: Path) -> None:
    first = Counting("first")

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        climb(model, inputs, tmp_path, first.rung, wrap_rung("stop", stop))
    assert [one.rung for one in load(tmp_path / FILE).entries] == ["first"]
    after = climb(model, inputs, tmp_path, first.rung, wrap_rung("stop", lambda f, i, o: f), resume=True)
    assert [one.rung for one in after.ledger.entries] == ["first", "stop"]


@pytest.mark.parametrize("what", ["model", "inputs", "torch", "device"])
def test_something_else_is_refused(
    model: nn.Module, inputs: Any, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung = Counting("first").rung
    climb(model, inputs, tmp_path, rung)
    if what == "model":
        model = Model(16).eval()
        model.head = nn.Linear(16, 6).eval()
    elif what == "inputs":
        inputs = (torch.randn(4, 16),)
    elif what == "torch":
        monkeypatch.setattr(torch, "__version__", "1.0")
    else:
        monkeypatch.setattr("kernel_pytorch.perf.bench.device._cpu_name", lambda: "another")
    with pytest.raises(UsageError, match=f"cannot be resumed, its figures are of something else: .*{what} was"):
        climb(model, inputs, tmp_path, rung, resume=True)


def test_another_class_body_is_another_model(inputs: Any, tmp_path: Path) -> None:
    rung = Counting("first").rung
    torch.manual_seed(0)
    climb(Model().eval(), inputs, tmp_path, rung)

    class Model2(Model):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) * 2

    with pytest.raises(UsageError, match="model code was"):
        climb(Model2().eval(), inputs, tmp_path, rung, resume=True, target="Model")


def test_there_is_nothing_to_resume(model: nn.Module, inputs: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no ledger to resume"):
        climb(model, inputs, tmp_path, Counting("first").rung, resume=True)
    with pytest.raises(UsageError, match="resume needs the folder"):
        optimize(model, inputs, ladder=(), resume=True)


def test_a_kept_rung_that_is_wrong_now(model: nn.Module, inputs: Any, tmp_path: Path) -> None:
    climb(model, inputs, tmp_path, model_rung("same", lambda m, i, o: shallow(m)))
    with pytest.raises(AMDOptimizationError, match="what the ledger keeps is wrong now"):
        climb(model, inputs, tmp_path, model_rung("same", lambda m, i, o: with_forward(m, lambda y: -y)), resume=True)
