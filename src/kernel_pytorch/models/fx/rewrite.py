"""What passes between an optimiser and its rewrites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.check.conditions import WITHOUT_DROPOUT
from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.models.fx.trace import TracedForward


@dataclass(frozen=True)
class Part:
    """One change cut out of its model, so that it can be proven where there is no example of the whole."""

    original: nn.Module
    """What the part computed before."""
    candidate: Callable[..., Any]
    """What it computes now."""
    inputs: Inputs
    """Random data of its own shapes."""


@dataclass(frozen=True)
class Change:
    """One place that was rewritten."""

    where: str
    what: str
    undo: Callable[[], None] | None = None
    """Takes back what lies outside the traced forward (weights that were moved, for one)."""
    switch: Callable[[bool], None] | None = None
    """Turns a change of the whole model off and on again, so that both can be timed in turn."""
    only_while_eval: tuple[nn.Module, ...] = ()
    """Modules that must not be in train mode for the rewritten forward to be the same function."""
    drops_output: bool = False
    """An output that nobody used on the example is None now."""
    trouble: Callable[[], str] | None = None
    """Asked after the model ran with the change: why it had no effect; empty where it had."""
    part: Part | None = None


@dataclass(frozen=True)
class Job:
    """What a rewrite of the whole model may know."""

    level: str
    inputs: Inputs | None = None
    """An example of the model's calls, where there is one."""
    measures: bool = False
    is_rocm: bool = False
    compile: bool | str | None = None
    gradient_checkpointing: bool | str = False
    graphs: bool = True


class NotApplicable(Exception):
    """A rewrite has nothing to do for this model here; the message is the reason, in words for the user."""


@dataclass(frozen=True)
class Rewrite:
    """One kind of optimisation. Either `edit` or `apply` is given.

    `edit` changes the graph of one module's forward and says what it changed. `apply` changes the model as a whole.
    The optimiser compares the model's outputs before and after, and takes the changes back when they differ.
    """

    name: str
    level: str
    """The lowest level of AMDOptimizer that has it: "conservative", "balanced" or "aggressive"."""
    effect: str
    """What is to be expected of it, in words."""
    edit: Callable[[TracedForward], list[Change]] | None = None
    apply: Callable[[nn.Module, Job], list[Change] | Applied] | None = None
    is_fusion: bool = False
    """Switched by AMDConfig.enable_operator_fusion."""
    is_exact: bool = False
    """The same floating point operations in the same order: outputs must not differ in a bit."""
    is_local: bool = False
    """Each of its changes comes with its `Part`: it may be applied without an example."""
    compared: str = WITHOUT_DROPOUT
    """Under which conditions its outputs can be compared: one of those of `check.conditions`."""
    judged_by_time: bool = True
    """Taken back where it is slower. Not so for what trades time for memory."""
    drops_unused_outputs: bool = False
    """Its edit wants to know which outputs of a module no caller uses."""
    reconsiders: bool = False
    """Steps before it may help only without it: with it, all of them are measured again, and go if they slow it."""
    only_if_faster: bool = False
    """Kept only where a measurement shows that it pays; not applied where nothing is measured."""
    available: Callable[[nn.Module, Job], str | None] = field(default=lambda model, job: None)
    """The reason why it cannot be applied here at all, or None."""


@dataclass
class Applied:
    """What one rewrite did to a model."""

    changes: list[Change] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    """Places that looked like ones to rewrite, and why they were left alone."""
    untraceable: list[tuple[str, str]] = field(default_factory=list)
    """Modules whose forward no rewrite can see into, and why."""
    forwards: list[tuple[nn.Module, Any, Any]] = field(default_factory=list)
    """Module, the forward put on it before, the forward put on it now."""

    def switch(self, on: bool) -> None:
        """Turn the changes off or on, where both states compute the same and only the time differs."""
        from kernel_pytorch.models.fx.forwards import set_forward

        for module, before, after in self.forwards:
            set_forward(module, after if on else before)
        for change in self.changes:
            if change.switch is not None:
                change.switch(on)

    def undo(self) -> None:
        """Take everything back, last first."""
        from kernel_pytorch.models.fx.forwards import set_forward

        for module, before, _ in reversed(self.forwards):
            set_forward(module, before)
        for change in reversed(self.changes):
            if change.undo is not None:
                change.undo()

    def in_words(self) -> list[str]:
        """What was changed, and how often."""
        counts: dict[str, int] = {}
        for change in self.changes:
            counts[change.what] = counts.get(change.what, 0) + 1
        return [what if count == 1 else f"{count} x {what}" for what, count in counts.items()]
