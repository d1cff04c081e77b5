"""Norms of a model as our kernels, alone or with the sum before them. Found in the graph of a module's forward."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward, Untraceable, between, mutates, trace
from kernel_pytorch.models.kernels.functions import serves
from kernel_pytorch.models.kernels.ops import call
from kernel_pytorch.models.rewrites import fused_norms
from kernel_pytorch.models.rewrites.owners import is_its_own

RMS, LAYER = "rms", "layer"
_ONE_TENSOR = ("tuple", ("tuple", ("tensor",)), ("dict",))


@dataclass(frozen=True)
class Norm:
    """What a module computes: RMSNorm or LayerNorm over the last axis."""

    kind: str
    weight: str
    eps: float
    order: str
    """Where an RMS norm rounds: one of those of `fused_norms`."""


def norms(force: bool) -> Rewrite:
    """Every norm by itself."""
    return Rewrite(
        name="norm kernels", level="aggressive", effect="one kernel for each norm, forward and backward",
        edit=partial(_edit_norms, force=force), is_fusion=True,
    )  # fmt: skip


def added_norms(force: bool) -> Rewrite:
    """A norm together with the sum of a residual before it."""
    return Rewrite(
        name="add+norm kernels", level="aggressive", effect="the sum is written once and not read again by its norm",
        edit=partial(_edit_added, force=force), is_fusion=True,
    )  # fmt: skip


def _edit_norms(traced: TracedForward, force: bool) -> list[Change]:
    changes = fused_norms.edit(traced)
    ours = {fused_norms.norm_module: rms_module, fused_norms.norm_values: rms_values}
    for node in list(traced.graph.nodes):
        if node.op == "call_function" and node.target in ours:
            node.target, node.args = ours[node.target], (*node.args, force)
            continue
        module = traced.submodule(node)
        found = _torch_norm(module) if len(node.args) == 1 and not node.kwargs else None
        if found is None or found.kind != LAYER:
            continue
        with traced.graph.inserting_before(node):
            owner = traced.graph.get_attr(node.target)
            new = traced.graph.call_function(layer_module, (owner, node.args[0], force))
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        changes.append(Change(traced.place(node.target), "LayerNorm as one Triton kernel"))
    return changes


def rms_module(module: Any, x: Any, force: bool) -> Any:
    """module(x) for an nn.RMSNorm over the last axis."""
    eps = module.eps
    if eps is None or not is_its_own(module) or not _serves("rms_norm", force, x, module.weight):
        return module(x)
    return call("rms_norm", x, module.weight, eps, 0.0, False)[0]


def rms_values(x: Any, weight: Any, eps: float, order: str, force: bool) -> Any:
    """An RMS norm written by hand, by its values."""
    if not _serves("rms_norm", force, x, weight):
        return _by_hand(x, weight, eps, order)
    return call("rms_norm", x, weight, eps, 0.0, order == fused_norms.ROUND_FIRST)[0]


def layer_module(module: Any, x: Any, force: bool) -> Any:
    """module(x) for an nn.LayerNorm over the last axis."""
    if not is_its_own(module) or not _serves("layer_norm", force, x, module.weight):
        return module(x)
    return call("layer_norm", x, module.weight, module.bias, module.eps)[0]


def added(module: Any, x: Any, residual: Any, kind: str, weight: str, eps: float, order: str, force: bool) -> Any:
    """module(x + residual), and x + residual."""
    factor = getattr(module, weight)
    name = "add_rms_norm" if kind == RMS else "add_layer_norm"
    if not is_its_own(module) or not _serves(name, force, x, factor, residual):
        h = x + residual
        return module(h), h
    if kind == RMS:
        y, h, _ = call(name, x, residual, factor, eps, 0.0, order == fused_norms.ROUND_FIRST)
    else:
        y, h, _, _ = call(name, x, residual, factor, module.bias, eps)
    return y, h


def _by_hand(x: Any, weight: Any, eps: float, order: str) -> Any:
    import torch

    if order == fused_norms.NO_CASTS:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normal.to(x.dtype) if order == fused_norms.ROUND_FIRST else (normal * weight).to(x.dtype)


def _serves(op: str, force: bool, x: Any, weight: Any, residual: Any = None) -> bool:
    import torch

    # Another dtype of the weight, or autocast, would give the result another dtype.
    return (
        weight is not None
        and weight.dtype == x.dtype
        and not torch.is_autocast_enabled(x.device.type)
        and serves(op, force, x, weight, residual)
    )


def _edit_added(traced: TracedForward, force: bool) -> list[Change]:
    graph, changes = traced.graph, []
    for node in list(graph.nodes):
        total: Any = node.args[0] if node.op == "call_module" and len(node.args) == 1 and not node.kwargs else None
        if operation(total) != "add" or argument(total, 2, "alpha") is not None or _in_place(total):
            continue
        x, residual = argument(total, 0, "input"), argument(total, 1, "other")
        one, other = traced.value(x), traced.value(residual)
        if not one.is_tensor or one != other or traced.value(total) != one:
            continue
        found = _norm_of(traced.submodule(node), one)
        if found is None:
            continue
        if mutates(traced, between(total, node)):
            traced.refuse(traced.place(node.target), "something is written in place between the sum and the norm")
            continue
        with graph.inserting_before(total):
            owner = graph.get_attr(node.target)
            both = graph.call_function(
                added, (owner, x, residual, found.kind, found.weight, found.eps, found.order, force)
            )
            y, h = (graph.call_method("__getitem__", (both, place)) for place in (0, 1))
        node.replace_all_uses_with(y)
        total.replace_all_uses_with(h)
        graph.erase_node(node)
        graph.erase_node(total)
        changes.append(Change(traced.place(node.target), f"add and {found.kind} norm as one Triton kernel"))
    return changes


def _in_place(node: Any) -> bool:
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return name in ("add_", "iadd") or "out" in node.kwargs


def _norm_of(module: Any, like: Any) -> Norm | None:
    return _torch_norm(module) or _norm_by_hand(module, like)


def _torch_norm(module: Any) -> Norm | None:
    from torch import nn

    kind = {nn.LayerNorm: LAYER, getattr(nn, "RMSNorm", None): RMS}.get(type(module))
    if kind is None or not is_its_own(module) or len(module.normalized_shape) != 1 or module.weight is None:
        return None
    if module.eps is None:  # fp32's or the dtype's, by version of torch
        return None
    return Norm(kind, "weight", module.eps, fused_norms.WEIGHT_FIRST)


def _norm_by_hand(module: Any, like: Any) -> Norm | None:
    """An RMS norm whose forward was written out, known by its graph."""
    import torch

    parameters = list(module.named_parameters()) if module is not None else []
    if len(parameters) != 1 or next(module.children(), None) is not None or not is_its_own(module):
        return None
    weight = parameters[0][1]
    try:
        with torch.no_grad():
            traced = trace(module, _ONE_TENSOR, [torch.ones(like.shape, dtype=like.dtype, device=weight.device)])
            fused_norms.edit(traced)
    except Untraceable:
        return None
    for node in traced.graph.nodes:
        if node.target is fused_norms.norm_values and node.args[1].op == "get_attr":
            return Norm(RMS, node.args[1].target, node.args[2], node.args[3])
    return None
