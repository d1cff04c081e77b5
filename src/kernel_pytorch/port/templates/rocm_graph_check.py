"""Whether a captured graph replays what the call computes, on inputs it was not captured with.

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x)
    check_replay(graph, lambda: model(x), out, [x])

Written by `kpt port`; imports nothing of it. HIP does not report everything that a graph cannot hold: such a capture
replays stale or wrong numbers. Runs the call once and the graph once; keep it out of code that keeps state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

LOGGER = logging.getLogger(__name__)


def check_replay(
    graph: Any,
    call: Callable[[], Any],
    outputs: Any,
    inputs: Any,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Raises AssertionError where a replay on changed inputs differs from the call. The inputs are put back.

    `graph` has `replay()`; `outputs` are the tensors the capture filled; `inputs` what it reads, tensors and other
    things, nested or not. Where none of them is a floating-point tensor, the numbers of the capture are used again,
    which shows wrong numbers but not stale ones; that is logged.
    """
    tensors = [item for item in tree_leaves(inputs) if isinstance(item, torch.Tensor)]
    floating = [tensor for tensor in tensors if tensor.is_floating_point()]
    if not floating:
        LOGGER.warning("no floating-point input to change: a replay of stale numbers would not be noticed")
    saved = [tensor.detach().clone() for tensor in floating]
    try:
        with torch.no_grad():
            for tensor in floating:
                # Other numbers of the same size, so that nothing overflows that did not before.
                tensor.copy_(tensor.flip(-1) * 0.5 + 0.25 * tensor.mean() if tensor.ndim else tensor * 0.5)
        graph.replay()
        replayed = tree_map(_copied, outputs)
        torch.testing.assert_close(replayed, tree_map(_copied, call()), rtol=rtol, atol=atol)
    finally:
        with torch.no_grad():
            for tensor, before in zip(floating, saved, strict=True):
                tensor.copy_(before)


def _copied(item: Any) -> Any:
    return item.detach().clone() if isinstance(item, torch.Tensor) else item
