"""Which rung is next: by promise per second, from the profile, what rungs usually save, and what compiling took."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from torch import nn

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.ledger import DOES_NOT_APPLY, KEPT, Attempt, Entry, Ledger
from kernel_pytorch.perf.ladder.optimize import optimize
from kernel_pytorch.perf.ladder.order import FIRST_COMPILE_S, Climate, compile_seconds, cost_s, expected, in_order
from kernel_pytorch.perf.ladder.rung import Prediction, Rung, Step
from kernel_pytorch.perf.profile import Profile
from tests.perf.ladder.made import FakeMeasure, model_rung, shallow, wrap_rung


class TenMilliseconds:
    """As much of a profile as the order looks at."""

    total_ms = 10.0
    timelines: tuple[Any, ...] = ()
    advice: tuple[Any, ...] = ()


PROFILE: Any = TenMilliseconds()


def climate(*known: Rung, profile: Profile | None = PROFILE, kept: tuple[Step, ...] = ()) -> Climate:
    return Climate(profile, Inputs(), kept, known, compile_s=20.0, measure_s=1.0)


def promising(name: str, saving_ms: float | None, **more: Any) -> Rung:
    return wrap_rung(name, lambda f, i, o: f, predict=lambda p, i: Prediction(saving_ms, "said so"), **more)


def test_the_best_promise_per_second_comes_first() -> None:
    slow, quick = promising("slow", 6.0, compiles=10.0), promising("quick", 2.0, compiles=0.1)
    dull = promising("dull", 0.1, compiles=1.0)
    assert [one.name for one in in_order((slow, dull, quick), climate(slow, dull, quick))] == ["quick", "slow", "dull"]
    # Without a profile nothing is promised: as the ladder has them.
    assert in_order((slow, dull, quick), climate(profile=None)) == [slow, dull, quick]


def test_a_profile_that_says_nothing_counts_as_what_such_a_rung_usually_saves() -> None:
    rung = promising("unseen", None, usual_share=0.3)
    assert expected(rung, climate(rung)).saving_ms == 3.0
    more = promising("more", 99.0)
    assert expected(more, climate(more)).saving_ms == 10.0  # no more than there is


def test_a_rewrite_costs_a_compile_where_the_model_is_compiled() -> None:
    rewrite = model_rung("rewrite", lambda m, i, o: m)
    compile_rung = wrap_rung("compile", lambda f, i, o: f)
    alone, inside = climate(rewrite, compile_rung), climate(rewrite, compile_rung, kept=(Step("compile"),))
    assert cost_s(rewrite, inside) > cost_s(rewrite, alone)


def test_compiling_takes_what_it_took_before() -> None:
    rung = wrap_rung("compile", lambda f, i, o: f, compiles=2.0)
    empty = Ledger("", {}, {})
    assert compile_seconds(empty, (rung,)) == FIRST_COMPILE_S
    tried = Entry("compile", 2, "", "wrap", KEPT, "", attempts=(Attempt({}, KEPT, "", first_call_s=90.0),))
    assert compile_seconds(replace(empty, entries=(tried,)), (rung,)) == 45.0


def outcomes(model: nn.Module, inputs: Any, *ladder: Rung, ratios: dict[str, float] | None = None) -> dict[str, Any]:
    found = optimize(model, inputs, ladder=ladder, measure=FakeMeasure(ratios), budget_s=600.0, measure_s=0.5)
    return {one.rung: one for one in found.ledger.entries}


def same(tree: nn.Module, inputs: Inputs, options: Any) -> nn.Module:
    return shallow(tree)


def test_what_does_not_apply_is_asked_again_once_something_was_kept(model: nn.Module, inputs: Any) -> None:
    def needs_first(tree: nn.Module, given: Inputs, kept: tuple[Step, ...]) -> tuple[dict[str, Any], ...]:
        if not kept:
            raise NotApplicable("nothing to build on")
        return ({},)

    later = model_rung("later", same, choices=needs_first)
    found = outcomes(model, inputs, later, model_rung("first", same))
    assert [found["first"].outcome, found["later"].outcome] == [KEPT, KEPT]
    assert outcomes(model, inputs, later)["later"].outcome == DOES_NOT_APPLY


def test_the_same_under_another_name_is_not_built_twice(model: nn.Module, inputs: Any) -> None:
    built: list[str] = []

    def wrap(function: Any, given: Inputs, options: Any) -> Any:
        built.append("built")
        return lambda *args: function(*args)

    first = wrap_rung("plain", wrap)
    found = outcomes(model, inputs, first, replace(first, name="again"), ratios={"plain": 1.5})
    assert built == ["built"]
    assert found["again"].outcome == DOES_NOT_APPLY
    assert found["again"].reason == "the same was measured already, as plain"


def test_what_the_climb_expects_is_in_the_ledger(
    model: nn.Module, inputs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pytorch.perf.ladder.climb.profile_of", lambda candidate, inputs: PROFILE)
    events: list[Any] = []
    ladder = [model_rung("small", same), replace(promising("large", 5.0), wrap=lambda f, i, o: lambda *a: f(*a))]
    found = optimize(model, inputs, ladder=ladder, measure=FakeMeasure(), budget_s=600.0, say=events.append)
    assert [one.rung for one in found.ledger.expected] == ["large", "small"]
    assert found.ledger.entries[0].rung == "large"
    assert [event.expected for event in events if event.expected] == [found.ledger.expected]
