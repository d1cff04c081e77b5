"""Repeated blocks compiled once: nearly the speed of a whole compile for a fraction of its time.

Blocks are found by structure: children of one list with the same class and the same shapes of parameters. The rest of
the model (embedding, head) runs as it is. The compiled tree is a new one; parameters are shared.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.blocks import blocks_of_one_shape
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, compile_arguments, kept_compile, why_not_compiled

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile


def _find(model: nn.Module, inputs: Inputs) -> str:
    why_not_compiled(model)
    found = blocks_of_one_shape(model)
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
    paths = blocks_of_one_shape(model)
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
