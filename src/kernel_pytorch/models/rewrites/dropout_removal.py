"""Dropout and Identity in eval mode: the same values with fewer calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.rewrite import Change, Part, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import fx, nn


def edit(traced: TracedForward) -> list[Change]:
    """Take Dropout modules in eval mode, Identity modules and F.dropout(training=False) out of the graph."""
    import torch
    from torch import nn
    from torch.nn import functional

    changes = []
    for node in list(traced.graph.nodes):
        module = traced.submodule(node)
        if module is not None and _does_nothing(module) and len(node.args) == 1 and not node.kwargs:
            guard = (module,) if hasattr(module, "p") else ()
            place, what, original = traced.place(node.target), f"{type(module).__name__} removed", module
        elif node.op == "call_function" and node.target is functional.dropout and _training_argument(node) is False:
            guard, place, what = (), traced.where, "F.dropout(training=False) removed"
            original = nn.Dropout().eval()
        else:
            continue
        node.replace_all_uses_with(node.args[0])
        traced.graph.erase_node(node)
        part = Part(original, lambda x: x, Inputs((torch.linspace(-4.0, 4.0, 24).view(2, 3, 4),)))
        changes.append(Change(place, what, only_while_eval=guard, part=part))
    return changes


def _does_nothing(module: nn.Module) -> bool:
    from torch import nn

    if type(module) is nn.Identity:
        return is_plain(module)
    kinds = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
    return type(module) in kinds and not module.training and is_plain(module)


def _training_argument(node: fx.Node) -> Any:
    if not node.args:
        return None
    return node.args[2] if len(node.args) > 2 else node.kwargs.get("training", True)


REWRITE = Rewrite(
    name="dropout removal",
    level="conservative",
    effect="one module call less per layer and pass (host time)",
    edit=edit,
    is_exact=True,
    is_local=True,
)
