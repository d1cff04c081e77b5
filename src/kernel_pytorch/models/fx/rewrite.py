"""What passes between the optimizer and its rewrites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.config import AMDConfig

if TYPE_CHECKING:
    from kernel_pytorch.models.fx.trace import TracedForward


@dataclass(frozen=True)
class Change:
    """One place that was rewritten."""

    where: str
    what: str
    undo: Callable[[], None] | None = None
    """Takes back what lies outside the traced forward (weights that were moved, for one)."""
    switch: Callable[[bool], None] | None = None
    """Turns a change of the whole model off and on again, so that both can be timed in turn."""
    only_while_eval: tuple[Any, ...] = ()
    """Modules that must not be in train mode for the rewritten forward to be the same function."""
    drops_output: bool = False
    """An output that nobody used on the example is None now."""
    trouble: Callable[[], str] | None = None
    """Asked after the model ran with the change: why it had no effect; empty where it had."""


@dataclass(frozen=True)
class Job:
    """What a rewrite of the whole model may know."""

    config: AMDConfig
    level: str
    has_example: bool
    measures: bool
    is_rocm: bool
    compile: bool | str | None = None
    gradient_checkpointing: bool | str = False
    graphs: bool = True


class NotApplicable(Exception):
    """Raised by a rewrite that does not apply to this model here; the message is the reason."""


@dataclass(frozen=True)
class Rewrite:
    """One kind of optimisation. Either `edit` or `apply` is given.

    `edit` changes the graph of one module's forward and says what it changed. `apply` changes the model as a whole.
    The optimizer compares the model's outputs before and after, and takes the changes back when they differ.
    """

    name: str
    level: str
    """The lowest level that has it: "conservative", "balanced" or "aggressive"."""
    effect: str
    """What is to be expected of it, in words."""
    edit: Callable[[TracedForward], list[Change]] | None = None
    apply: Callable[[Any, Job], list[Change]] | None = None
    is_fusion: bool = False
    """Switched by AMDConfig.enable_operator_fusion."""
    is_exact: bool = False
    """The same floating point operations in the same order: may be applied without an example to check it by."""
    compared: str = "without dropout"
    """Under which conditions its outputs can be compared: one of those of `proof`."""
    judged_by_time: bool = True
    """Taken back where it is slower. Not so for what trades time for memory."""
    drops_unused_outputs: bool = False
    """Its edit wants to know which outputs of a module no caller uses."""
    reconsiders: bool = False
    """Steps before it may help only without it: with it, all of them are measured again, and go if they slow it."""
    only_if_faster: bool = False
    """Kept only where a measurement shows that it pays; not applied where nothing is measured."""
    available: Callable[[Any, Job], str | None] = field(default=lambda model, job: None)
    """The reason why it cannot be applied here at all, or None."""
