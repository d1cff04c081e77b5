"""Copies of the inputs to rotate through, so that no call finds its own in a cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kernel_pytorch.models.inputs import Inputs, own_copy

MAX_COPIES = 8
MAX_BYTES = 2 << 30


def rotated_calls(function: Callable[..., Any], inputs: Inputs, device_cache_bytes: int) -> list[Callable[[], object]]:
    """The call with as many copies of its inputs as push each other out of the caches, at most eight."""
    from torch.utils import _pytree

    size = sum(_bytes(leaf) for leaf in _pytree.tree_leaves((inputs.args, inputs.kwargs)))
    wanted = max(2, -(-device_cache_bytes // size)) if size and device_cache_bytes else 2
    count = max(1, min(MAX_COPIES, wanted, MAX_BYTES // size)) if size else 1
    # The first set is the user's own.
    return [partial(inputs.call, function), *(partial(_own(inputs).call, function) for _ in range(count - 1))]


def _own(inputs: Inputs) -> Inputs:
    return inputs.mapped(lambda leaf: own_copy(leaf) if _bytes(leaf) else leaf)


def _bytes(leaf: Any) -> int:
    import torch

    return int(leaf.element_size() * leaf.numel()) if isinstance(leaf, torch.Tensor) else 0
