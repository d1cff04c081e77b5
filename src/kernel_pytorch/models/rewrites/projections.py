"""Linear layers that read the same tensor (query, key and value; gate and up), as one matrix product.

Which layers do is seen in a run of the example; without one, in the graphs of the forwards. What is put in their place
looks at each call whether they still do (`joint_linear`), so that a call of another kind computes the same, too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.check.random_inputs import random_inputs
from kernel_pytorch.models.example_run import run_once
from kernel_pytorch.models.fx.calls import known_calls
from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.rewrite import Applied, Change, Job, NotApplicable, Part, Rewrite
from kernel_pytorch.models.fx.trace import shared_storages, trace
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.rewrites.joined_weights import joint_view, owns_its_storage
from kernel_pytorch.models.tree import shallow_tree

if TYPE_CHECKING:
    from torch import Tensor, nn

NOTHING = "no two linear layers of one module read the same tensor"


@dataclass(frozen=True)
class Group:
    """Layers of one module, in the order they are called."""

    names: tuple[str, ...]
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"{len(self.rows)} products into one ({' + '.join(map(str, self.rows))} rows)"


@dataclass(frozen=True)
class Projections:
    """What can be joined, and what looked like it and cannot."""

    groups: tuple[Group, ...]
    refusals: tuple[tuple[str, str], ...]


def find(model: nn.Module, inputs: Inputs) -> Projections:
    """Groups of nn.Linear that one module calls with the same tensor, in a run of the example."""
    return _joinable(model, _seen_in_a_run(shallow_tree(model), inputs))


def find_in_code(model: nn.Module) -> Projections:
    """Groups of nn.Linear that one forward calls with the same value, by its graph."""
    return _joinable(model, _seen_in_graphs(model))


def join(model: nn.Module, groups: Sequence[Group], *, prove: bool = False) -> list[Change]:
    """Let each group compute together, in place. With `prove`, each change brings the part to prove it by."""
    if not groups:
        raise NotApplicable(NOTHING)
    return [_joined(model, group, prove) for group in groups]


def _joined(model: nn.Module, group: Group, prove: bool) -> Change:
    from kernel_pytorch.models.rewrites.joint_linear import Siblings, let_join, switch_to, take_apart

    layers: list[Any] = [model.get_submodule(name) for name in group.names]
    # Copies: joining moves the weights themselves.
    before = Siblings(copy.deepcopy(layers)) if prove else None
    let_join(layers)
    part = Part(before, Siblings(layers), random_inputs(layers[0])) if before is not None else None
    return Change(
        ", ".join(group.names),
        str(group),
        undo=lambda: take_apart(layers),
        switch=lambda on: switch_to(layers, on),
        part=part,
    )


def _joinable(model: nn.Module, calls: Iterable[tuple[str, ...]]) -> Projections:
    shared = shared_storages(model)
    groups, refusals = [], []
    taken: set[str] = set()
    for names in dict.fromkeys(calls):
        layers: list[Any] = [model.get_submodule(name) for name in names]
        reason = _obstacle(layers, shared)
        if any(name in taken for name in names) or len(set(names)) != len(names):
            reason = "a layer is called in different ways"
        taken.update(names)
        if reason:
            refusals.append((", ".join(names), reason))
        else:
            groups.append(Group(names, tuple(layer.out_features for layer in layers)))
    return Projections(tuple(groups), tuple(refusals))


def _seen_in_a_run(tree: nn.Module, inputs: Inputs) -> list[tuple[str, ...]]:
    from torch import nn

    names = {module: name for name, module in tree.named_modules()}
    by_tensor: dict[tuple[int, int, str], list[str]] = {}
    kept: list[Tensor] = []  # an address must not be used twice

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if type(module) is not nn.Linear or len(args) + len(kwargs) != 1:
            return
        x = args[0] if args else next(iter(kwargs.values()))
        kept.append(x)
        key = (id(x), 0 if x.is_inference() else x._version, names[module].rpartition(".")[0])
        by_tensor.setdefault(key, []).append(names[module])

    run_once(tree, inputs, before=before)
    return [tuple(group) for group in by_tensor.values() if len(group) > 1]


def _seen_in_graphs(model: nn.Module) -> list[tuple[str, ...]]:
    from torch import nn

    names = {module: name for name, module in reversed(list(model.named_modules(remove_duplicate=False)))}
    found = []
    for module, key in known_calls(model).kinds:
        by_node: dict[Any, list[str]] = {}
        for node in trace(module, key).graph.nodes:
            if node.op == "call_module" and len(node.args) == 1 and not node.kwargs:
                layer = module.get_submodule(node.target)
                if type(layer) is nn.Linear:
                    by_node.setdefault(node.args[0], []).append(names[layer])
        found += [tuple(group) for group in by_node.values() if len(group) > 1]
    return found


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


def _apply(model: nn.Module, job: Job) -> Applied:
    found = find_in_code(model) if job.inputs is None else find(model, job.inputs)
    changes = join(model, found.groups, prove=job.inputs is None) if found.groups or not found.refusals else []
    return Applied(changes, refusals=list(found.refusals))


REWRITE = Rewrite(
    name="projection fusion",
    level="balanced",
    effect="one larger matrix product in place of several",
    apply=_apply,
    is_fusion=True,
    is_local=True,
)
