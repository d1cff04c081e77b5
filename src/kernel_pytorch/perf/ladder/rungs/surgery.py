"""Level 3: surgery on a new tree of modules over the same parameters. What is there to change is seen in a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.rewrite import NotApplicable, Rewrite
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.rewrites import (
    attention,
    cached_calls,
    causal_mask,
    chunked_loss,
    dtype_copies,
    padding,
    projections,
    repeat_kv,
)
from kernel_pytorch.models.rewrites.in_new_tree import rewritten
from kernel_pytorch.models.tree import shallow_tree
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, Predict, Prediction, unknown_saving

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile


def _by_advice(title: str, what: str) -> Predict:
    """What the profile's advice of that title would save."""

    def predict(profile: Profile, inputs: Inputs) -> Prediction:
        found = [one.saving_ms for one in profile.advice if one.title == title]
        return Prediction(sum(found), f"{sum(found):.3f} ms of {what}" if found else f"the profile shows no {what}")

    return predict


def _projections(name: str, title: str, nothing: str, *, pairs: bool) -> ModelRung:
    """Query, key and value; or gate and up (also key and value of a cross attention): two of the same size."""

    def chosen(model: nn.Module, inputs: Inputs) -> tuple[projections.Group, ...]:
        found = projections.find(model, inputs)
        groups = tuple(one for one in found.groups if (len(one.rows) == 2 and len(set(one.rows)) == 1) is pairs)
        if not groups:
            refusals = "; ".join(f"{where}: {reason}" for where, reason in found.refusals[:3])
            raise NotApplicable(refusals or nothing)
        return groups

    def find(model: nn.Module, inputs: Inputs) -> str:
        counts = Counter(map(str, chosen(model, inputs)))
        return "; ".join(what if count == 1 else f"{count} x {what}" for what, count in counts.items())

    def apply(model: nn.Module, inputs: Inputs, options: Options) -> nn.Module:
        tree = shallow_tree(model)
        projections.join(tree, chosen(model, inputs))
        return tree

    predict = _by_advice("GEMMs that share an input", "matrix products that share an input")
    return ModelRung(name, 3, title, find, apply, predict, usual_share=0.03)


def _forwards(name: str, title: str, nothing: str, *rewrites: Rewrite, predict: Predict = unknown_saving) -> ModelRung:
    """Rewrites of forwards; those before the last prepare for it."""
    return ModelRung(
        name,
        3,
        title,
        find=lambda model, inputs: rewritten(model, inputs, *rewrites, nothing=nothing)[1],
        apply=lambda model, inputs, options: rewritten(model, inputs, *rewrites, nothing=nothing)[0],
        predict=predict,
    )


def _find_padding(model: nn.Module, inputs: Inputs) -> str:
    found = padding.find(model, inputs)
    return f"{found.length - found.longest} of {found.length} columns are padding in every row of the batch"


def _find_loop(model: nn.Module, inputs: Inputs) -> str:
    loop = cached_calls.find(model, inputs)
    return f"{loop.name} is called {len(loop.lengths)} times with one token more: a static cache for {loop.longest}"


RUNGS: tuple[ModelRung, ...] = (
    _projections(
        "qkv_fusion",
        "Query, key and value projections as one product",
        "no linear layers of one module read the same tensor",
        pairs=False,
    ),
    _projections(
        "gate_up_fusion",
        "Gate and up projections as one product",
        "no two linear layers of the same size in one module read the same tensor",
        pairs=True,
    ),
    _forwards(
        "sdpa",
        "Attention written by hand as scaled_dot_product_attention",
        "no attention that is written by hand",
        attention.REWRITE,
        predict=_by_advice("hand-written attention", "attention written by hand"),
    ),
    _forwards(
        "causal_mask",
        "Causal masks as is_causal",
        "no attention gets a causal mask made from constants",
        attention.REWRITE,
        causal_mask.REWRITE,
    ),
    _forwards(
        "repeat_kv",
        "Keys and values not repeated for grouped queries",
        "no attention gets keys and values that are repeated for each group of heads",
        attention.REWRITE,  # attention by hand may pay only together with it
        repeat_kv.REWRITE,
    ),
    _forwards(
        "dtype_copies",
        "Casts that copy without need removed",
        "no casts there and back, twice, or of weights in every call",
        dtype_copies.REWRITE,
        predict=_by_advice("dtype copies", "copies that change the dtype"),
    ),
    _forwards(
        "chunked_loss",
        "Last product and cross entropy in chunks: all scores are never there at once",
        "no cross entropy of the scores that a linear layer gives",
        chunked_loss.REWRITE,
    ),
    ModelRung(
        "skipped_padding",
        3,
        "Columns that are padding in every row left out",
        find=_find_padding,
        apply=lambda model, inputs, options: padding.skip(model, padding.find(model, inputs)),
        usual_share=0.2,
    ),
    ModelRung(
        "static_kv_cache",
        3,
        "Decoding with a static cache of keys and values",
        find=_find_loop,
        apply=lambda model, inputs, options: cached_calls.cache(model, cached_calls.find(model, inputs)),
        usual_share=0.5,
    ),
)
