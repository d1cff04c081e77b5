"""A recipe applied: exactly its steps, on the user's model, as one callable."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import AMDOptimizationError
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs, as_inputs
from kernel_pytorch.perf.ladder.rung import SLOTS, EnvironmentRung, ModelRung, Options, Recipe, Rung, Step, WrapRung
from kernel_pytorch.perf.ladder.rungs import rung_named, rungs

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class BuiltRecipe:
    """A recipe on a model: the rewritten tree, and what to call (the tree itself where nothing wraps it)."""

    model: nn.Module
    function: Callable[..., Any]


def with_step(recipe: Recipe, rung: Rung, options: Options, among: Iterable[Rung]) -> Recipe:
    """The recipe and this step, in place of the wrapper in the same slot and of the rung's own earlier step."""
    known = {one.name: one for one in among}

    def replaced(step: Step) -> bool:
        other = known[step.rung]
        same_slot = isinstance(rung, WrapRung) and isinstance(other, WrapRung) and rung.slot == other.slot
        return same_slot or step.rung == rung.name

    return (*(step for step in recipe if not replaced(step)), Step(rung.name, dict(options)))


def model_steps(recipe: Recipe, among: Iterable[Rung]) -> list[tuple[ModelRung, Options]]:
    """The steps that rewrite the model, in order."""
    return [(rung, options) for rung, options in _named(recipe, among) if isinstance(rung, ModelRung)]


def wrap_steps(recipe: Recipe, among: Iterable[Rung]) -> list[tuple[WrapRung, Options]]:
    """The steps that wrap it, from the inside out."""
    found = [(rung, options) for rung, options in _named(recipe, among) if isinstance(rung, WrapRung)]
    return sorted(found, key=lambda pair: SLOTS.index(pair[0].slot))


def environment_of(recipe: Recipe, among: Iterable[Rung]) -> dict[str, str]:
    """The variables that its steps ask for."""
    found: dict[str, str] = {}
    for rung, options in _named(recipe, among):
        if isinstance(rung, EnvironmentRung):
            found.update({name: str(value) for name, value in options.items()})
    return found


def _named(recipe: Recipe, among: Iterable[Rung]) -> list[tuple[Rung, Options]]:
    known = tuple(among)
    return [(rung_named(step.rung, known), dict(step.options)) for step in recipe]


@dataclass(frozen=True)
class Wrapped:
    """What to call, and the same without its recording: a profiler sees operators only there."""

    function: Callable[..., Any]
    unrecorded: Callable[..., Any]


def wrapped(model: nn.Module, inputs: Inputs, recipe: Recipe, among: Iterable[Rung]) -> Wrapped:
    """The recipe's wrappers around a tree that has its rewrites already."""
    function: Callable[..., Any] = model
    unrecorded = function
    for rung, options in wrap_steps(recipe, among):
        function = rung.wrap(function, inputs, options)
        unrecorded = unrecorded if rung.slot == "capture" else function
    return Wrapped(function, unrecorded)


def built_from(recipe: Recipe, among: Iterable[Rung]) -> Hashable:
    """What a recipe comes to, whatever its rungs are called: equal for recipes that build the same."""
    known = tuple(among)
    models = [(rung.name, _text(options)) for rung, options in model_steps(recipe, known)]
    wraps = [(rung.wrap, _text(options)) for rung, options in wrap_steps(recipe, known)]
    return (tuple(models), tuple(wraps), _text(environment_of(recipe, known)))


def _text(options: Mapping[str, object]) -> str:
    return json.dumps(options, sort_keys=True, default=str)


def build(model: nn.Module, inputs: Inputs, recipe: Recipe, among: Iterable[Rung] | None = None) -> BuiltRecipe:
    """The recipe on a model. Raises AMDOptimizationError naming the step that does not apply."""
    known = tuple(among) if among is not None else rungs()
    tree = model
    for rung, options in model_steps(recipe, known):
        try:
            tree = rung.apply(tree, inputs, options)
        except NotApplicable as reason:
            raise AMDOptimizationError(
                f"step {rung.name} of the recipe does not apply to this model: {reason}; run kpt optimize for it again"
            ) from reason
    try:
        return BuiltRecipe(tree, wrapped(tree, inputs, recipe, known).function)
    except NotApplicable as reason:
        raise AMDOptimizationError(f"the recipe's wrappers do not apply here: {reason}") from reason


def apply_recipe(model: nn.Module, inputs: Any, recipe: Recipe) -> Callable[..., Any]:
    """What to call in place of `model`: exactly the steps of `recipe` on it. The model itself is not changed.

    `inputs` are arguments as `model` will get them: a tuple, a dictionary or one tensor. Environment variables of the
    recipe are not set here: most act when torch is imported (see the environment block beside the module).
    """
    return build(model, as_inputs(inputs), recipe).function
