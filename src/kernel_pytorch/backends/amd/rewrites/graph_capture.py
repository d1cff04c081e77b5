"""The whole model as one graph, recorded per shape and replayed: no Python and no launches between kernels.

For inference under torch.no_grad(). Replays are compared with the model on other inputs before they are used; see
`kernel_pytorch.backends.graphs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.backends.graphs import capture
from kernel_pytorch.models.check.conditions import IN_EVAL
from kernel_pytorch.models.fx.rewrite import Change, Job, Rewrite

if TYPE_CHECKING:
    from torch import nn


def available(model: nn.Module, job: Job) -> str | None:
    """In inference on a GPU, unless the caller does not want it."""
    if not job.graphs:
        return "graphs=False was asked for"
    if model.training:
        return "the model is in train mode: graphs are for inference"
    if not any(item.device.type == "cuda" for item in model.parameters()):
        return "graphs need the model on a GPU"
    return None


def apply(model: nn.Module, job: Job) -> list[Change]:
    """Replay the model's calls, compiled or not; the first call of each shape records."""
    before = model._compiled_call_impl
    captured = capture(before if before is not None else model._call_impl, modules=(model,))

    def switch(on: bool) -> None:
        model._compiled_call_impl = captured if on else before

    def trouble() -> str:
        return "; ".join(captured.reasons)

    switch(True)
    what = "its GPU work recorded per shape and replayed under torch.no_grad()"
    return [Change("the model", what, lambda: switch(False), switch, trouble=trouble)]


REWRITE = Rewrite(
    name="graph capture",
    level="aggressive",
    effect="no launch gaps; the result is a copy of the graph's output",
    apply=apply,
    available=available,
    compared=IN_EVAL,
    only_if_faster=True,
)
