"""Graph breaks of a model, counted by Dynamo itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kernel_pytorch.models.inputs import Inputs

# A climb compiles the same code objects again and again with other settings; beyond its limit Dynamo would give up on
# them without a word, and the next candidate would run eagerly.
_MANY_VARIANTS = 512


@dataclass
class Breaks:
    """How many, and why. `count` is None where nothing was traced."""

    count: int | None = None
    reasons: list[str] = field(default_factory=list)


@contextmanager
def counted_breaks() -> Iterator[Breaks]:
    """Those that Dynamo meets inside the block."""
    from torch._dynamo.utils import counters

    before = Counter(counters["graph_break"])
    found = Breaks()
    try:
        yield found
    finally:
        new = Counter(counters["graph_break"]) - before
        found.count = sum(new.values())
        found.reasons = [_reason(text) for text in new]


def tracing_only() -> Callable[..., Any]:
    """A back end of torch.compile that compiles nothing. A new one each time: for a known one Dynamo takes the graphs
    that it has, and counts no break again."""

    def as_it_is(graph: Any, example: Any) -> Callable[..., Any]:
        run: Callable[..., Any] = graph.forward
        return run

    return as_it_is


def traced_breaks(function: Callable[..., Any], inputs: Inputs) -> Breaks:
    """Those a compile of `function` would meet. Nothing is compiled: the graphs run as they are."""
    import torch

    with counted_breaks() as found, torch.set_grad_enabled(bool(getattr(function, "training", False))):
        inputs.call(torch.compile(function, backend=tracing_only()))
    return found


@contextmanager
def many_variants() -> Iterator[None]:
    """Lets one piece of code be compiled as often as the climb needs."""
    import torch._dynamo

    config = torch._dynamo.config
    names = [name for name in ("recompile_limit", "accumulated_recompile_limit") if hasattr(config, name)]
    names = names or ["cache_size_limit", "accumulated_cache_size_limit"]
    with config.patch({name: max(_MANY_VARIANTS, getattr(config, name)) for name in names}):
        yield


def _reason(text: str) -> str:
    """Dynamo's reasons have a title and then an explanation, a hint and a link."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[0][:200] if lines else "no reason given"
