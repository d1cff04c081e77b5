"""The blocks of a model, by what they are wanted for.

Sharding gathers layers one at a time, so every listed layer with parameters counts. Checkpointing runs a block again,
so it must be of several of one class and hold more than one operation. Compiling once for all needs blocks that are
alike down to the shapes of their parameters.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

FEWEST_ALIKE = 3
SHARE_ALIKE = 0.3
"""Blocks that are alike must hold this share of the parameters: compiling a small part only adds calls."""


def listed_layers(model: nn.Module) -> list[nn.Module]:
    """Members of ModuleLists that have parameters."""
    import torch

    return [
        layer
        for holder in model.modules()
        if isinstance(holder, torch.nn.ModuleList)
        for layer in holder
        if any(True for _ in layer.parameters())
    ]


def blocks_of_one_class(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """Members of a ModuleList or Sequential of which it has two or more of the same class, with submodules."""
    from torch import nn

    found: list[tuple[str, nn.Module]] = []
    for name, container in model.named_modules():
        if not isinstance(container, (nn.ModuleList, nn.Sequential)):
            continue
        kinds = [type(item) for item in container]
        for key, item in container.named_children():
            is_block = next(item.children(), None) is not None and not isinstance(item, (nn.ModuleList, nn.ModuleDict))
            inside = any(name == outer or name.startswith(f"{outer}.") for outer, _ in found)
            if kinds.count(type(item)) > 1 and is_block and not inside:
                found.append((f"{name}.{key}" if name else key, item))
    return found


def blocks_of_one_shape(model: nn.Module) -> list[str]:
    """Paths of the blocks that are alike in class and shapes, outermost only; empty where too few are."""
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    inside: tuple[str, ...] = ()
    for path, module in model.named_modules():
        if path.startswith(inside) or f"{path}." in inside:
            continue
        alike: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for name, child in module.named_children():
            shapes = tuple((key, tuple(item.shape)) for key, item in child.named_parameters())
            if shapes:
                alike[(type(child), shapes)].append(f"{path}.{name}" if path else name)
        for key, paths in alike.items():  # a lone Linear is no block worth a compile of its own
            if len(paths) >= FEWEST_ALIKE and any(True for _ in model.get_submodule(paths[0]).children()):
                groups[key] += paths
                inside = (*inside, *(f"{one}." for one in paths))
    total = sum(item.numel() for item in model.parameters()) or 1
    found = [path for paths in groups.values() for path in paths]
    held = sum(item.numel() for path in found for item in model.get_submodule(path).parameters())
    return found if held >= SHARE_ALIKE * total else []
