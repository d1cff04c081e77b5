"""Batch norm after a convolution or a linear layer, folded into its weights for inference.

The folded weights are a cached copy beside the parameters: state dict and training are as before. A call that
needs gradients, a batch norm in train mode and layers with hooks take the original path.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.check.random_inputs import random_inputs
from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.rewrite import Change, Part, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward

if TYPE_CHECKING:
    from torch import Tensor, nn

_folded: weakref.WeakKeyDictionary[Any, tuple[Any, Any, Any]] = weakref.WeakKeyDictionary()


def edit(traced: TracedForward) -> list[Change]:
    """Replace bn(layer(x)) by one call, where the layer's output goes nowhere else."""
    changes = []
    for node in list(traced.graph.nodes):
        norm = traced.submodule(node)
        if norm is None or len(node.args) != 1 or norm.training:
            continue
        source = node.args[0]
        layer = traced.submodule(source)
        if layer is None or not _fit(layer, norm):
            continue
        where = f"{traced.place(source.target)} + {traced.place(node.target)}"
        if len(source.users) != 1:
            traced.refuse(where, "the layer's output is also used without the batch norm")
            continue
        if len(source.args) != 1 or source.kwargs:
            continue
        with traced.graph.inserting_before(node):
            layer_node = traced.graph.get_attr(source.target)
            norm_node = traced.graph.get_attr(node.target)
            new = traced.graph.call_function(layer_then_norm, (layer_node, norm_node, source.args[0]))
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        traced.graph.erase_node(source)
        what = f"{type(norm).__name__} folded into {type(layer).__name__}"
        changes.append(Change(where, what, part=_part(layer, norm)))
    return changes


def _part(layer: nn.Module, norm: nn.Module) -> Part:
    from torch import nn

    original = nn.Sequential(layer, norm)
    original.training = False  # of its own: the mode of the layers is not ours to change
    return Part(original, lambda x: layer_then_norm(layer, norm, x), random_inputs(layer))


def layer_then_norm(layer: nn.Module, norm: nn.Module, x: Tensor) -> Any:
    """norm(layer(x)), with folded weights where that is the same function and no gradient is asked for."""
    import torch

    if torch.compiler.is_compiling():
        # Inductor makes the norm part of the kernel after the layer. Folding here would make the weights anew on
        # every call: it took 1.4 times as long as compiling the original.
        return norm(layer(x))
    if norm.training or not _fit(layer, norm) or not (is_plain(layer) and is_plain(norm)):
        return norm(layer(x))
    if torch.is_grad_enabled() and (
        x.requires_grad or any(item.requires_grad for item in (*layer.parameters(), *norm.parameters()))
    ):
        return norm(layer(x))
    if isinstance(layer, torch.nn.Linear):
        # BatchNorm1d normalises axis 1, which is the features' axis only in two dimensions.
        if x.dim() != 2:
            return norm(layer(x))
        return torch.nn.functional.linear(x, *_weights(layer, norm))
    return layer._conv_forward(x, *_weights(layer, norm))


def fold(layer: nn.Module, norm: nn.Module) -> tuple[Any, Any]:
    """Weight and bias of the layer that computes norm(layer(x)), in the layer's dtype; computed in at least fp32."""
    import torch

    wide = torch.promote_types(layer.weight.dtype, torch.float32)
    variance, mean = norm.running_var.to(wide), norm.running_mean.to(wide)
    scale = torch.rsqrt(variance + norm.eps)
    if norm.weight is not None:
        scale = scale * norm.weight.to(wide)
    shift = -mean * scale
    if norm.bias is not None:
        shift = shift + norm.bias.to(wide)
    if layer.bias is not None:
        shift = shift + layer.bias.to(wide) * scale
    weight = layer.weight.to(wide) * scale.view(-1, *[1] * (layer.weight.dim() - 1))
    return weight.to(layer.weight.dtype), shift.to(layer.weight.dtype)


def _weights(layer: nn.Module, norm: nn.Module) -> tuple[Any, Any]:
    import torch

    tensors = (
        *(layer.weight, layer.bias, norm.weight, norm.bias, norm.running_mean, norm.running_var),
        norm.num_batches_tracked,  # the kernels of a training step write the averages without raising their version
    )
    # In-place updates raise the version, a new storage (a move, a cast) changes the address; inference tensors
    # have no version, and are not updated in place outside of inference mode.
    stamp = tuple(
        (item.data_ptr(), 0 if item.is_inference() else item._version, item.dtype, item.device)
        for item in tensors
        if item is not None
    )
    known = _folded.get(layer)
    if known is None or known[0]() is not norm or known[1] != (stamp, norm.eps):
        with torch.no_grad():
            weight, bias = fold(layer, norm)
            if layer.weight.dim() == 4 and layer.weight.is_contiguous(memory_format=torch.channels_last):
                weight = weight.contiguous(memory_format=torch.channels_last)
        known = (weakref.ref(norm), (stamp, norm.eps), (weight, bias))
        _folded[layer] = known
    pair: tuple[Any, Any] = known[2]
    return pair


def forget_folded_weights() -> None:
    """Drop the cached copies. Needed after weights were written through `.data`, which leaves no trace to see."""
    _folded.clear()


def _fit(layer: nn.Module, norm: nn.Module) -> bool:
    from torch import nn

    pairs = {
        nn.Conv1d: nn.BatchNorm1d,
        nn.Conv2d: nn.BatchNorm2d,
        nn.Conv3d: nn.BatchNorm3d,
        nn.Linear: nn.BatchNorm1d,
    }
    return (
        pairs.get(type(layer)) is type(norm)
        and norm.running_mean is not None
        and norm.running_var is not None
        and norm.num_batches_tracked is not None
        and is_plain(layer)
        and is_plain(norm)
    )


REWRITE = Rewrite(
    name="batch norm folding",
    level="balanced",
    effect="one pass over the activations less per pair, in inference",
    edit=edit,
    is_fusion=True,
    is_local=True,
)
