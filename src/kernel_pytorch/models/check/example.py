"""The arguments a model is checked with: those given, or made where the first layer leaves no choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel_pytorch.core.errors import AMDOptimizationError

Example = tuple[tuple[Any, ...], dict[str, Any]]
ROWS = 4


def split_example(given: Any) -> Example:
    """Positional and keyword arguments of what the caller passed as example_inputs."""
    import torch

    if isinstance(given, torch.Tensor):
        return (given,), {}
    if isinstance(given, (tuple, list)):
        return tuple(given), {}
    if isinstance(given, Mapping):
        return (), dict(given)
    raise AMDOptimizationError(
        f"example_inputs is a {type(given).__name__}: pass a tensor, a tuple of arguments or a dict of keywords"
    )


def example_for(model: Any) -> Example | None:
    """An input for a Linear or Embedding, or a Sequential that begins with one; None where it cannot be known."""
    import torch
    from torch import nn

    first = model
    while type(first) is nn.Sequential and len(first) > 0:
        first = first[0]
    weight = getattr(first, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.device.type == "meta":
        return None
    generator = torch.Generator().manual_seed(0)
    if type(first) is nn.Linear:
        dtype = weight.dtype if weight.dtype.is_floating_point else torch.float32
        values = torch.randn(ROWS, first.in_features, generator=generator, dtype=torch.float32)
        return (values.to(weight.device, dtype),), {}
    if type(first) is nn.Embedding:
        ids = torch.randint(first.num_embeddings, (ROWS, 8), generator=generator)
        return (ids.to(weight.device),), {}
    return None
