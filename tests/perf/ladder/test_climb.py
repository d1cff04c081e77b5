"""The climb on small models: what is kept, what is rolled back, and the reason that the ledger gives."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.core.errors import AMDOptimizationError, UsageError
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.perf.ladder.climb import DeviceLost
from kernel_pytorch.perf.ladder.deadline import time_limit
from kernel_pytorch.perf.ladder.ledger import DOES_NOT_APPLY, KEPT, NOT_TRIED, ROLLED_BACK, Entry, load
from kernel_pytorch.perf.ladder.optimize import Optimized, optimize
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, Prediction, Recipe, Rung
from tests.perf.ladder.made import FakeMeasure, Model, model_rung, shallow, with_forward, wrap_rung

Inputs = tuple[torch.Tensor, ...]


def climb(model: nn.Module, inputs: Any, *ladder: Rung, **more: Any) -> Optimized:
    settings: dict[str, Any] = {"measure": FakeMeasure(), "budget_s": 120.0, **more}
    return optimize(model, inputs, ladder=ladder, **settings)


def entry(result: Optimized, rung: str) -> Entry:
    found = result.ledger.entry(rung)
    assert found is not None
    return found


GOOD = model_rung("good", lambda model, inputs, options: shallow(model))


def test_a_right_and_faster_rung_is_kept(model: nn.Module, inputs: Inputs) -> None:
    result = climb(model, inputs, GOOD)
    kept = entry(result, "good")
    assert kept.outcome == KEPT
    assert kept.reason == "8 -> 4 ms, x0.500 [0.490, 0.510]"
    assert kept.found == "everything"
    assert [step.rung for step in result.recipe] == ["good"]
    assert result.model is not model
    assert torch.equal(result(*inputs), model(*inputs))
    assert result.speedup == pytest.approx(2.0)
    assert "2.00 times as fast" in result.explain()


def test_a_fusion_that_changes_numbers_is_rolled_back(model: nn.Module, inputs: Inputs) -> None:
    wrong = model_rung("wrong_fusion", lambda m, i, o: with_forward(m, lambda y: y * 1.01))
    result = climb(model, inputs, wrong)
    assert entry(result, "wrong_fusion").outcome == ROLLED_BACK
    assert "wrong: output 0 differs by" in entry(result, "wrong_fusion").reason
    assert "against float64 the original is off by" in entry(result, "wrong_fusion").reason
    assert result.recipe == () and result.function is model


def test_a_rung_wrong_only_on_other_inputs_is_found(model: nn.Module, inputs: Inputs) -> None:
    """It remembers the answer to the example."""
    answer = model(*inputs).detach()
    result = climb(model, inputs, model_rung("memory", lambda m, i, o: with_forward(m, lambda y: answer.clone())))
    assert entry(result, "memory").reason.startswith("wrong: output 0")


def test_a_slower_kernel_is_rolled_back(model: nn.Module, inputs: Inputs) -> None:
    slow = model_rung("slow_kernel", lambda m, i, o: shallow(m))
    result = climb(model, inputs, slow, measure=FakeMeasure({"slow_kernel": 1.3}))
    assert entry(result, "slow_kernel").outcome == ROLLED_BACK
    assert entry(result, "slow_kernel").reason == "slower: 8 -> 10.4 ms, x1.300 [1.290, 1.310]"
    assert result.speedup is None


def test_no_faster_than_the_noise_is_not_kept(model: nn.Module, inputs: Inputs) -> None:
    result = climb(model, inputs, GOOD, measure=FakeMeasure({"good": 1.0}))
    assert entry(result, "good").reason.startswith("not faster by more than the noise: 8 -> 8 ms")


def breaking(model: nn.Module) -> nn.Module:
    def change(y: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return y

    return with_forward(model, change)


def test_a_transform_that_breaks_the_graph_is_rolled_back(model: nn.Module, inputs: Inputs, real: None) -> None:
    result = climb(model, inputs, model_rung("breaks", lambda m, i, o: breaking(m)))
    assert entry(result, "breaks").outcome == ROLLED_BACK
    assert entry(result, "breaks").reason.startswith("2 new graph breaks: Call to `torch._dynamo.graph_break()`")
    assert entry(result, "breaks").attempts[0].graph_breaks == 2  # one in the call inside, one around it


def test_breaks_are_counted_on_a_compiled_model_too(model: nn.Module, inputs: Inputs, real: None) -> None:
    compiled = wrap_rung("compile", lambda f, i, o: torch.compile(f, backend="eager"))
    result = climb(model, inputs, compiled, model_rung("breaks", lambda m, i, o: breaking(m)), GOOD)
    assert entry(result, "compile").outcome == KEPT
    assert entry(result, "breaks").reason.startswith("2 new graph breaks")
    assert entry(result, "good").outcome == KEPT


def test_breaks_that_were_there_before_do_not_count(inputs: Inputs, real: None) -> None:
    torch.manual_seed(0)
    broken = breaking(Model().eval())
    compiled = wrap_rung("compile", lambda f, i, o: torch.compile(f, backend="eager"))
    result = climb(broken, inputs, GOOD, compiled, replace(GOOD, name="again"))
    assert {one.outcome for one in result.ledger.entries} == {KEPT}


@pytest.mark.parametrize("place", ["find", "apply", "call"])
def test_one_that_raises_does_not_end_the_climb(model: nn.Module, inputs: Inputs, place: str) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no such kernel")

    bad = {
        "find": lambda: replace(model_rung("bad", lambda m, i, o: m), find=fail),
        "apply": lambda: model_rung("bad", fail),
        "call": lambda: model_rung("bad", lambda m, i, o: with_forward(m, fail)),
    }[place]()
    result = climb(model, inputs, bad, GOOD)
    assert entry(result, "bad").outcome == ROLLED_BACK
    assert entry(result, "bad").reason.endswith("RuntimeError: no such kernel")
    assert entry(result, "good").outcome == KEPT


@pytest.mark.parametrize(
    "error",
    [MemoryError(), torch.OutOfMemoryError("HIP out of memory. Tried to allocate"), RuntimeError("out of memory")],
)
def test_one_that_runs_out_of_memory(model: nn.Module, inputs: Inputs, error: Exception) -> None:
    def grow(y: torch.Tensor) -> torch.Tensor:
        raise error

    result = climb(model, inputs, model_rung("big", lambda m, i, o: with_forward(m, grow)), GOOD)
    assert entry(result, "big").reason.startswith("ran out of memory while running for the first time")
    assert entry(result, "good").outcome == KEPT


def test_memory_that_runs_out_inside_a_compile_is_seen_through_its_wrapper(model: nn.Module, inputs: Inputs) -> None:
    def backend(graph: Any, example: Any) -> Any:
        raise torch.OutOfMemoryError("out of memory")

    result = climb(model, inputs, wrap_rung("compile", lambda f, i, o: torch.compile(f, backend=backend)))
    assert entry(result, "compile").reason.startswith("ran out of memory")


def test_a_device_that_no_longer_answers_ends_the_climb_with_the_ledger_written(
    model: nn.Module, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pytorch.perf.ladder.climb.device_answers", lambda: False)
    faulty = model_rung("faulty", lambda m, i, o: with_forward(m, lambda y: 1 / 0))
    with pytest.raises(DeviceLost, match="since rung faulty failed"):
        climb(model, inputs, GOOD, faulty, replace(GOOD, name="later"), folder=tmp_path)
    assert [one.outcome for one in load(tmp_path / "ledger.json").entries] == [KEPT, ROLLED_BACK]
    after = climb(model, inputs, GOOD, faulty, replace(GOOD, name="later"), folder=tmp_path, resume=True)
    assert [step.rung for step in after.recipe] == ["good", "later"]


def test_nan_in_other_places_is_wrong(model: nn.Module, inputs: Inputs) -> None:
    result = climb(model, inputs, model_rung("nan", lambda m, i, o: with_forward(m, lambda y: y / 0)))
    assert "infinite or NaN in other places" in entry(result, "nan").reason


def test_another_type_is_wrong(model: nn.Module, inputs: Inputs) -> None:
    result = climb(model, inputs, model_rung("half", lambda m, i, o: with_forward(m, lambda y: y.half())))
    assert "torch.float32 (3, 5) became torch.float16" in entry(result, "half").reason


def test_a_rung_that_changes_its_model_is_refused_and_undone(model: nn.Module, inputs: Inputs) -> None:
    def change(given: nn.Module, *_: Any) -> nn.Module:
        given.head = nn.Identity()
        return shallow(given)

    head, before = model.head, model(*inputs)
    result = climb(model, inputs, model_rung("vandal", change), GOOD)
    assert entry(result, "vandal").reason == "it changed the model it was given: modules of the model" or (
        "other keys" in entry(result, "vandal").reason
    )
    assert model.head is head and torch.equal(model(*inputs), before)
    assert entry(result, "good").outcome == KEPT


def test_looking_must_not_change_the_model_either(model: nn.Module, inputs: Inputs) -> None:
    def find(given: nn.Module, _: Any) -> str:
        given.head.forward = lambda x: x
        return "all"

    before = model(*inputs)
    result = climb(model, inputs, replace(GOOD, find=find))
    assert "it changed the model: the forward of head" in entry(result, "good").reason
    assert torch.equal(model(*inputs), before)


def test_an_undecided_gain_is_measured_once_more(model: nn.Module, inputs: Inputs) -> None:
    class Unsure(FakeMeasure):
        def __call__(self, *args: Any) -> Any:
            found = super().__call__(*args)
            return found if len(self.seen) != 1 else replace(found, verdict="undecided", ratio=0.9)

    measure = Unsure()
    result = climb(model, inputs, GOOD, measure=measure, measure_s=2.0)
    assert entry(result, "good").outcome == KEPT
    assert measure.seconds[:2] == [2.0, 6.0]


def test_another_state_dict_is_refused(model: nn.Module, inputs: Inputs) -> None:
    def renamed(given: nn.Module, *_: Any) -> nn.Module:
        return nn.Sequential(shallow(given))

    result = climb(model, inputs, model_rung("renamed", renamed))
    assert entry(result, "renamed").reason.startswith("its state_dict has other keys: 0.blocks")


def test_rungs_compose_and_wrappers_are_applied_again(model: nn.Module, inputs: Inputs) -> None:
    wrapped: list[tuple[str, str]] = []

    def wrap(name: str) -> Any:
        def around(function: Any, given: Any, options: Any) -> Any:
            wrapped.append((name, type(function).__name__))
            return lambda *args: function(*args)

        return around

    first = model_rung("first", lambda m, i, o: shallow(m))
    second = model_rung("second", lambda m, i, o: shallow(m))
    inside, outside = wrap_rung("inside", wrap("inside")), wrap_rung("outside", wrap("outside"), slot="capture")
    result = climb(model, inputs, outside, first, inside, second)
    assert [step.rung for step in result.recipe] == ["outside", "first", "inside", "second"]
    assert wrapped == [
        ("outside", "Model"),
        ("outside", "Model"),
        ("inside", "Model"), ("outside", "function"),
        ("inside", "Model"), ("outside", "function"),
    ]  # fmt: skip


def test_a_rewrite_that_a_kept_wrapper_cannot_take(model: nn.Module, inputs: Inputs) -> None:
    def picky(function: Any, *_: Any) -> Any:
        if function is not model:
            raise NotApplicable("it cannot be recorded")
        return lambda *args: function(*args)

    result = climb(model, inputs, wrap_rung("graph", picky, slot="capture"), GOOD)
    assert entry(result, "good").outcome == ROLLED_BACK
    assert entry(result, "good").reason.endswith("does not apply to it any more: it cannot be recorded")
    assert [step.rung for step in result.recipe] == ["graph"]


def test_a_wrapper_takes_the_place_of_the_one_in_its_slot(model: nn.Module, inputs: Inputs) -> None:
    one = wrap_rung("one", lambda f, i, o: torch.compile(f, backend="eager"))
    other = wrap_rung("other", lambda f, i, o: torch.compile(f, backend="aot_eager"))
    worse = wrap_rung("worse", lambda f, i, o: f)
    result = climb(model, inputs, one, other, worse, measure=FakeMeasure({"worse": 1.2}))
    assert [step.rung for step in result.recipe] == ["other"]


def test_the_best_of_several_choices_is_kept(model: nn.Module, inputs: Inputs) -> None:
    measure = FakeMeasure()

    def choices(*_: Any) -> tuple[dict[str, Any], ...]:
        return ({"size": 1}, {"size": 2}, {"size": 3})

    def apply(given: nn.Module, _: Any, options: dict[str, Any]) -> nn.Module:
        measure.ratios["sized"] = {1: 0.8, 2: 0.7, 3: 1.2}[options["size"]]
        return shallow(given)

    result = climb(model, inputs, model_rung("sized", apply, choices=choices), measure=measure)
    assert [one.outcome for one in entry(result, "sized").attempts] == [KEPT, KEPT, ROLLED_BACK]
    assert [(step.rung, step.options) for step in result.recipe] == [("sized", {"size": 2})]


def test_choices_see_what_was_kept(model: nn.Module, inputs: Inputs) -> None:
    seen: list[Recipe] = []

    def choices(_: Any, __: Any, kept: Recipe) -> tuple[dict[str, Any], ...]:
        seen.append(kept)
        raise NotApplicable("nothing to add")

    result = climb(model, inputs, GOOD, replace(GOOD, name="later", choices=choices))
    assert [step.rung for step in seen[0]] == ["good"]
    assert entry(result, "later").outcome == DOES_NOT_APPLY


def test_what_does_not_apply_says_why(model: nn.Module, inputs: Inputs) -> None:
    def find(*_: Any) -> str:
        raise NotApplicable("there is no attention")

    result = climb(model, inputs, replace(GOOD, find=find))
    assert (entry(result, "good").outcome, entry(result, "good").reason) == (DOES_NOT_APPLY, "there is no attention")


def test_the_prediction_comes_from_a_profile_of_the_best_so_far(model: nn.Module, inputs: Inputs, real: None) -> None:
    result = climb(model, inputs, replace(GOOD, predict=lambda p, i: Prediction(p.total_ms, f"of {p.source}")))
    assert entry(result, "good").predicted_why == "of best so far"
    assert (entry(result, "good").predicted_ms or 0) > 0


def test_a_prediction_that_fails_is_no_reason_to_stop(model: nn.Module, inputs: Inputs, real: None) -> None:
    result = climb(model, inputs, replace(GOOD, predict=lambda p, i: 1 / 0))
    assert entry(result, "good").outcome == KEPT
    assert "ZeroDivisionError" in entry(result, "good").predicted_why


def test_levels_only_skip_and_permissions(model: nn.Module, inputs: Inputs) -> None:
    ladder = [replace(GOOD, name=f"rung{n}", level=n) for n in (2, 3, 4)]
    ladder.append(replace(GOOD, name="asks", level=2, needs=frozenset({"reduce-overhead"})))
    result = climb(model, inputs, *ladder, levels={2, 3}, skip=["rung3"], allow=())
    assert {one.rung: one.outcome for one in result.ledger.entries} == {
        "rung2": KEPT, "rung3": NOT_TRIED, "rung4": NOT_TRIED, "asks": NOT_TRIED,
    }  # fmt: skip
    assert entry(result, "asks").reason == "left out: needs permission for reduce-overhead"
    only = climb(model, inputs, *ladder, only=["asks"])
    assert [one.rung for one in only.ledger.entries if one.outcome == KEPT] == ["asks"]
    assert not [note for note in result.ledger.notes if note.startswith("level 2")]
    surgery = climb(model, inputs, *ladder, levels={3})
    assert [note for note in surgery.ledger.notes if note.startswith("level 2 was not asked for")]
    with pytest.raises(UsageError, match="no rung 'nothing'"):
        climb(model, inputs, *ladder, only=["nothing"])
    with pytest.raises(UsageError, match="there are 1 to 5"):
        climb(model, inputs, *ladder, levels={7})
    with pytest.raises(UsageError, match="must be more than 0"):
        climb(model, inputs, *ladder, budget_s=0)


def test_variables_cannot_be_tried_by_a_library_call(model: nn.Module, inputs: Inputs) -> None:
    rung = EnvironmentRung("variables", 1, "variables", lambda m, i: "", lambda m, i, k: ({"A": "1"},))
    result = climb(model, inputs, rung)
    assert entry(result, "variables").outcome == NOT_TRIED
    assert "kpt optimize TARGET" in entry(result, "variables").reason


def test_a_compile_that_takes_too_long_is_interrupted(
    model: nn.Module, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def backend(graph: Any, example: Any) -> Any:
        time.sleep(600)
        return graph.forward

    # A share of minutes, waited for a hundredth of: the budget itself is not what ends the climb.
    monkeypatch.setattr("kernel_pytorch.perf.ladder.attempt.time_limit", lambda seconds: time_limit(seconds / 100))
    endless = wrap_rung("endless", lambda f, i, o: torch.compile(f, backend=backend))
    result = climb(model, inputs, endless, budget_s=600.0)
    assert entry(result, "endless").outcome == NOT_TRIED
    assert "while running for the first time: its share of the budget was over" in entry(result, "endless").reason
    assert result.function is model


def test_no_rung_begins_when_the_time_is_over(model: nn.Module, inputs: Inputs) -> None:
    result = climb(model, inputs, GOOD, budget_s=1e-6)
    assert entry(result, "good").reason == "no time left in the budget"
    assert result.function is model


def test_the_ledger_is_written_after_every_rung(model: nn.Module, inputs: Inputs, tmp_path: Path) -> None:
    counts: list[int] = []

    def say(event: Any) -> None:
        if event.entry is not None:
            counts.append(len(load(tmp_path / "ledger.json").entries))

    climb(model, inputs, GOOD, replace(GOOD, name="again"), folder=tmp_path, say=say)
    assert counts == [1, 2]


def test_all_together_slower_means_nothing_is_kept(model: nn.Module, inputs: Inputs) -> None:
    result = climb(model, inputs, GOOD, measure=FakeMeasure({"all kept rungs": 1.1}))
    assert result.recipe == () and result.function is model
    assert "together are slower than the original" in entry(result, "good").reason


def test_keyword_inputs_and_a_single_tensor(model: nn.Module, inputs: Inputs) -> None:
    for given in ({"x": inputs[0]}, inputs[0], list(inputs)):
        assert entry(climb(model, given, GOOD), "good").outcome == KEPT


def test_a_model_in_train_mode_is_compared_by_its_gradients(inputs: Inputs) -> None:
    class Detached(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return 2 * grad

    torch.manual_seed(0)
    model = Model().train()
    wrong = model_rung("wrong_backward", lambda m, i, o: with_forward(m, Detached.apply))
    result = climb(model, inputs, wrong, GOOD)
    assert entry(result, "wrong_backward").reason.startswith("wrong: gradient of blocks.0.norm.weight differs")
    assert entry(result, "good").outcome == KEPT
    assert all(parameter.grad is None for parameter in model.parameters())


def test_dropout_in_train_mode_is_compared_in_eval_mode(inputs: Inputs) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.5), nn.Linear(16, 4)).train()
    compiled = wrap_rung("compile", lambda f, i, o: torch.compile(f, backend="aot_eager"))
    result = climb(model, inputs, compiled)
    assert entry(result, "compile").outcome == KEPT
    assert any("compared in eval mode" in note for note in result.ledger.notes)
    assert all(module.training for module in model.modules())


def test_a_model_that_differs_from_itself_cannot_be_climbed_with(inputs: Inputs) -> None:
    class Counting(nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            Counting.calls += 1
            return x + Counting.calls

    with pytest.raises(AMDOptimizationError, match="called twice"):
        climb(Counting().eval(), inputs, GOOD)


def test_buffers_are_as_before(inputs: Inputs) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8)).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    climb(model, inputs, GOOD)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_not_a_module(inputs: Inputs) -> None:
    with pytest.raises(UsageError, match=r"needs a torch\.nn\.Module, not a function"):
        optimize(lambda x: x, inputs)


def test_a_model_that_does_not_run(model: nn.Module) -> None:
    with pytest.raises(AMDOptimizationError, match="does not run on its inputs"):
        climb(model, (torch.randn(3, 7),), GOOD)
