"""Products with an activation on one side as our kernels. The activation is known by its code, or by what it gives."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.kernels.functions import IN_EAGER_INFERENCE, serves
from kernel_pytorch.models.kernels.ops import ACTIVATIONS, call, why_not
from kernel_pytorch.models.kernels.plain import activated

if TYPE_CHECKING:
    from torch import Tensor, fx, nn

if TYPE_CHECKING:
    from torch import Tensor, nn


def gated(use: str) -> Rewrite:
    """activation(gate) * up."""
    return Rewrite(
        name="gated activation kernels", level="aggressive", effect="one kernel and one tensor less per gated layer",
        edit=partial(_edit, use=use), is_fusion=True,
    )  # fmt: skip


def product(gate: Tensor, up: Tensor, activation: str, use: str) -> Any:
    """activation(gate) * up."""
    import torch

    op = "silu_mul" if activation == "silu" else "gelu_mul"
    if not torch.is_autocast_enabled(gate.device.type) and serves(op, use, gate, None, up):
        return call("gated", gate, up, activation)
    return activated(gate, activation) * up


def _edit(traced: TracedForward, use: str) -> list[Change]:
    graph, changes = traced.graph, []
    for node in list(graph.nodes):
        if operation(node) != "mul" or len(node.args) != 2 or node.target in ("mul_",):
            continue
        for active, up in (node.args, reversed(node.args)):
            kind = _activation(traced, active)
            if kind is None or traced.value(up) != traced.value(active) or not traced.value(up).is_tensor:
                continue
            if len(active.users) != 1:
                traced.refuse(traced.where, "the result of the activation is also used elsewhere")
                break
            with graph.inserting_before(node):
                new = graph.call_function(product, (argument(active, 0, "input"), up, kind, use))
            node.replace_all_uses_with(new)
            graph.erase_node(node)
            graph.erase_node(active)
            changes.append(Change(traced.where or "the model", f"{kind}(gate) * up as one Triton kernel"))
            break
    return changes


def _activation(traced: TracedForward, node: fx.Node) -> str | None:
    from torch.nn import functional

    module = traced.submodule(node)
    if module is not None:
        alone = len(node.args) == 1 and not node.kwargs and not any(True for _ in module.parameters())
        return _by_values(module) if alone and is_plain(module) and not _has_state(module) else None
    if getattr(node, "op", "") != "call_function":
        return None
    if node.target is functional.silu:
        return None if argument(node, 1, "inplace", False) else "silu"
    if node.target is functional.gelu:
        return {"none": "gelu_erf", "tanh": "gelu_tanh"}.get(node.kwargs.get("approximate", "none"))
    return None


def _has_state(module: nn.Module) -> bool:
    return any(
        (getattr(module, "inplace", False), next(module.buffers(), None) is not None, next(module.children(), None))
    )


def _by_values(module: nn.Module) -> str | None:
    """Which activation a module without weights is, from what it gives for some numbers. None for anything else."""
    import torch

    probe = _probe()
    try:
        with torch.no_grad():
            # Not by calling it: a run that looks for calls would see this one.
            result = type(module).forward(module, probe.clone())
    except Exception:
        return None
    if not isinstance(result, torch.Tensor) or result.shape != probe.shape or result.dtype != probe.dtype:
        return None
    for kind in ACTIVATIONS:
        # The two forms of GELU differ by 5e-4.
        if torch.allclose(result, activated(probe, kind), rtol=1e-6, atol=1e-9):
            return kind
    return None


@lru_cache(maxsize=1)
def _probe() -> Tensor:
    import torch

    return torch.linspace(-9.0, 9.0, 181, dtype=torch.float64)


REWRITE = replace(
    gated(IN_EAGER_INFERENCE),
    name="gated activation",
    effect="one kernel and one intermediate less per gated MLP, in inference that is not compiled",
    available=lambda model, job: why_not(model),
)
