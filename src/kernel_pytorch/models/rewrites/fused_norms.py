"""nn.RMSNorm, and RMS norms written by hand, as one Triton kernel in inference.

A norm written by hand is known by its graph: the mean of a square along the last axis, plus a constant, under a
reciprocal square root, times the input and a weight. A call that needs gradients takes torch's own operations.
"""

from __future__ import annotations

from typing import Any

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.rewrites import triton_kernels

# Where the row, computed in fp32, is rounded to the dtype of the input.
NO_CASTS, ROUND_FIRST, WEIGHT_FIRST = "no casts", "before the weight", "after the weight"


def edit(traced: TracedForward) -> list[Change]:
    """Replace calls of nn.RMSNorm, and a whole forward that is an RMS norm."""
    return [*_module_calls(traced), *_whole_forward(traced)]


def norm_module(module: Any, x: Any) -> Any:
    """module(x) for an nn.RMSNorm over the last axis."""
    import torch

    if not is_plain(module) or not _serves(x, module.weight) or not _eps_is_known(module, x.dtype):
        return module(x)
    eps = module.eps if module.eps is not None else torch.finfo(torch.float32).eps
    return triton_kernels.rms_norm(x, module.weight, eps, True)


def norm_values(x: Any, weight: Any, eps: float, order: str) -> Any:
    """The same by its values; in torch operations where the kernel does not serve the call."""
    import torch

    if _serves(x, weight):
        return triton_kernels.rms_norm(x, weight, eps, order != ROUND_FIRST)
    if order == NO_CASTS:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normal.to(x.dtype) if order == ROUND_FIRST else (normal * weight).to(x.dtype)


def _eps_is_known(module: Any, dtype: Any) -> bool:
    """eps=None is the epsilon of fp32 or of the input's dtype, by version; the two differ by 65536 in bf16."""
    import torch

    return module.eps is not None or dtype == torch.float32


def _serves(x: Any, weight: Any) -> bool:
    import torch

    needs_gradient = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    return (
        not needs_gradient
        and not torch.compiler.is_compiling()  # Inductor fuses a norm with its neighbours
        and x.device.type in triton_devices()
        and x.dtype == weight.dtype
        and x.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and x.shape[-1] <= triton_kernels.LONGEST_ROW
        and not torch.is_autocast_enabled(x.device.type)
    )


def triton_devices() -> tuple[str, ...]:
    """Devices Triton runs on: GPUs, and the CPU under its interpreter."""
    import os

    return ("cuda", "cpu") if os.environ.get("TRITON_INTERPRET") == "1" else ("cuda",)


def _module_calls(traced: TracedForward) -> list[Change]:
    from torch import nn

    changes = []
    for node in list(traced.graph.nodes):
        module = traced.submodule(node)
        is_norm = hasattr(nn, "RMSNorm") and type(module) is nn.RMSNorm
        if not is_norm or len(node.args) != 1 or node.kwargs:
            continue
        if not is_plain(module) or len(module.normalized_shape) != 1 or module.weight is None:
            traced.refuse(traced.place(node.target), "RMSNorm with hooks, without weight or over several axes")
            continue
        if not _eps_is_known(module, traced.value(node.args[0]).dtype):
            traced.refuse(traced.place(node.target), "RMSNorm(eps=None) in 16 bits differs between versions of torch")
            continue
        with traced.graph.inserting_before(node):
            owner = traced.graph.get_attr(node.target)
            new = traced.graph.call_function(norm_module, (owner, node.args[0]))
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        changes.append(Change(traced.place(node.target), "RMSNorm as one Triton kernel"))
    return changes


def _whole_forward(traced: TracedForward) -> list[Change]:
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
        new = graph.call_function(norm_values, (x, weights[0], eps, order))
    output.replace_input_with(output.args[0], new)
    for node in reversed(list(graph.nodes)):
        if not node.users and node.op in ("call_function", "call_method"):
            graph.erase_node(node)
    return [Change(traced.where or "the model", f"{type(traced.module).__name__} as one Triton kernel")]


def _one_axis(traced: TracedForward, weight: Any, x: Any) -> bool:
    have, given = traced.value(weight), traced.value(x)
    return bool(have.shape and given.shape and len(have.shape) == 1 and have.shape[0] == given.shape[-1])


def _epsilon(traced: TracedForward, root: Any, x: Any) -> float | None:
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


def _weight_order(root: Any, weight: Any, x: Any, result: Any) -> str | None:
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


def _without_casts(node: Any) -> Any:
    while operation(node) == "cast":
        node = node.args[0]
    return node


REWRITE = Rewrite(
    name="fused RMS norm",
    level="aggressive",
    effect="one read and one write per row in place of several passes, in inference that is not compiled",
    edit=edit,
    is_fusion=True,
    available=lambda model, job: triton_kernels.why_not(model),
)
