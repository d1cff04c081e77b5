"""What a rung of the ladder is: three kinds of frozen records that hold functions.

A rung never changes the model it is given. A ModelRung returns a new tree that shares the parameters; a WrapRung
returns a callable around it; an EnvironmentRung names variables, tried in a process of their own. Rolling back is
therefore dropping what the rung returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

Options: TypeAlias = dict[str, Any]
"""What a rung needs to do the same again. Only what JSON holds: it is written to the ledger and to the module."""

MODEL, WRAP, ENVIRONMENT = "model", "wrap", "environment"
SLOTS = ("compile", "capture")
"""Places for wrappers, from the inside out. A wrapper replaces the kept one of its slot instead of enclosing it."""

REDUCE_OVERHEAD = "reduce-overhead"
"""The permission that a rung asks for which lets Inductor record graphs; ROCm users must often do without it."""

FOLDER = "{folder}"
"""Stands in an environment variable for the folder that the result is written to (a tuning file, for one)."""


@dataclass(frozen=True)
class Prediction:
    """What a rung should save of one call, by the profile. None where the profile does not say."""

    saving_ms: float | None
    why: str


@dataclass(frozen=True)
class Step:
    """One kept rung with the options it was kept with."""

    rung: str
    options: Options = field(default_factory=dict)


Recipe: TypeAlias = tuple[Step, ...]
"""Steps in the order they were kept. JSON-able; `recipe.apply_recipe` builds exactly it."""


def unknown_saving(profile: Profile, inputs: Inputs) -> Prediction:
    """For a rung whose effect no profile shows."""
    return Prediction(None, "the profile does not say")


def one_choice(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    """For a rung without options."""
    return ({},)


Find: TypeAlias = "Callable[[nn.Module, Inputs], str]"
Predict: TypeAlias = "Callable[[Profile, Inputs], Prediction]"
Choices: TypeAlias = "Callable[[nn.Module, Inputs, Recipe], tuple[Options, ...]]"


@dataclass(frozen=True)
class ModelRung:
    """Rewrites the model: `apply` returns a new module tree with the same Parameters and state_dict keys.

    The given model must still compute what it did, and the parameters of both must stay one: a load_state_dict or an
    optimizer step on either shows in the other. The train/eval mode of every module is as it was.
    """

    name: str
    level: int
    title: str
    find: Find
    """What it would change, in words. Raises NotApplicable. Must not change the model; may be called on any model."""
    apply: Callable[[nn.Module, Inputs, Options], nn.Module]
    """The new tree. Raises NotApplicable where only trying shows that there is nothing to do."""
    predict: Predict = unknown_saving
    choices: Choices = one_choice
    """Sets of options worth trying in turn, the best of which is kept. Raises NotApplicable. Gets what was kept."""
    needs: frozenset[str] = frozenset()
    """Permissions (see `allow` of optimize) without which it is not tried."""
    usual_share: float = 0.02
    """Part of a call's time that it saved where it was kept. What the profile cannot see is not expected to be less."""
    compiles: float = 0.6
    """How long it takes to build, in compiles of the whole model. Dynamo looks for breaks in every new tree."""
    loosens: float = 0.0
    """For one that gives up precision: how far apart outputs may be with it, as a share of the original's root mean
    square. Such a rung `needs` a permission."""
    kind: str = field(default=MODEL, init=False)


@dataclass(frozen=True)
class WrapRung:
    """Wraps what is called: torch.compile variants and graph capture.

    In slot "compile" `function` is always the nn.Module; in slot "capture" whatever the compile slot gave. A rung that
    only adds settings to a kept one (Inductor flags) reads the kept step in `choices`, puts its options into its own,
    and takes its place. `wrap` may compile lazily: the first call is part of the check.
    """

    name: str
    level: int
    title: str
    slot: str
    find: Find
    """What it would do, in words; gets the model with the kept rewrites. Raises NotApplicable."""
    wrap: Callable[[Callable[..., Any], Inputs, Options], Callable[..., Any]]
    predict: Predict = unknown_saving
    choices: Choices = one_choice
    needs: frozenset[str] = frozenset()
    usual_share: float = 0.02
    compiles: float = 1.0
    kind: str = field(default=WRAP, init=False)

    def __post_init__(self) -> None:
        if self.slot not in SLOTS:
            raise ValueError(f"rung {self.name}: slot {self.slot!r} is not one of {', '.join(SLOTS)}")


@dataclass(frozen=True)
class EnvironmentRung:
    """Environment variables, measured in a child process that loads TARGET anew.

    Each set of options that `choices` gives *is* a set of variables: {"NAME": "value"}. FOLDER inside a value becomes
    the folder of the result. The library call cannot try them: the variables act when torch is imported.
    """

    name: str
    level: int
    title: str
    find: Find
    choices: Choices
    predict: Predict = unknown_saving
    prepare: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None
    """Variables for one run before the measurement (recording a tuning file), from those of a choice."""
    needs: frozenset[str] = frozenset()
    usual_share: float = 0.02
    compiles: float = 1.0
    kind: str = field(default=ENVIRONMENT, init=False)


Rung: TypeAlias = "ModelRung | WrapRung | EnvironmentRung"
