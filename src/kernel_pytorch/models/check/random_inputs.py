"""Random data that a layer takes, by its own shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import nn

ROWS = 4


def random_inputs(layer: nn.Module) -> Inputs:
    """Arguments for a Linear, a convolution or an Embedding, always the same. Raises ValueError for another layer."""
    import torch
    from torch import nn

    generator = torch.Generator().manual_seed(0)
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.device.type == "meta":
        raise ValueError(f"{type(layer).__name__} does not say what it takes")
    if type(layer) is nn.Embedding:
        return Inputs((torch.randint(layer.num_embeddings, (ROWS, 8), generator=generator).to(weight.device),))
    if isinstance(layer, nn.Linear):
        shape = [ROWS, layer.in_features]
    elif isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        axes = zip(layer.kernel_size, layer.dilation, layer.stride, strict=True)
        shape = [ROWS, layer.in_channels, *(spread * (kernel - 1) + 1 + 3 * step for kernel, spread, step in axes)]
    else:
        raise ValueError(f"{type(layer).__name__} does not say what it takes")
    dtype = weight.dtype if weight.dtype.is_floating_point else torch.float32
    return Inputs((torch.randn(shape, generator=generator).to(weight.device, dtype),))


def made_inputs(model: nn.Module) -> Inputs | None:
    """An input for a Linear or Embedding, or a Sequential that begins with one; None where it cannot be known."""
    from torch import nn

    first = model
    while type(first) is nn.Sequential and len(first) > 0:
        first = first[0]
    if type(first) not in (nn.Linear, nn.Embedding):
        return None
    try:
        return random_inputs(first)
    except ValueError:
        return None
