"""Recipes: steps replaced and ordered, applied exactly, and refused by name where they do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.core.errors import AMDOptimizationError, UsageError
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import as_inputs
from kernel_pytorch.perf.ladder import rungs as ladder_rungs
from kernel_pytorch.perf.ladder.recipe import apply_recipe, build, environment_of, with_step
from kernel_pytorch.perf.ladder.rung import EnvironmentRung, Step, WrapRung
from kernel_pytorch.perf.ladder.rungs import ORDER, rung_named, rungs
from tests.perf.ladder.made import model_rung, shallow, with_forward, wrap_rung

TWICE = model_rung("twice", lambda m, i, o: with_forward(m, lambda y: y * o.get("factor", 2)))
PLUS = model_rung("plus", lambda m, i, o: with_forward(m, lambda y: y + 1))
INSIDE = wrap_rung("inside", lambda f, i, o: lambda *a: f(*a) * 10)
OUTSIDE = wrap_rung("outside", lambda f, i, o: lambda *a: f(*a) - 3, slot="capture")
OTHER = wrap_rung("other", lambda f, i, o: lambda *a: f(*a) * 100)
VARIABLES = EnvironmentRung("variables", 1, "v", lambda m, i: "", lambda m, i, k: ())
KNOWN = (TWICE, PLUS, INSIDE, OUTSIDE, OTHER, VARIABLES)


def test_models_first_then_wrappers_from_the_inside_out(model: nn.Module, inputs: Any) -> None:
    recipe = (Step("outside"), Step("twice", {"factor": 3}), Step("inside"), Step("plus"))
    built = build(model, as_inputs(inputs), recipe, KNOWN)
    y = model(*inputs)
    assert torch.allclose(built.model(*inputs), y * 3 + 1)
    assert torch.allclose(built.function(*inputs), (y * 3 + 1) * 10 - 3)


def test_a_step_replaces_its_slot_and_its_own_earlier_self() -> None:
    recipe = with_step((Step("inside"), Step("twice", {"factor": 2}), Step("outside")), OTHER, {}, KNOWN)
    assert [step.rung for step in recipe] == ["twice", "outside", "other"]
    recipe = with_step(recipe, TWICE, {"factor": 5}, KNOWN)
    assert recipe == (Step("outside"), Step("other"), Step("twice", {"factor": 5}))


def test_variables_are_collected_and_not_applied(model: nn.Module, inputs: Any) -> None:
    recipe = (Step("variables", {"A": "1", "B": 2}),)
    assert environment_of(recipe, KNOWN) == {"A": "1", "B": "2"}
    assert build(model, as_inputs(inputs), recipe, KNOWN).function is model


def test_a_step_that_does_not_apply_is_named(model: nn.Module, inputs: Any) -> None:
    def refuse(*_: Any) -> Any:
        raise NotApplicable("no attention here")

    with pytest.raises(AMDOptimizationError, match=r"step picky of the recipe does not apply.*no attention here"):
        build(model, as_inputs(inputs), (Step("picky"),), (model_rung("picky", refuse),))
    with pytest.raises(AMDOptimizationError, match="wrappers do not apply here: no attention"):
        build(model, as_inputs(inputs), (Step("picky"),), (wrap_rung("picky", refuse),))
    with pytest.raises(UsageError, match="no rung 'gone'"):
        apply_recipe(model, inputs, (Step("gone"),))


def test_an_empty_recipe_is_the_model(model: nn.Module, inputs: Any) -> None:
    assert apply_recipe(model, inputs, ()) is model


def test_a_slot_that_is_none() -> None:
    with pytest.raises(ValueError, match="slot 'middle' is not one of compile, capture"):
        WrapRung("x", 2, "x", "middle", lambda m, i: "", lambda f, i, o: f)


def test_every_module_of_rungs_is_in_the_order() -> None:
    folder = Path(ladder_rungs.__file__).parent
    with_rungs = {
        path.stem for path in folder.glob("*.py") if path.stem != "__init__" and "\nRUNGS" in path.read_text()
    }
    assert with_rungs == set(ORDER)


def test_the_ladder_is_well_formed() -> None:
    found = rungs()
    assert [one.level for one in found] == sorted(one.level for one in found)
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert one.name.replace("_", "").isalnum() and one.name == one.name.lower()
        assert 1 <= one.level <= 5 and one.title
        assert rung_named(one.name) is one


def test_rungs_share_parameters_by_construction(model: nn.Module, inputs: Any) -> None:
    twin = shallow(model)
    assert all(a is b for a, b in zip(model.parameters(), twin.parameters(), strict=True))
