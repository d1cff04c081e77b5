"""Repeated blocks compiled once: nearly the speed of a whole compile for a fraction of its time.

Blocks are found by structure: children of one list with the same class and the same shapes of parameters. The rest of
the model (embedding, head) runs as it is. The compiled tree is a new one; parameters are shared.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, compile_arguments, kept_compile, why_not_compiled

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

FEWEST = 3
SHARE = 0.3
"""Blocks must hold this share of the parameters: compiling a small part only adds calls."""


def repeated_blocks(model: nn.Module) -> list[str]:
    """Paths of the blocks that repeat, outermost only; empty where too few do."""
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
            if len(paths) >= FEWEST and any(True for _ in model.get_submodule(paths[0]).children()):
                groups[key] += paths
                inside = (*inside, *(f"{one}." for one in paths))
    total = sum(item.numel() for item in model.parameters()) or 1
    found = [path for paths in groups.values() for path in paths]
    held = sum(item.numel() for path in found for item in model.get_submodule(path).parameters())
    return found if held >= SHARE * total else []


def _find(model: nn.Module, inputs: Inputs) -> str:
    why_not_compiled(model)
    found = repeated_blocks(model)
    if not found:
        raise NotApplicable("no blocks that repeat and hold most of the parameters")
    kinds = sorted({type(model.get_submodule(path)).__name__ for path in found})
    return f"{len(found)} blocks ({', '.join(kinds)}) compiled once each kind"


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    options = kept_compile(kept)
    if options is not None:
        raise NotApplicable(
            "the whole model is compiled, which measured faster than eager; blocks are for what cannot be"
        )
    return ({},)


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    tree: Callable[..., Any] = with_compiled_blocks(function, options)
    return tree


def with_compiled_blocks(model: Any, options: Options) -> nn.Module:
    """A new tree with its repeated blocks compiled; the given one is as it was."""
    paths = repeated_blocks(model)
    if not paths:
        raise NotApplicable("no blocks that repeat and hold most of the parameters")
    arguments = compile_arguments(options)
    return replaced_modules(model, {path: lambda block: block.compile(**arguments) for path in paths})


def replaced_modules(model: nn.Module, changes: dict[str, Callable[[nn.Module], object]]) -> nn.Module:
    """A new tree in which the modules at these paths are twins of the given ones, each changed by its function.

    Modules on the way to them are twins, too; everything else, and every parameter and buffer, is shared."""
    twins: dict[str, nn.Module] = {}

    def twin_at(path: str) -> nn.Module:
        if path not in twins:
            twins[path] = _shallow(model.get_submodule(path))
            if path:
                above, _, name = path.rpartition(".")
                twin_at(above)._modules[name] = twins[path]
        return twins[path]

    for path, change in changes.items():
        change(twin_at(path))
    return twin_at("")


def _shallow(module: nn.Module) -> nn.Module:
    """A module object of its own over the same parameters, buffers and children."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    from kernel_pytorch.perf.ladder.rungs.compile import predict_compile

    return predict_compile(profile, inputs)


REGIONAL = WrapRung("regional_compile", 2, "repeated blocks compiled once", SLOT, _find, _wrap, _predict, _choices)

RUNGS = (REGIONAL,)
