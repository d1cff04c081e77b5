"""Linear layers that read the same input (query, key, value; gate and up) as one matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward, between, mutates
from kernel_pytorch.models.rewrites.joined_weights import join, joint_view, owns_its_storage, project_together


def edit(traced: TracedForward) -> list[Change]:
    """Group calls of Linear layers by their input node, and replace each group by one call."""
    groups: dict[Any, list[Any]] = {}
    for node in traced.graph.nodes:
        if node.op == "call_module" and len(node.args) == 1 and not node.kwargs and _is_linear(traced.submodule(node)):
            groups.setdefault(node.args[0], []).append(node)
    return [change for nodes in groups.values() if len(nodes) > 1 for change in _fuse(traced, nodes)]


def _fuse(traced: TracedForward, nodes: list[Any]) -> list[Change]:
    import operator

    layers = [traced.submodule(node) for node in nodes]
    where = ", ".join(traced.place(node.target) for node in nodes)
    reason = _obstacle(traced, nodes, layers)
    if reason:
        traced.refuse(where, reason)
        return []
    graph = traced.graph
    with graph.inserting_before(nodes[0]):
        modules = tuple(graph.get_attr(node.target) for node in nodes)
        joint = graph.call_function(project_together, (nodes[0].args[0], modules))
        for index, node in enumerate(nodes):
            node.replace_all_uses_with(graph.call_function(operator.getitem, (joint, index)))
    for node in nodes:
        graph.erase_node(node)
    undos = []
    for parameters in ([layer.weight for layer in layers], [layer.bias for layer in layers]):
        if parameters[0] is not None and joint_view(parameters) is None:
            undos.append(join(parameters))

    def undo() -> None:
        for separate in undos:
            separate()

    rows = " + ".join(str(layer.out_features) for layer in layers)
    return [Change(where, f"{len(nodes)} products into one ({rows} rows)", undo=undo)]


def _is_linear(layer: Any) -> bool:
    from torch import nn

    return type(layer) is nn.Linear


def _obstacle(traced: TracedForward, nodes: Sequence[Any], layers: Sequence[Any]) -> str:
    """Why these layers cannot be one, or nothing."""
    import torch

    parameters = [item for layer in layers for item in (layer.weight, layer.bias) if item is not None]
    if any(type(item) is not torch.nn.Parameter for item in parameters):
        return "a weight is sharded, quantised or computed from others"
    if len(set(map(id, layers))) != len(layers) or len(set(map(id, parameters))) != len(parameters):
        return "two of the layers share a weight"
    if len({layer.bias is None for layer in layers}) > 1:
        return "some of the layers have a bias and some have none"
    if len({(item.dtype, item.device) for item in parameters}) > 1:
        return "the weights differ in dtype or device"
    if not all(is_plain(layer) for layer in layers):
        return "a layer has hooks or a forward of its own"
    if not all(owns_its_storage(item, traced.shared_storages) for item in parameters) and any(
        joint_view(group) is None
        for group in ([layer.weight for layer in layers], [layer.bias for layer in layers])
        if group[0] is not None
    ):
        return "a weight shares its storage with another tensor"
    if mutates(traced, between(nodes[0], nodes[-1])):
        return "something between the layers writes in place"
    return ""


REWRITE = Rewrite(
    name="projection fusion",
    level="balanced",
    effect="one larger matrix product in place of several, where calls are not compiled",
    edit=edit,
    is_fusion=True,
)
