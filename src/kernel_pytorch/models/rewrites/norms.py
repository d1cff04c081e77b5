"""Norms of a model as our kernels, alone or with the sum before them. Found in the graph of a module's forward.

A norm written by hand is known by its graph: the mean of a square along the last axis, plus a constant, under a
reciprocal square root, times the input and a weight.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward, Untraceable, Value, between, mutates, trace
from kernel_pytorch.models.kernels.functions import IN_EAGER_INFERENCE, serves
from kernel_pytorch.models.kernels.ops import call, why_not

if TYPE_CHECKING:
    from torch import Tensor, fx, nn

RMS, LAYER = "rms", "layer"
# Where the row, computed in fp32, is rounded to the dtype of the input.
NO_CASTS, ROUND_FIRST, WEIGHT_FIRST = "no casts", "before the weight", "after the weight"
_ONE_TENSOR = ("tuple", ("tuple", ("tensor",)), ("dict",))


class Norm(NamedTuple):
    """What a module computes: RMSNorm or LayerNorm over the last axis."""

    kind: str
    weight: str
    eps: float
    order: str
    """Where an RMS norm rounds."""


def norms(use: str) -> Rewrite:
    """Every norm by itself. `use`: when its kernel is taken, one of those of `kernels.functions`."""
    return Rewrite(
        name="norm kernels", level="aggressive", effect="one kernel for each norm, forward and backward",
        edit=partial(_edit_norms, use=use), is_fusion=True,
    )  # fmt: skip


def added_norms(use: str) -> Rewrite:
    """A norm together with the sum of a residual before it."""
    return Rewrite(
        name="add+norm kernels", level="aggressive", effect="the sum is written once and not read again by its norm",
        edit=partial(_edit_added, use=use), is_fusion=True,
    )  # fmt: skip


def _edit_norms(traced: TracedForward, use: str) -> list[Change]:
    return [*_edit_rms_norms(traced, use), *_layer_norms(traced, use)]


def _edit_rms_norms(traced: TracedForward, use: str) -> list[Change]:
    return [*_rms_norms(traced, use), *_whole_forward(traced, use)]


def rms_module(module: nn.Module, x: Tensor, use: str) -> Tensor:
    """module(x) for an nn.RMSNorm over the last axis."""
    eps = _eps_of(module, x.dtype)
    if eps is None or not is_plain(module) or not _serves("rms_norm", use, x, module.weight):
        return module(x)
    return call("rms_norm", x, module.weight, eps, 0.0, False)[0]


def rms_values(x: Tensor, weight: Tensor, eps: float, order: str, use: str) -> Tensor:
    """An RMS norm written by hand, by its values; in torch operations where the kernel does not serve the call."""
    import torch

    if _serves("rms_norm", use, x, weight):
        return call("rms_norm", x, weight, eps, 0.0, order == ROUND_FIRST)[0]
    if order == NO_CASTS:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normal.to(x.dtype) if order == ROUND_FIRST else (normal * weight).to(x.dtype)


def layer_module(module: nn.Module, x: Tensor, use: str) -> Tensor:
    """module(x) for an nn.LayerNorm over the last axis."""
    if not is_plain(module) or not _serves("layer_norm", use, x, module.weight):
        return module(x)
    return call("layer_norm", x, module.weight, module.bias, module.eps)[0]


def added(module: nn.Module, x: Tensor, residual: Tensor, norm: tuple[str, str, float, str], use: str) -> Any:
    """module(x + residual), and x + residual."""
    kind, weight, eps, order = norm
    factor = getattr(module, weight)
    name = "add_rms_norm" if kind == RMS else "add_layer_norm"
    if not is_plain(module) or not _serves(name, use, x, factor, residual):
        h = x + residual
        return module(h), h
    if kind == RMS:
        y, h, _ = call(name, x, residual, factor, eps, 0.0, order == ROUND_FIRST)
    else:
        y, h, _, _ = call(name, x, residual, factor, module.bias, eps)
    return y, h


def _eps_of(module: nn.Module, dtype: Any) -> float | None:
    """eps=None is the epsilon of fp32 or of the input's dtype, by version of torch; the two differ by 65536 in bf16."""
    import torch

    if module.eps is not None:
        return float(module.eps)
    return float(torch.finfo(torch.float32).eps) if dtype == torch.float32 else None


