"""Inputs that no rung has seen: other values of the same shapes, types and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.inputs import Inputs, own_copy

if TYPE_CHECKING:
    from torch import Tensor

# As many different values as this, and a tensor holds data; fewer, and it is a mask or a set of codes.
_DATA = 3


def fresh_inputs(inputs: Inputs, seed: int) -> Inputs:
    """Other values, always the same for one seed. What looks like a mask or like positions keeps its values.

    Except that with an even seed the rows of a padding mask get other lengths: a rewrite must not know them by heart.
    """
    import torch
    from torch.utils import _pytree

    leaves, structure = _pytree.tree_flatten((inputs.args, inputs.kwargs))
    fresh = [
        fresh_tensor(leaf, 1000 * seed + place, pads_anew=seed % 2 == 0)
        if isinstance(leaf, torch.Tensor)
        else own_copy(leaf)
        for place, leaf in enumerate(leaves)
    ]
    args, kwargs = _pytree.tree_unflatten(fresh, structure)
    return Inputs(tuple(args), dict(kwargs))


def fresh_tensor(tensor: Tensor, seed: int, *, pads_anew: bool = False) -> Any:
    """Other values for one tensor."""
    import torch

    if pads_anew and (padding := _padding_side(tensor)):
        return _padded_anew(tensor, padding, seed)
    if tensor.numel() == 0 or tensor.dtype == torch.bool or tensor.is_complex() or tensor.is_quantized:
        return tensor.detach().clone()
    generator = torch.Generator(tensor.device).manual_seed(seed)
    if tensor.is_floating_point():
        return _fresh_floats(tensor, generator).requires_grad_(tensor.requires_grad)
    if _is_structure(tensor):
        return tensor.clone()
    low, high = int(tensor.min()), int(tensor.max())
    return torch.randint(low, high + 1, tensor.shape, generator=generator, device=tensor.device, dtype=torch.int64).to(
        tensor.dtype
    )


def _fresh_floats(tensor: Tensor, generator: Any) -> Any:
    import torch

    values = tensor.detach().float()
    sample = values.flatten()[:65536]
    if not bool(torch.isfinite(values).all()) or len(torch.unique(sample)) < min(_DATA, tensor.numel()):
        return tensor.detach().clone()  # an additive mask, or a constant that may mean something
    noise = torch.randn(tensor.shape, generator=generator, device=tensor.device, dtype=torch.float32)
    if tensor.numel() == 1:
        return (values * (1 + 0.1 * noise)).to(tensor.dtype)
    drawn = (values.mean() + values.std() * noise).clamp(values.min(), values.max())
    return torch.empty_like(tensor, requires_grad=False).copy_(drawn)  # strides as they were


def _padding_side(tensor: Tensor) -> str:
    """ "left" or "right" for a mask of zeros and ones that pads rows at one end; empty for anything else."""
    import torch

    if tensor.dim() != 2 or tensor.is_floating_point() or tensor.is_complex() or 0 in tensor.shape:
        return ""
    mask = tensor.to(torch.int64)
    if set(torch.unique(mask).tolist()) != {0, 1}:
        return ""
    steps = mask[:, 1:] - mask[:, :-1]
    return "right" if bool((steps <= 0).all()) else "left" if bool((steps >= 0).all()) else ""


def _padded_anew(mask: Tensor, side: str, seed: int) -> Any:
    import torch

    rows, width = mask.shape
    generator = torch.Generator(mask.device).manual_seed(seed)
    lengths = torch.randint(1, width + 1, (rows,), generator=generator, device=mask.device)
    lengths[0] = min(int(lengths[0]), width - 1)  # some padding stays: models take another path without any
    places = torch.arange(width, device=mask.device)
    real = places < lengths[:, None] if side == "right" else places >= width - lengths[:, None]
    return real.to(mask.dtype)


def _is_structure(tensor: Tensor) -> bool:
    """Whole numbers whose order is their meaning: offsets, positions, masks of zeros and ones."""
    if tensor.dim() < 2 or tensor.shape[-1] < 2:
        return bool(tensor.dim() < 2)
    low, high = int(tensor.min()), int(tensor.max())
    if high - low < _DATA - 1:
        return True
    return bool((tensor[..., 1:] >= tensor[..., :-1]).all())
