"""Which linear layers read the same tensor (query, key and value; gate and up), seen in a run of the example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.example_run import run_once
from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.fx.trace import shared_storages
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.rewrites.joined_weights import joint_view, owns_its_storage
from kernel_pytorch.models.tree import shallow_tree

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Group:
    """Layers of one module, in the order they are called."""

    names: tuple[str, ...]
    rows: tuple[int, ...]

    @property
    def parent(self) -> str:
        return self.names[0].rpartition(".")[0]


@dataclass(frozen=True)
class Projections:
    """What can be joined, and what looked like it and cannot."""

    groups: tuple[Group, ...]
    refusals: tuple[tuple[str, str], ...]


def find(model: nn.Module, inputs: Inputs) -> Projections:
    """Groups of nn.Linear that one module calls with the same tensor."""
    calls = _calls_by_tensor(shallow_tree(model), inputs)
    shared = shared_storages(model)
    groups, refusals = [], []
    taken: set[str] = set()
    for names in dict.fromkeys(calls):
        layers = [model.get_submodule(name) for name in names]
        reason = _obstacle(layers, shared)
        if any(name in taken for name in names) or len(set(names)) != len(names):
            reason = "a layer is called in different ways"
        taken.update(names)
        if reason:
            refusals.append((", ".join(names), reason))
        else:
            groups.append(Group(names, tuple(layer.out_features for layer in layers)))
    return Projections(tuple(groups), tuple(refusals))


def join(model: nn.Module, groups: tuple[Group, ...]) -> nn.Module:
    """A new tree in which each group is computed as one product."""
    from kernel_pytorch.models.rewrites.joint_linear import joined

    if not groups:
        raise NotApplicable("no two linear layers of one module read the same tensor")
    tree = shallow_tree(model)
    for group in groups:
        layers: list[Any] = [tree.get_submodule(name) for name in group.names]
        for name, old, new in zip(group.names, layers, joined(layers), strict=True):
            _replace(tree, name, old, new)
    return tree


def _replace(tree: Any, name: str, old: Any, new: Any) -> None:
    """Everywhere: a layer may be known under several names."""
    for module in tree.modules():
        for key, child in module._modules.items():
            if child is old:
                module._modules[key] = new
        for key, value in list(module.__dict__.items()):
            if value is old:
                module.__dict__[key] = new


def _calls_by_tensor(tree: Any, inputs: Inputs) -> list[tuple[str, ...]]:
    from torch import nn

    names = {module: name for name, module in tree.named_modules()}
    by_tensor: dict[tuple[int, int, str], list[str]] = {}
    kept: list[Any] = []  # an address must not be used twice

    def before(module: Any, args: Any, kwargs: Any) -> None:
        if type(module) is not nn.Linear or len(args) + len(kwargs) != 1:
            return
        x = args[0] if args else next(iter(kwargs.values()))
        kept.append(x)
        key = (id(x), x._version, names[module].rpartition(".")[0])
        by_tensor.setdefault(key, []).append(names[module])

    run_once(tree, inputs, before=before)
    return [tuple(group) for group in by_tensor.values() if len(group) > 1]


def _obstacle(layers: list[Any], shared: frozenset[int]) -> str:
    """Why these layers cannot be one, or nothing."""
    import torch

    parameters = [item for layer in layers for item in (layer.weight, layer.bias) if item is not None]
    if any(type(item) is not torch.nn.Parameter for item in parameters):
        return "a weight is sharded, quantised or computed from others"
    if len(set(map(id, parameters))) != len(parameters):
        return "two of the layers share a weight"
    if len({(item.dtype, item.device) for item in parameters}) > 1:
        return "the weights differ in dtype or device"
    if not all(is_plain(layer) for layer in layers):
        return "a layer has hooks or a forward of its own"
    groups = [[layer.weight for layer in layers], [layer.bias for layer in layers if layer.bias is not None]]
    for group in groups:
        if group and joint_view(group) is None and not all(owns_its_storage(item, shared) for item in group):
            return "a weight shares its storage with another tensor"
    return ""