def _serves(op: str, use: str, x: Tensor, weight: Tensor | None, residual: Tensor | None = None) -> bool:
    import torch

    # Another dtype of the weight, or autocast, would give the result another dtype.
    return (
        weight is not None
        and weight.dtype == x.dtype
        and not torch.is_autocast_enabled(x.device.type)
        and serves(op, use, x, weight, residual)
    )


def _rms_norms(traced: TracedForward, use: str) -> list[Change]:
    from torch import nn

    changes = []
    for node in list(traced.graph.nodes):
        module = traced.submodule(node)
        is_norm = hasattr(nn, "RMSNorm") and type(module) is nn.RMSNorm
        if not is_norm or len(node.args) != 1 or node.kwargs:
            continue
        if not is_plain(module) or len(module.normalized_shape) != 1 or module.weight is None:
            traced.refuse(traced.place(node.target), "RMSNorm with hooks, without weight or over several axes")
        elif _eps_of(module, traced.value(node.args[0]).dtype) is None:
            traced.refuse(traced.place(node.target), "RMSNorm(eps=None) in 16 bits differs between versions of torch")
        else:
            changes.append(_by_kernel(traced, node, rms_module, use))
    return changes


def _layer_norms(traced: TracedForward, use: str) -> list[Change]:
    changes = []
    for node in list(traced.graph.nodes):
        module = traced.submodule(node)
        found = _torch_norm(module) if len(node.args) == 1 and not node.kwargs else None
        if found is not None and found.kind == LAYER:
            changes.append(_by_kernel(traced, node, layer_module, use))
    return changes


def _by_kernel(traced: TracedForward, node: fx.Node, function: Any, use: str) -> Change:
    """The call of a module as function(module, x, use)."""
    place, kind = traced.place(node.target), type(traced.submodule(node)).__name__
    with traced.graph.inserting_before(node):
        owner = traced.graph.get_attr(node.target)
        new = traced.graph.call_function(function, (owner, node.args[0], use))
    node.replace_all_uses_with(new)
    traced.graph.erase_node(node)
    return Change(place, f"{kind} as one Triton kernel")


def _whole_forward(traced: TracedForward, use: str) -> list[Change]:
    graph = traced.graph
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    if len(inputs) != 1 or next(traced.module.children(), None) is not None:
        return []
    x = inputs[0]
    output = next(iter(reversed(graph.nodes)))
    roots = [node for node in graph.nodes if operation(node) == "rsqrt"]
    weights = [node for node in graph.nodes if node.op == "get_attr"]
    if len(roots) != 1 or len(weights) != 1 or not _one_axis(traced, weights[0], x):
        return []
    eps = _epsilon(traced, roots[0], x)
    order = _weight_order(roots[0], weights[0], x, output.args[0])
    if eps is None or order is None:
        traced.refuse(traced.where, "looks like an RMS norm, but is not written in a way that is known")
        return []
    with graph.inserting_before(output):
        new = graph.call_function(rms_values, (x, weights[0], eps, order, use))
    output.replace_input_with(output.args[0], new)
    for node in reversed(list(graph.nodes)):
        if not node.users and node.op in ("call_function", "call_method"):
            graph.erase_node(node)
    return [Change(traced.where or "the model", f"{type(traced.module).__name__} as one Triton kernel")]


def _one_axis(traced: TracedForward, weight: fx.Node, x: fx.Node) -> bool:
    have, given = traced.value(weight), traced.value(x)
    return bool(have.shape and given.shape and len(have.shape) == 1 and have.shape[0] == given.shape[-1])


