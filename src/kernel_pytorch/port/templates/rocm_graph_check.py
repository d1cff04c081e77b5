"""Whether a captured graph replays what the call computes, on inputs it was not captured with.

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x)
    check_replay(graph, lambda: model(x), out, [x])

Copied from kernel_pytorch; imports nothing of it. HIP does not report everything that a graph cannot hold: such a
capture replays stale or wrong numbers. Runs the call once and the graph once; keep it out of code that keeps state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_map


def check_replay(
    graph: Any,
    call: Callable[[], Any],
    outputs: Any,
    inputs: Sequence[torch.Tensor],
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Raises AssertionError where a replay on changed inputs differs from the call. The inputs are put back.

    `graph` has `replay()`; `outputs` are the tensors the capture filled; `inputs` the ones it reads.
    """
    floating = [tensor for tensor in inputs if tensor.is_floating_point()]
    if not floating:
        raise ValueError("no floating-point input to change: a replay of the same numbers proves nothing")
    saved = [tensor.clone() for tensor in floating]
    try:
        for tensor in floating:
            # Other numbers of the same size, so that nothing overflows that did not before.
            tensor.copy_(tensor.flip(-1) * 0.5 + 0.25 * tensor.mean())
        graph.replay()
        replayed = tree_map(_copied, outputs)
        torch.testing.assert_close(replayed, tree_map(_copied, call()), rtol=rtol, atol=atol)
    finally:
        for tensor, before in zip(floating, saved, strict=True):
            tensor.copy_(before)


def _copied(item: Any) -> Any:
    return item.clone() if isinstance(item, torch.Tensor) else item
