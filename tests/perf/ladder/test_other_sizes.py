"""A program that calls its model with several sizes: right on all of them, compiled once, timed together."""

from __future__ import annotations

import pytest
import torch

from kernel_pytorch.core.errors import AMDOptimizationError, UsageError
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.bench.target import as_target
from kernel_pytorch.perf.ladder.identity import identity_of
from kernel_pytorch.perf.ladder.ledger import KEPT, ROLLED_BACK
from kernel_pytorch.perf.ladder.measuring import target_for
from kernel_pytorch.perf.ladder.optimize import optimize
from kernel_pytorch.perf.ladder.rungs.compile import COMPILE, compiled
from tests.perf.ladder.made import FakeMeasure, Model, model_rung, with_forward


def rows(*counts: int) -> list[tuple[torch.Tensor, ...]]:
    return [(torch.randn(count, 16),) for count in counts]


def test_a_rung_that_is_wrong_at_another_size_is_rolled_back() -> None:
    def only_even(output: torch.Tensor) -> torch.Tensor:
        return output if output.shape[0] % 2 == 0 else output * 1.1

    wrong = model_rung("only_even", lambda model, inputs, options: with_forward(model, only_even))
    first, *others = rows(4, 5)
    alone = optimize(Model().eval(), first, ladder=[wrong], measure=FakeMeasure(), budget_s=60.0)
    assert alone.ledger.entries[0].outcome == KEPT
    both = optimize(Model().eval(), first, others=others, ladder=[wrong], measure=FakeMeasure(), budget_s=60.0)
    assert both.ledger.entries[0].outcome == ROLLED_BACK
    assert "wrong" in both.ledger.entries[0].reason


def test_sizes_that_vary_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo.utils import counters

    monkeypatch.setattr(torch, "compile", lambda model, **given: torch._dynamo.optimize("aot_eager")(model))
    torch._dynamo.reset()
    model = Model().eval()
    first, *others = rows(3, 5, 9)
    result = optimize(model, first, others=others, ladder=[COMPILE], measure=FakeMeasure(), budget_s=240.0)
    tried = [one.options for one in result.ledger.entries[0].attempts]
    assert tried == [{"dynamic": [[0, 0]]}, {}]
    torch._dynamo.reset()
    call = compiled(model, tried[0])
    counters.clear()
    with torch.no_grad():
        for one in (first, *others, *rows(7)):
            torch.testing.assert_close(call(*one), model(*one))
    assert counters["stats"]["unique_graphs"] == 1


def test_all_calls_are_timed() -> None:
    seen: list[int] = []

    def call(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.shape[0])
        return x

    first, *others = rows(3, 5)
    target = target_for("one", call, Model().eval(), Inputs(first, {}, tuple(Inputs(one) for one in others)))
    target.call(*target.arguments, **target.keywords)
    assert sorted(seen) == [3, 5]


def test_other_sizes_make_another_climb_and_must_run() -> None:
    model = Model().eval()
    first, *others = rows(3, 5)
    given = Inputs(first)
    more = Inputs(first, {}, (Inputs(others[0]),))
    assert identity_of(model, given, "x")["inputs"] != identity_of(model, more, "x")["inputs"]
    with pytest.raises(AMDOptimizationError, match="other inputs, set 1"):
        optimize(model, first, others=[(torch.randn(2, 3),)], ladder=[], measure=FakeMeasure(), budget_s=60.0)


def test_a_target_names_them() -> None:
    model = Model()
    first, *others = rows(3, 5)
    target = as_target("t", {"model": model, "inputs": first, "other_inputs": others})
    assert target.other_inputs == tuple(others)
    with pytest.raises(UsageError, match="'other_inputs' is a Tensor"):
        as_target("t", {"model": model, "inputs": first, "other_inputs": first[0]})