def _epsilon(traced: TracedForward, root: fx.Node, x: fx.Node) -> float | None:
    """The constant in rsqrt(mean(x^2, -1) + constant); None if that is not what stands there."""
    total = argument(root, 0, "input")
    if operation(total) != "add":
        return None
    mean, constant = argument(total, 0, "input"), argument(total, 1, "other")
    if operation(mean) != "mean":
        mean, constant = constant, mean
    eps = traced.value(constant).number
    if operation(mean) != "mean" or eps is None or argument(mean, 2, "keepdim") is not True:
        return None
    axis = argument(mean, 1, "dim")
    axis = axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis
    rank = len(traced.value(x).shape or ())
    if axis not in (-1, rank - 1):
        return None
    square = argument(mean, 0, "input")
    is_square = (
        operation(square) == "square"
        or (operation(square) == "pow" and argument(square, 1, "exponent") == 2)
        or (operation(square) == "mul" and square.args[0] is square.args[1])
    )
    return eps if is_square and _without_casts(square.args[0]) is x else None


def _weight_order(root: fx.Node, weight: fx.Node, x: fx.Node, result: fx.Node) -> str | None:
    """Whether the row is rounded to its dtype before or after the weight; None if the rest is something else."""
    node = result
    rounded_after = operation(node) == "cast"
    node = _without_casts(node)
    if operation(node) != "mul" or weight not in map(_without_casts, node.args):
        return None
    normal = next((item for item in node.args if _without_casts(item) is not weight), None)
    rounded_before = operation(normal) == "cast"
    normal = _without_casts(normal)
    if operation(normal) != "mul" or {_without_casts(item) for item in normal.args} != {root, x}:
        return None
    if rounded_before:
        return ROUND_FIRST
    return WEIGHT_FIRST if rounded_after else NO_CASTS


def _without_casts(node: fx.Node) -> Any:
    while operation(node) == "cast":
        node = node.args[0]
    return node


def _edit_added(traced: TracedForward, use: str) -> list[Change]:
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
            both = graph.call_function(added, (owner, x, residual, tuple(found), use))
            y, h = (graph.call_method("__getitem__", (both, place)) for place in (0, 1))
        node.replace_all_uses_with(y)
        total.replace_all_uses_with(h)
        graph.erase_node(node)
        graph.erase_node(total)
        changes.append(Change(traced.place(node.target), f"add and {found.kind} norm as one Triton kernel"))
    return changes


def _in_place(node: fx.Node) -> bool:
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return name in ("add_", "iadd") or "out" in node.kwargs


def _norm_of(module: nn.Module, like: Value) -> Norm | None:
    return _torch_norm(module) or _norm_by_hand(module, like)


def _torch_norm(module: nn.Module) -> Norm | None:
    from torch import nn

    kind = {nn.LayerNorm: LAYER, getattr(nn, "RMSNorm", None): RMS}.get(type(module))
    if kind is None or not is_plain(module) or len(module.normalized_shape) != 1 or module.weight is None:
        return None
    if module.eps is None:  # fp32's or the dtype's, by version of torch
        return None
    return Norm(kind, "weight", module.eps, WEIGHT_FIRST)


def _norm_by_hand(module: nn.Module, like: Value) -> Norm | None:
    """An RMS norm whose forward was written out, known by its graph."""
    import torch

    parameters = list(module.named_parameters()) if module is not None else []
    if len(parameters) != 1 or next(module.children(), None) is not None or not is_plain(module):
        return None
    weight = parameters[0][1]
    try:
        with torch.no_grad():
            traced = trace(module, _ONE_TENSOR, [torch.ones(like.shape, dtype=like.dtype, device=weight.device)])
            _whole_forward(traced, IN_EAGER_INFERENCE)
    except Untraceable:
        return None
    for node in traced.graph.nodes:
        if node.target is rms_values and node.args[1].op == "get_attr":
            return Norm(RMS, node.args[1].target, node.args[2], node.args[3])
    return None


REWRITE = Rewrite(
    name="fused RMS norm",
    level="aggressive",
    effect="one read and one write per row in place of several passes, in inference that is not compiled",
    edit=partial(_edit_rms_norms, use=IN_EAGER_INFERENCE),
    is_fusion=True,
    available=lambda model, job: why_not(model),
)
