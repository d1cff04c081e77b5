"""silu(gate) * up as one Triton kernel in inference. A call that needs gradients takes torch's own operations."""

from __future__ import annotations

from typing import Any

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.graph_nodes import argument, operation
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.rewrites import triton_kernels
from kernel_pytorch.models.rewrites.fused_norms import triton_devices


def edit(traced: TracedForward) -> list[Change]:
    """Replace products with a SiLU on one side, where the SiLU is used for nothing else."""
    changes = []
    for node in list(traced.graph.nodes):
        if operation(node) != "mul" or len(node.args) != 2 or node.target in ("mul_",):
            continue
        for silu, up in (node.args, reversed(node.args)):
            gate = _silu_input(traced, silu)
            if gate is None or traced.value(up).shape != traced.value(silu).shape:
                continue
            if len(silu.users) != 1:
                traced.refuse(traced.where, "the result of SiLU is also used elsewhere")
                break
            with traced.graph.inserting_before(node):
                new = traced.graph.call_function(gated, (gate, up))
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
            traced.graph.erase_node(silu)
            changes.append(Change(traced.where or "the model", "silu(gate) * up as one Triton kernel"))
            break
    return changes


def gated(gate: Any, up: Any) -> Any:
    """silu(gate) * up."""
    import torch
    from torch.nn import functional

    if (
        gate.device.type in triton_devices()
        and gate.dtype == up.dtype
        and gate.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and gate.shape == up.shape
        and not torch.compiler.is_compiling()
        and not (torch.is_grad_enabled() and (gate.requires_grad or up.requires_grad))
    ):
        return triton_kernels.silu_times(gate, up)
    return functional.silu(gate) * up


def _silu_input(traced: TracedForward, node: Any) -> Any:
    from torch import nn
    from torch.nn import functional

    module = traced.submodule(node)
    if type(module) is nn.SiLU and is_plain(module) and not module.inplace and len(node.args) == 1:
        return node.args[0]
    if getattr(node, "op", "") == "call_function" and node.target is functional.silu:
        return None if argument(node, 1, "inplace", False) else argument(node, 0, "input")
    return None


REWRITE = Rewrite(
    name="gated activation",
    level="aggressive",
    effect="one kernel and one intermediate less per gated MLP, in inference that is not compiled",
    edit=edit,
    is_fusion=True,
    available=lambda model, job: triton_kernels.why_not(model),
)
