"""Repeated blocks compiled once: nearly the speed of a whole compile for a fraction of its time.

Blocks are found by structure: children of one list with the same class and the same shapes of parameters. The rest of
the model (embedding, head) runs as it is. The compiled tree is a new one; parameters are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.models.blocks import blocks_of_one_shape
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree
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
    return f"{counted(len(found), 'block')} ({', '.join(kinds)}) compiled once each kind"


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
    tree = shallow_tree(model)
    for path in paths:
        tree.get_submodule(path).compile(**arguments)
    return tree


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    from kernel_pytorch.perf.ladder.rungs.compile import predict_compile

    return predict_compile(profile, inputs)


REGIONAL = WrapRung(
    "regional_compile",
    2,
    "repeated blocks compiled once",
    SLOT,
    _find,
    _wrap,
    _predict,
    _choices,
    usual_share=0.25,
    compiles=0.8,
)

RUNGS = (REGIONAL,)
